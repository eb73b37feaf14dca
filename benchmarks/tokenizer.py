"""Cut raw text into tokens and sentences, with sapo and with the libraries that are installed, and compare with UD.

    pip install spacy syntok nltk pysbd blingfire segtok sacremoses pyicu
    SAPO_DATA=DIRECTORY python benchmarks/tokenizer.py [TREEBANK ...] [--part dev]

The raw text of a document (the part of `sent_id` before the last mark) is its `# text` lines joined by blanks. A gold
token is a word of the treebank where the words of a multiword token put together are its text (do|n't), and else the
multiword token (German zum). A token or sentence counts as found if both its offsets are right. sapo learns the rules
from the treebank's train file, Punkt its abbreviations from the text of that file. Prints a Markdown table: F1 of
tokens and of sentences, and the speed on the train text of the first treebank.
"""

import argparse
import contextlib
import gzip
import importlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Spans = list[tuple[int, int]]
Cutter = Callable[[str], tuple[Spans, Spans]]  # a text in, tokens and sentences out; either may be empty
TREEBANKS = {
    "ud-ewt": "en",
    "zoo/ud-german-lit": "de",
    "zoo/ud-german-gsd-small": "de",
    "zoo/ud-greek-gdt": "el",
    "zoo/ud-estonian-ewt": "et",
    "zoo/ud-finnish-tdt-small": "fi",
}


@dataclass(frozen=True, slots=True)
class Document:
    """A text, and where its gold tokens and sentences are."""

    text: str
    tokens: Spans
    sentences: Spans


def read_documents(path: Path) -> list[Document]:
    """Return the documents of a CoNLL-U file."""
    by_name: dict[str, list[tuple[str, list[str]]]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for entry in stream.read().strip().split("\n\n"):
            text, name, words = sentence_of(entry)
            by_name.setdefault(name, []).append((text, words))
    return [document(sentences) for sentences in by_name.values()]


def sentence_of(entry: str) -> tuple[str, str, list[str]]:
    """Return the text, the name of the document and the gold tokens of a sentence of CoNLL-U."""
    text = re.search(r"^# text = (.*)$", entry, re.MULTILINE)
    name = re.search(r"^# sent_id = (.*?)(?:[-_.][^\W_]+)?$", entry, re.MULTILINE)
    assert text
    assert name
    rows = [line.split("\t")[:2] for line in entry.split("\n") if line[:1].isdigit()]
    words: list[str] = []
    inside: list[str] = []
    last = 0
    for number, form in rows:
        if "-" in number:
            first, last = map(int, number.split("-"))
            inside = [word for other, word in rows if other.isdecimal() and first <= int(other) <= last]
            words.extend(inside if "".join(inside) == form else [form])
        elif number.isdecimal() and int(number) > last:
            words.append(form)
    return text[1], name[1], words


def document(sentences: Iterable[tuple[str, list[str]]]) -> Document:
    """Join sentences by blanks."""
    texts, tokens, spans = [], Spans(), Spans()
    at = 0
    for text, words in sentences:
        found = places(text, words)
        tokens.extend((at + start, at + end) for start, end in found)
        spans.append((at + found[0][0], at + found[-1][1]))
        texts.append(text)
        at += len(text) + 1
    return Document(" ".join(texts), tokens, spans)


def places(text: str, pieces: Iterable[str]) -> Spans:
    """Find pieces of a text one after another; a piece that the library has changed is left out."""
    found = Spans()
    at = 0
    for piece in pieces:
        start = text.find(piece, at, at + len(piece) + 20)  # near: what is lost must not take the rest with it
        if start >= 0:
            at = start + len(piece)
            found.append((start, at))
    return found


def trimmed(text: str, spans: Iterable[tuple[int, int]]) -> Spans:
    """Leave out blanks at both ends of spans, and spans of blanks."""
    found = Spans()
    for start, end in spans:
        piece = text[start:end]
        if stripped := piece.strip():
            begin = start + piece.index(stripped[0])
            found.append((begin, begin + len(stripped)))
    return found


def with_sapo(language: str, train: Path) -> Cutter:
    from sapo.corpus.formats import read_blocks
    from sapo.text.learning import learn_rules
    from sapo.text.splitter import Splitter

    sentences = (pair for block in read_blocks(train) for pair in block.running_texts())
    splitter = Splitter(learn_rules(sentences))  # as training does

    def cut(text: str) -> tuple[Spans, Spans]:
        sentences = splitter(text)
        return [token for sentence in sentences for token in sentence], [(one[0][0], one[-1][1]) for one in sentences]

    return cut


def with_spacy(language: str, train: Path) -> Cutter:
    import spacy

    pipe = spacy.blank(language)
    pipe.add_pipe("sentencizer")

    def cut(text: str) -> tuple[Spans, Spans]:
        found = pipe(text)
        tokens = [(token.idx, token.idx + len(token)) for token in found if not token.is_space]
        return tokens, trimmed(text, [(one.start_char, one.end_char) for one in found.sents])

    return cut


def with_syntok(language: str, train: Path) -> Cutter:
    from syntok import segmenter
    from syntok.tokenizer import Tokenizer

    tokenizer = Tokenizer()

    def cut(text: str) -> tuple[Spans, Spans]:
        tokens, sentences = Spans(), Spans()
        for sentence in segmenter.split(iter(tokenizer.tokenize(text))):
            found = [(token.offset, token.offset + len(token.value)) for token in sentence]
            tokens.extend(found)
            if found:
                sentences.append((found[0][0], found[-1][1]))
        return tokens, sentences

    return cut


def with_nltk(language: str, train: Path) -> Cutter:
    from nltk.tokenize.destructive import NLTKWordTokenizer
    from nltk.tokenize.punkt import PunktSentenceTokenizer, PunktTrainer

    trainer = PunktTrainer()
    trainer.INCLUDE_ALL_COLLOCS = True
    trainer.train("\n".join(document.text for document in read_documents(train)))
    punkt, words = PunktSentenceTokenizer(trainer.get_params()), NLTKWordTokenizer()

    def cut(text: str) -> tuple[Spans, Spans]:
        tokens, sentences = Spans(), list(punkt.span_tokenize(text))
        for start, end in sentences:
            with contextlib.suppress(ValueError):  # it cannot find quotes that it has changed
                tokens.extend((start + a, start + b) for a, b in words.span_tokenize(text[start:end]))
        return tokens, sentences

    return cut


def with_pysbd(language: str, train: Path) -> Cutter:
    import pysbd

    segmenter = pysbd.Segmenter(language=language if language in ("en", "de", "el") else "en", clean=False)

    def cut(text: str) -> tuple[Spans, Spans]:
        return [], trimmed(text, places(text, (one.strip() for one in segmenter.segment(text))))

    return cut


def with_blingfire(language: str, train: Path) -> Cutter:
    import blingfire

    def cut(text: str) -> tuple[Spans, Spans]:
        _, tokens = blingfire.text_to_words_with_offsets(text)
        _, sentences = blingfire.text_to_sentences_and_offsets(text)
        return list(tokens), trimmed(text, sentences)

    return cut


def with_segtok(language: str, train: Path) -> Cutter:
    from segtok import segmenter, tokenizer

    def cut(text: str) -> tuple[Spans, Spans]:
        sentences = [one for one in segmenter.split_single(text) if one.strip()]
        split = tokenizer.split_contractions if language == "en" else list
        words = (word for one in sentences for word in split(tokenizer.word_tokenizer(one)))
        return places(text, words), trimmed(text, places(text, (one.strip() for one in sentences)))

    return cut


def with_sacremoses(language: str, train: Path) -> Cutter:
    from sacremoses import MosesTokenizer

    tokenizer = MosesTokenizer(lang=language)

    def cut(text: str) -> tuple[Spans, Spans]:
        return places(text, tokenizer.tokenize(text, escape=False)), []

    return cut


def with_icu(language: str, train: Path) -> Cutter:
    import icu

    words = icu.BreakIterator.createWordInstance(icu.Locale(language))
    sentences = icu.BreakIterator.createSentenceInstance(icu.Locale(language))

    def cut(text: str) -> tuple[Spans, Spans]:
        plain = re.sub("[^\0-\uffff]", "\ufffd", text)  # it counts in units of UTF-16
        return [trimmed(text, list(borders(each, plain))) for each in (words, sentences)]  # type: ignore[return-value]

    def borders(breaks: Any, text: str) -> Iterator[tuple[int, int]]:
        breaks.setText(text)
        start = 0
        for end in breaks:
            yield start, end
            start = end

    return cut


CUTTERS: dict[str, tuple[str, Callable[[str, Path], Cutter]]] = {
    "sapo": ("sapo.text", with_sapo),
    "spaCy `blank` + sentencizer": ("spacy", with_spacy),
    "syntok": ("syntok", with_syntok),
    "NLTK Treebank words + Punkt": ("nltk", with_nltk),
    "pySBD": ("pysbd", with_pysbd),
    "BlingFire": ("blingfire", with_blingfire),
    "segtok": ("segtok", with_segtok),
    "sacremoses": ("sacremoses", with_sacremoses),
    "ICU": ("icu", with_icu),
}


def f1(gold: list[Spans], found: list[Spans]) -> float | None:
    correct = sum(len(set(a) & set(b)) for a, b in zip(gold, found, strict=True))
    all_found = sum(map(len, found))
    return 200 * correct / (sum(map(len, gold)) + all_found) if all_found else None


def measure(cut: Cutter, documents: list[Document], long: list[Document]) -> tuple[float | None, float | None, float]:
    """Return the F1 of tokens and sentences, and gold tokens per second of processor time, on other, longer text.

    Some libraries, and sapo, remember words; so the text for the speed is met for the first time.
    """
    found = [cut(document.text) for document in documents]
    start = time.process_time()
    for document in long:
        cut(document.text)
    seconds = time.process_time() - start
    tokens = f1([document.tokens for document in documents], [tokens for tokens, _ in found])
    sentences = f1([document.sentences for document in documents], [sentences for _, sentences in found])
    return tokens, sentences, sum(len(document.tokens) for document in long) / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebanks", nargs="*", default=list(TREEBANKS))
    parser.add_argument("--part", default="test")
    parser.add_argument("--only", help="the name of one library")
    given = parser.parse_args()
    corpora = Path(os.environ["SAPO_DATA"])
    data = {
        name: [read_documents(corpora / name / f"{part}.conllu.gz") for part in (given.part, "train")]
        for name in given.treebanks
    }
    print(f"| cut by | {' | '.join(Path(name).name for name in data)} | tokens/s, {given.treebanks[0]} |")
    print(f"|---|{'--:|' * (len(data) + 1)}")
    for library, (module, make) in CUTTERS.items():
        if given.only not in (None, library) or not installed(module):
            continue
        cells, speeds = [], []
        for name, (documents, long) in data.items():
            cut = make(TREEBANKS[name], corpora / name / "train.conllu.gz")
            tokens, sentences, speed = measure(cut, documents, long)
            cells.append(" / ".join("-" if value is None else f"{value:.2f}" for value in (tokens, sentences)))
            speeds.append(speed)
        print(f"| {library} | {' | '.join(cells)} | {speeds[0]:,.0f} |", flush=True)


def installed(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    main()
