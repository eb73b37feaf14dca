"""`Summary`: how large a file is, how its labels are balanced, and how long its sentences are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean, median
from typing import Any

from sapo.check.sheet import Sheet
from sapo.check.spelling import case_groups, misfits, typing_errors
from sapo.tags import recognise_scheme

BINS = (1, 5, 10, 15, 20, 30, 40, 60, 80, 100, 200, 500)  # sentences of at least this many tokens


@dataclass(frozen=True, slots=True)
class Summary:
    """What a file holds, without its words."""

    name: str
    format: str
    sentences: int
    tokens: int
    columns: tuple[str, ...]
    scheme: str | None  # of the tags, if they all follow it
    labels: Mapping[str, int]  # with their counts, the most frequent first
    similar: Sequence[tuple[str, str]]  # pairs of labels that may be the same one
    lengths: Sequence[tuple[int, int]]  # the least length of a bin, and how many sentences are in it
    shortest: int
    longest: int
    mean: float
    median: float

    def as_dict(self) -> dict[str, Any]:
        """Return the summary for programs."""
        return {
            "file": self.name,
            "format": self.format,
            "sentences": self.sentences,
            "tokens": self.tokens,
            "columns": list(self.columns),
            "scheme": self.scheme,
            "labels": dict(self.labels),
            "similar_labels": [list(pair) for pair in self.similar],
            "length": {
                "shortest": self.shortest,
                "median": self.median,
                "mean": round(self.mean, 2),
                "longest": self.longest,
            },
        }


def summarise(sheet: Sheet) -> Summary:
    """Return the summary of a sheet."""
    lengths, counts = sheet.lengths or [0], dict(sheet.counts.most_common())
    tags = (sheet.labels[begin:end] for begin, end in sheet.bounds()) if sheet.labels and not sheet.marks else ()
    similar = chain(
        ((label, meant) for label, meant in misfits(counts).items() if meant),
        ((label, group[0]) for group in case_groups(counts) for label in group[1:]),
        typing_errors(counts),
    )
    return Summary(
        sheet.name,
        sheet.format,
        sheet.sentences,
        sheet.tokens,
        tuple(sheet.columns),
        recognise_scheme(tags),
        counts,
        tuple(dict.fromkeys(similar)),
        tuple((least, count) for least, count in _binned(sheet.lengths)),
        min(lengths),
        max(lengths),
        fmean(lengths),
        median(lengths),
    )


def _binned(lengths: Sequence[int]) -> list[tuple[int, int]]:
    edges = [*BINS, None]
    return [
        (least, sum(least <= length and (end is None or length < end) for length in lengths))
        for least, end in zip(BINS, edges[1:], strict=True)
    ]
