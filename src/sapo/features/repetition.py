"""Say what the same word was tagged in sentences nearby: two columns for the second pass of a model.

A name is often explained once in a text, and then repeated where nothing around it tells what it is. So a model with
repetition tags a text twice. The data flows like this:

    blocks ──▶ first pass ──▶ tags ──▶ repeated_tags ──▶ columns made for each block ──▶ second pass ──▶ tags

In tagging, tagger/decoding.py runs the first pass (`Model.first`) and adds the columns to the blocks (`Block.made`)
before they are encoded. In training, training/repetition.py makes the columns of the training sentences from held-out
tags: each part of the data is tagged by a model that has not learned it, since a model that has learned a sentence
tags it better than it will tag new text. Gold tags never enter the columns.

One column is about the same word, the other about words with a capital that begin alike, since names have endings in
many languages. They never look at their own sentence, at more than `WINDOW` sentences before and after it, or at other
documents. A sentence without neighbors has empty columns, so that single sentences can be tagged as well.
"""

import itertools
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sapo.features.strings import fields
from sapo.jit.arrays import Bytes, Ints, Longs

WINDOW = 20  # sentences before and after
OUTSIDE = "O"
BEGINNING = 4  # letters; 5 gain less on the dev file of turku-ner
ALSO = "~"  # after a tag: the word had others, too
LINES = ("COLUMN[-1]", "COLUMN[0]", "COLUMN[1]")


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """The words of a sentence, the tags of the first pass, and whether a document begins with it."""

    words: Sequence[str]
    tags: Sequence[str]
    starts_document: bool = False


class Repetition:
    """A column of a model with a second pass. It is made for each block; without it, no word is repeated."""

    kind = "repetition"
    of_words = False

    def __len__(self) -> int:
        return WINDOW

    def fields(self, data: Bytes, starts: Ints, ends: Ints, offsets: Longs) -> tuple[Bytes, Ints, Ints]:
        """Return an empty field for each word."""
        return column_fields([""] * len(starts))

    def lines(self, column: str) -> list[str]:
        """Return the templates that use the column."""
        return [line.replace("COLUMN", column) for line in LINES]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of a model file: none."""
        return {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], name: str) -> "Repetition":
        """Return the column of a model file."""
        return cls()


def column_names(name: str) -> tuple[str, str]:
    """Return the names of both columns; that of the first is given."""
    return name, f"{name}_beginning"


def column_fields(values: Sequence[str]) -> tuple[Bytes, Ints, Ints]:
    """Return values as a column: bytes with the start and end of each field."""
    data, starts, ends = fields(list(values))
    return data, starts, ends


def repeated_columns(sentences: Iterable[TaggedSentence]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield for each sentence its values of both columns: of the same words, and of those that begin alike."""
    whole, others = itertools.tee(sentences)
    beginnings = (replace(one, words=[_beginning(word) for word in one.words]) for one in others)
    return zip(repeated_tags(whole), repeated_tags(beginnings), strict=True)


def _beginning(word: str) -> str:
    return word[:BEGINNING].lower() if word[:1].isupper() else ""


def repeated_tags(sentences: Iterable[TaggedSentence]) -> Iterator[list[str]]:
    """Yield for each sentence what its words were tagged in other sentences nearby: a value for each word.

    This is the most frequent tag besides O, or O; ~ follows if there were other tags as well. It is empty if the word
    does not occur nearby, or is an empty string.

    >>> given = [TaggedSentence(["Oulu", "won"], ["B-ORG", "O"]), TaggedSentence(["Oulu"], ["O"])]
    >>> list(repeated_tags(given))
    [['O', ''], ['B-ORG']]
    """
    past: deque[TaggedSentence] = deque()
    waiting: deque[TaggedSentence] = deque()  # the next sentence, and those after it
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)  # of all these sentences

    def answer() -> list[str]:
        sentence = waiting.popleft()
        own: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            if word:
                own[word][tag] += 1
        values = {word: _value(counts[word] - tags) for word, tags in own.items()}
        past.append(sentence)
        if len(past) > WINDOW:
            left = past.popleft()
            for word, tag in zip(left.words, left.tags, strict=True):
                if word:
                    counts[word][tag] -= 1
                    if counts[word].total() == 0:
                        del counts[word]
        return [values.get(word, "") for word in sentence.words]

    for sentence in sentences:
        if sentence.starts_document:
            while waiting:
                yield answer()
            past.clear()
            counts.clear()
        waiting.append(sentence)
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            if word:
                counts[word][tag] += 1
        if len(waiting) > WINDOW:
            yield answer()
    while waiting:
        yield answer()


def _value(tags: Counter[str]) -> str:
    if not tags:
        return ""
    best = max(tags, key=lambda tag: (tag != OUTSIDE, tags[tag], tag))
    return best + ALSO if len(tags) > 1 else best
