"""Find where sentences begin in text, with a tagger of tokens.

The rules of text/splitter.py look at the end of a sentence and at the class of the next token, so they miss sentences
without an end mark, such as titles and mails. A chain sees the words on both sides, and what the rules say.
"""

import itertools
from collections.abc import Iterator, Sequence

from sapo.tagger.tagger import Tagger
from sapo.text.splitter import LONGEST_SENTENCE, Offsets, Splitter

BEGIN, INSIDE = "begin", "inside"  # the labels
BATCH = 20_000  # tokens that are tagged together
WINDOW, CONTEXT = 500, 50  # tokens of a window, and how many more it shows on both sides
Columns = tuple[str, str, str]


def boundary_columns(text: str, sentences: Sequence[Offsets]) -> list[Columns]:
    """Return the tokens that presets/sentences.txt expects, for a paragraph that rules have cut.

    >>> boundary_columns("Go. Stop", [[(0, 2), (2, 3)], [(4, 8)]])
    [('Go', 'blank', 'begin'), ('.', 'glued', 'inside'), ('Stop', 'blank', 'begin')]
    """
    columns = []
    before = -1
    for sentence in sentences:
        rule = BEGIN
        for start, end in sentence:
            columns.append((text[start:end], "glued" if start == before else "blank", rule))
            rule, before = INSIDE, end
    return columns


class SentenceFinder:
    """Cut text into sentences and tokens: the tokens are those of the rules, the sentences those of a tagger."""

    def __init__(self, splitter: Splitter, tagger: Tagger) -> None:
        if len(tagger.columns) != len(boundary_columns("a", [[(0, 1)]])[0]) or not {*tagger.labels} <= {BEGIN, INSIDE}:
            raise ValueError("columns or labels of the tagger of sentences")
        self.splitter = splitter
        self.tagger = tagger

    def sentences(self, text: str) -> Iterator[Offsets]:
        """Yield the sentences of a text. A paragraph begins a sentence."""
        waiting: list[list[Offsets]] = []
        size = 0
        for paragraph in self.splitter.paragraphs(text):
            waiting.append(paragraph)
            size += sum(map(len, paragraph))
            if size >= BATCH:
                yield from self._sentences(text, waiting)
                waiting, size = [], 0
        yield from self._sentences(text, waiting)

    def _sentences(self, text: str, paragraphs: Sequence[Sequence[Offsets]]) -> Iterator[Offsets]:
        rows = [boundary_columns(text, paragraph) for paragraph in paragraphs]
        windows = [(row, at) for row in rows for at in range(0, len(row), WINDOW)]
        tags = self.tagger.tag_many(row[max(0, at - CONTEXT) : at + WINDOW + CONTEXT] for row, at in windows)
        labels = (
            label
            for (_, at), found in zip(windows, tags, strict=True)
            for label in itertools.islice(found, min(at, CONTEXT), min(at, CONTEXT) + WINDOW)
        )
        for paragraph in paragraphs:
            sentence: Offsets = []
            for token in itertools.chain.from_iterable(paragraph):
                if (next(labels) == BEGIN and sentence) or len(sentence) >= LONGEST_SENTENCE:
                    yield sentence
                    sentence = []
                sentence.append(token)
            if sentence:
                yield sentence
