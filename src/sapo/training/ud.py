"""Annotate text as a treebank is: sentences, tokens, words, UPOS, XPOS and FEATS, lemmas and trees; keep it as a file.

Each step uses what the steps before it found:

    text -> tokens -> sentences -> words -> UPOS -> XPOS and FEATS -> lemma
                                                                   -> tree
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from sapo.corpus.treebank import (
    NONE,
    UDDocument,
    UDSentence,
    UDToken,
    UDWord,
    plain_sentence,
    raw_text,
    read_treebank,
)
from sapo.errors import DataError, ModelError, SapoError
from sapo.evaluate.conll18 import F1, score
from sapo.tagger.arrayfile import load_arrays, save_arrays
from sapo.tagger.edits import EditItem, EditModel
from sapo.tagger.file import model_bytes, model_from_bytes
from sapo.tagger.sentences import SentenceFinder
from sapo.tagger.tagger import Tagger
from sapo.tagger.text import check_text
from sapo.text.multiword import MultiwordRules
from sapo.text.splitter import Splitter
from sapo.text.tokens import Rules
from sapo.training.parser import Parser, Tree, TreeSentence
from sapo.training.plan import KnowledgeOptions

FORMAT = 2
KIND = "ud"
WHAT = "a UD pipeline of sapo ud train"
TAGGERS = ("sentences", "upos", "morphology")  # names of the parts of a file
BATCH = 500  # sentences that go through the steps together


@dataclass(frozen=True, slots=True)
class PipelineSteps:
    """The models of a pipeline, one for each step."""

    text: Rules
    sentences: Tagger  # of tokens, says where sentences begin
    multiword: MultiwordRules
    upos: Tagger  # of words
    morphology: Tagger  # of words with UPOS; its labels are XPOS and FEATS with a blank between them
    lemmas: EditModel  # of words with UPOS, FEATS and XPOS
    parser: Parser


def split_label(label: str) -> tuple[str, str]:
    """Return XPOS and FEATS of a label of the second tagger.

    >>> split_label("NN Number=Sing")
    ('NN', 'Number=Sing')
    """
    xpos, _, feats = label.rpartition(" ")
    return xpos or NONE, feats


class UD:
    """A pipeline for Universal Dependencies that was trained on a treebank."""

    def __init__(self, steps: PipelineSteps) -> None:
        self.steps = steps
        self._finder = SentenceFinder(Splitter(steps.text), steps.sentences)

    @classmethod
    def train(
        cls,
        treebank: str | Path | Iterable[UDSentence],
        *,
        dev: str | Path | Iterable[UDSentence] | None = None,
        seed: int = 0,
        epochs: int | None = None,
        progress: Callable[[str], None] | None = None,
        **knowledge: Unpack[KnowledgeOptions],
    ) -> "UD":
        """Train on a CoNLL-U file, or on sentences of `read_treebank`.

        With `dev`, the parser keeps the epoch that is best on it. `epochs` limits those of every step. `progress` gets
        lines to show. UPOS, XPOS and FEATS are learned with `clusters`, `unlabeled`, `names` and `vectors`, as in
        `sapo.train`, and trees with the first clusters. Raises SapoError if the treebank has mistakes.
        """
        from sapo.training.ud_steps import train_steps  # to annotate needs none of it

        judged = None if dev is None else _read(dev)
        return cls(train_steps(_read(treebank), judged, seed, epochs, progress, knowledge))

    def __call__(self, text: str) -> UDDocument:
        """Return the sentences of a text, with everything that the pipeline knows."""
        return UDDocument(self.annotate(self.cut(check_text(text))))

    def cut(self, text: str) -> Iterator[UDSentence]:
        """Yield the sentences of a text with tokens and words, and nothing else."""
        for offsets in self._finder.sentences(text):
            tokens: list[UDToken] = []
            words: list[UDWord] = []
            following = [start for start, _ in offsets[1:]]
            for (start, end), after in itertools.zip_longest(offsets, following):
                form = text[start:end]
                parts = self.steps.multiword.split(form)
                glued = end == after if after is not None else end < len(text) and not text[end].isspace()
                tokens.append(UDToken(form, len(words), len(words) + len(parts), start, end, not glued))
                words += map(UDWord, parts)
            yield UDSentence(tuple(tokens), tuple(words))

    def tag_words(self, sentences: Iterable[Sequence[str]]) -> UDDocument:
        """Annotate sentences that are lists of words."""
        return UDDocument(self.annotate(map(plain_sentence, sentences)))

    def annotate(self, sentences: Iterable[UDSentence]) -> Iterator[UDSentence]:
        """Yield sentences with the tags, lemmas and trees of the pipeline; their tokens and words stay."""
        waiting = iter(sentences)
        while batch := list(itertools.islice(waiting, BATCH)):
            yield from self._annotate(batch)

    def _annotate(self, batch: Sequence[UDSentence]) -> Iterator[UDSentence]:
        words = [[word.form for word in sentence.words] for sentence in batch]
        upos, xpos, feats = tag_words(self.steps.upos, self.steps.morphology, words)
        lemmas = iter(
            self.steps.lemmas.predict_many(
                EditItem(*item)
                for columns in zip(words, upos, xpos, feats, strict=True)
                for item in lemma_inputs(*columns)
            )
        )
        tagged = tree_sentences(words, upos, xpos, feats)
        for sentence, one, tree in zip(batch, tagged, self.steps.parser.parse_many(tagged), strict=True):
            columns = zip(one.upos, one.xpos, one.feats, tree.heads, tree.relations, strict=True)
            made = [
                UDWord(word.form, next(lemmas), *values, word.misc)
                for word, values in zip(sentence.words, columns, strict=True)
            ]
            yield replace(sentence, words=tuple(made))

    def evaluate(self, treebank: str | Path | Iterable[UDSentence]) -> dict[str, dict[str, F1]]:
        """Return the scores on a gold treebank from "raw text", and from "gold words", by the names of metrics."""
        gold = _read(treebank)
        return {
            "raw text": score(gold, self(raw_text(gold))),
            "gold words": score(gold, list(self.annotate(gold))),
        }

    def save(self, path: str | Path) -> None:
        """Save the pipeline as one file, which `UD.load` reads."""
        steps = self.steps
        parts = {"parser": steps.parser.to_arrays(), "lemmas": steps.lemmas.to_arrays()}
        arrays: dict[str, np.ndarray] = {
            name: np.frombuffer(model_bytes(tagger.model), np.uint8)
            for name, tagger in zip(TAGGERS, (steps.sentences, steps.upos, steps.morphology), strict=True)
        }
        for name, (own, _) in parts.items():
            arrays.update({f"{name}.{key}": array for key, array in own.items()})
        header: dict[str, Any] = {
            "kind": KIND,
            "format": FORMAT,
            "text": steps.text.as_json(),
            "multiword": steps.multiword.as_json(),
            **{name: meta for name, (_, meta) in parts.items()},
        }
        save_arrays(path, header, arrays)

    @classmethod
    def load(cls, path: str | Path) -> "UD":
        """Load a file of `save`. Raise SapoError if it is missing or damaged."""
        return cls.of_parts(path, *load_arrays(path, WHAT))

    @classmethod
    def of_parts(cls, path: str | Path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> "UD":
        """Return the pipeline of the header and the arrays of a file. The path begins messages."""
        if header.get("kind") != KIND:
            raise ModelError(f"{path}: not {WHAT}, but another model of sapo; use sapo tag for a tagger")
        if header.get("format") != FORMAT:
            raise ModelError(f"{path}: has another format than {FORMAT}, which this sapo reads; train the model again")
        try:
            own = {
                name: {key.removeprefix(f"{name}."): one for key, one in arrays.items() if key.startswith(f"{name}.")}
                for name in ("parser", "lemmas")
            }
            sentences, upos, morphology = (
                Tagger(model_from_bytes(arrays[name].tobytes(), name=f"{path} ({name})")) for name in TAGGERS
            )
            if len(upos.columns) != 1 or len(morphology.columns) != 2:
                raise ValueError("columns of the taggers")
            return cls(
                PipelineSteps(
                    Rules.from_json(header["text"]),
                    sentences,
                    MultiwordRules.from_json(header["multiword"]),
                    upos,
                    morphology,
                    EditModel.from_arrays(own["lemmas"], header["lemmas"]),
                    Parser.from_arrays(own["parser"], header["parser"]),
                )
            )
        except SapoError as error:
            raise error if str(path) in str(error) else ModelError(f"{path}: {error}") from None
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
            raise ModelError(f"{path}: not {WHAT}: its parts do not fit together ({error})") from None


def tag_words(
    upos: Tagger, morphology: Tagger, words: Sequence[Sequence[str]]
) -> tuple[list[list[str]], list[list[str]], list[list[str]]]:
    """Return UPOS, XPOS and FEATS of the words of sentences."""
    coarse = upos.tag_many(words)
    fine = morphology.tag_many([list(zip(*pair, strict=True)) for pair in zip(words, coarse, strict=True)])
    parts = [[split_label(label) for label in labels] for labels in fine]
    return coarse, [[xpos for xpos, _ in pairs] for pairs in parts], [[feats for _, feats in pairs] for pairs in parts]


def tree_sentences(
    words: Sequence[Sequence[str]],
    upos: Sequence[Sequence[str]],
    xpos: Sequence[Sequence[str]],
    feats: Sequence[Sequence[str]],
    trees: Sequence[Tree] | None = None,
) -> list[TreeSentence]:
    """Return sentences for the parser, with trees if they are to be learned."""
    columns = zip(words, upos, xpos, feats, trees or itertools.repeat(None), strict=trees is not None)
    return [TreeSentence(tuple(w), tuple(u), tuple(x), tuple(f), tree) for w, u, x, f, tree in columns]


def lemma_inputs(
    words: Sequence[str], upos: Sequence[str], xpos: Sequence[str], feats: Sequence[str]
) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Yield the string and the context that a lemma is made of, for each word."""
    for word, coarse, fine, features in zip(words, upos, xpos, feats, strict=True):
        yield word, (coarse, features, fine)


def _read(treebank: str | Path | Iterable[UDSentence]) -> list[UDSentence]:
    sentences = list(read_treebank(treebank) if isinstance(treebank, str | Path) else treebank)
    if not sentences:
        name = treebank if isinstance(treebank, str | Path) else "the treebank"
        raise DataError(f"{name}: no sentences; give a file of CoNLL-U")
    return sentences
