"""Provide the bundled sample, and write it as the files that the documentation uses."""

import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from sapo.corpus import columns as columns_format
from sapo.corpus import conllu, jsonl
from sapo.corpus.annotations import Placement
from sapo.corpus.blocks import Sentence
from sapo.corpus.formats import read

COLUMNS = ("word", "pos", "chunk", "entity")


def sample_path(part: str) -> Path:
    """The path of `train` or `test`.

    >>> sample_path("train").name
    'train.txt'
    """
    with resources.as_file(resources.files(__package__) / f"{part}.txt") as path:
        return path


UPOS = {  # of Universal Dependencies, for tags of the Penn Treebank; verbs and punctuation: see _upos
    **dict.fromkeys(("NN", "NNS"), "NOUN"),
    **dict.fromkeys(("NNP", "NNPS"), "PROPN"),
    **dict.fromkeys(("JJ", "JJR", "JJS"), "ADJ"),
    **dict.fromkeys(("RB", "RBR", "WRB"), "ADV"),
    **dict.fromkeys(("DT", "PDT", "WDT"), "DET"),
    **dict.fromkeys(("PRP", "PRP$", "WP", "WP$", "EX"), "PRON"),
    **dict.fromkeys(("IN", "RP"), "ADP"),
    **dict.fromkeys(("TO", "POS"), "PART"),
    "CC": "CCONJ",
    "CD": "NUM",
    "MD": "AUX",
    "UH": "INTJ",
    "$": "SYM",
}
FEATS = {
    **dict.fromkeys(("NN", "NNP"), "Number=Sing"),
    **dict.fromkeys(("NNS", "NNPS"), "Number=Plur"),
    **dict.fromkeys(("JJR", "RBR"), "Degree=Cmp"),
    "JJS": "Degree=Sup",
    "VBD": "Tense=Past|VerbForm=Fin",
    "VBZ": "Tense=Pres|VerbForm=Fin",
    "VB": "VerbForm=Inf",
}
PRINTED = {"``": '"', "''": '"', "-LRB-": "(", "-RRB-": ")"}
HELD_OUT = 52  # sentences of the test part that are dev; the others are test


def sample_files() -> dict[str, str]:
    """Return the names and texts of the files.

    >>> sample_files()["train.txt"].splitlines()[0].split()
    ['The', 'DT', 'B-NP']
    """
    chunks, entities, tags = (_parts(label) for label in ("chunk", "entity", "pos"))
    files = {}
    for part in ("train", "dev", "test"):
        files[f"{part}.txt"] = "".join(map(columns_format.write_sentence, _with(chunks[part], "word", "pos")))
        files[f"{part}.conllu"] = "".join(conllu.write_sentence(_universal(one)) for one in tags[part])
        words = _with(entities[part], "word")
        files[f"ner-{part}.txt"] = "".join(map(columns_format.write_sentence, words))
        files[f"ner-{part}.jsonl"] = "".join(jsonl.write_sentence(_running(one), Placement(text=True)) for one in words)
    files["new.txt"] = files["dev.txt"]  # sentences to learn from later
    files["text.txt"] = "".join(running_text(one.words) + "\n" for one in chunks["test"])
    files["tickets.csv"] = (resources.files(__package__) / "tickets.csv").read_text("utf-8")
    files["treebank.conllu"] = (resources.files(__package__) / "treebank.conllu").read_text("utf-8")
    return files


def _parts(label: str) -> dict[str, list[Sentence]]:
    train, held_out = (list(read(sample_path(part), columns=COLUMNS, label=label)) for part in ("train", "test"))
    return {"train": train, "dev": held_out[:HELD_OUT], "test": held_out[HELD_OUT:]}


def _with(sentences: Sequence[Sentence], *columns: str) -> list[Sentence]:
    return [Sentence({name: one.columns[name] for name in columns}, one.tags) for one in sentences]


def _universal(sentence: Sentence) -> Sentence:
    """Return a sentence with tags of the Penn Treebank as XPOS, and with UPOS and FEATS."""
    tags = sentence.tags or ()
    feats = tuple(FEATS.get(tag, "_") for tag in tags)
    columns = {"word": sentence.words, "xpos": tags, "feats": feats}
    return Sentence(columns, tuple(map(_upos, tags)), text=running_text(sentence.words))


def _running(sentence: Sentence) -> Sentence:
    """Return a sentence with its text as it would be printed: a model learns from it how text is split."""
    text = running_text(sentence.words)
    offsets = []
    at = 0
    for word in sentence.words:
        word = PRINTED.get(word, word)
        start = text.index(word, at)
        at = start + len(word)
        offsets.append((start, at))
    return Sentence(sentence.columns, sentence.tags, text=text, offsets=tuple(offsets))


def _upos(tag: str) -> str:
    return UPOS.get(tag) or ("VERB" if tag.startswith("VB") else "PUNCT")


def running_text(words: Sequence[str]) -> str:
    r"""Return words as they would be printed.

    >>> running_text(["``", "It", "'s", "-LRB-", "nearly", "-RRB-", "$", "5", ",", "''", "she", "said", "."])
    '"It\'s (nearly) $5," she said.'
    """
    text = " ".join(words).replace("-LRB-", "(").replace("-RRB-", ")")
    text = re.sub(r"`` ?", '"', text)
    text = re.sub(r" ?''", '"', text)
    text = re.sub(r" (?=[.,;:?!%)]|'\w)", "", text)
    return re.sub(r"(?<=[($]) ", "", text)
