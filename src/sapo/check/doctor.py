"""Examine files: read each once, run all checks over it, and over pairs of files.

Training has quick checks, which need only what it has read: the counts of the labels and the size of the data.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from sapo.check.findings import ERROR, NOTE, SEVERITIES, Finding, Sheet
from sapo.check.labels import (
    case_findings,
    case_groups,
    check_labels,
    is_header,
    is_title,
    misfit_findings,
    misfits,
    typing_errors,
)
from sapo.check.reading import read_sheet
from sapo.check.sentences import (
    NO_ENDS_WAY_OUT,
    check_between,
    check_columns,
    check_overlap,
    check_sentences,
    check_tokens,
    no_ends,
)
from sapo.corpus.blocks import LABEL, Block
from sapo.errors import SapoError
from sapo.tags.recognition import recognize_scheme

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


def summarize(sheet: Sheet) -> Summary:
    """Return the summary of a sheet."""
    lengths, counts = sheet.lengths or [0], dict(sheet.counts.most_common())
    tags = (sheet.labels[begin:end] for begin, end in sheet.bounds()) if sheet.labels and not sheet.marks else ()
    similar = chain(
        ((label, meant) for label, meant in misfits(counts).items() if meant),
        ((label, group[0]) for group in case_groups(counts) for label in group[1:]),
        typing_errors(counts),
    )
    bins = Counter(bisect_right(BINS, length) for length in sheet.lengths)
    return Summary(
        sheet.name,
        sheet.format,
        sheet.sentences,
        sheet.tokens,
        tuple(sheet.columns),
        recognize_scheme(tags),
        counts,
        tuple(dict.fromkeys(similar)),
        tuple((least, bins[at]) for at, least in enumerate(BINS, 1)),
        min(lengths),
        max(lengths),
        fmean(lengths),
        median(lengths),
    )


OF_TRAINING = ("once", "similar-label")  # rare labels of other files are compared with those of training
CHECKS = (check_labels, check_sentences, check_columns, check_tokens)  # each yields the findings about a sheet


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All findings, the gravest first, and a summary of each file."""

    findings: Sequence[Finding]
    files: Sequence[Summary]

    @property
    def clean(self) -> bool:
        """Whether there are no findings, or only notes."""
        return all(finding.severity == NOTE for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """Return the report for programs."""
        return {
            "clean": self.clean,
            "findings": [finding.as_dict() for finding in self.findings],
            "files": [file.as_dict() for file in self.files],
        }


def examine(
    paths: Sequence[str | Path],
    *,
    format: str | None = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    missing: str | None = None,
    encoding: str | None = None,
) -> CheckReport:
    """Examine labeled files: the first is for training, the others are dev and test data.

    Raises SapoError if a file cannot be read at all, or an option is wrong. The options are those of `read_sheet`.

    >>> from sapo.corpus.sample import sample_path
    >>> report = examine([sample_path("train")])
    >>> report.clean, report.files[0].sentences, report.files[0].scheme
    (True, 416, 'iob2')
    """
    sheets = [
        read_sheet(path, format=format, label=label, columns=columns, missing=missing, encoding=encoding)
        for path in paths
    ]
    findings: list[Finding] = []
    for number, sheet in enumerate(sheets):
        found = chain(sheet.faults, *(check(sheet) for check in CHECKS))
        findings += (finding for finding in found if number == 0 or finding.kind not in OF_TRAINING)
    for (number, first), (_, second) in combinations(enumerate(sheets), 2):
        findings += (check_between if number == 0 else check_overlap)(first, second)
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return CheckReport(findings, [summarize(sheet) for sheet in sheets])


def quick_findings(
    counts: Mapping[str, int],
    tokens: int,
    sentences: int,
    name: str,
    read: Callable[[], Iterator[Block]] | None = None,
) -> list[Finding]:
    """Return the grave findings about training data that was read already: errors, and few.

    They need only the counts of the labels and the size of the data. `read` reads its file once more, for line numbers,
    if something was found; it is None if the data is not a file.

    >>> counts = {"O": 900, "B-PER": 50, "I-PER": 49, "0": 1}
    >>> [finding.kind for finding in quick_findings(counts, 1000, 100, "train.txt")]
    ['near-scheme']
    """
    found = dict(misfit_findings(name, counts))
    others = {label: count for label, count in counts.items() if label not in found}
    found |= {label: replace(finding, severity=ERROR) for label, finding in case_findings(name, others)}
    titles = [label for label, count in others.items() if count == 1 and is_title(label)]
    result = []
    if text := no_ends(tokens, sentences):
        result.append(Finding("no-empty-lines", ERROR, name, text, NO_ENDS_WAY_OUT))
    wanted = {label: min(2, counts[label]) for label in (*found, *titles)}
    lines, header = _first_lines(wanted, read) if wanted and read else ({}, None)
    for label in wanted:
        if header is not None and lines[label] == [header]:
            text = "a header, which is learned as a token"
            result.append(Finding("header", ERROR, name, text, "remove it", (header,)))
        elif label in found:  # possessive endings have the label POS, which is also a title
            result.append(replace(found[label], lines=tuple(lines.get(label, ())), count=counts[label] * bool(lines)))
    return result


def _first_lines(
    wanted: Mapping[str, int], read: Callable[[], Iterator[Block]]
) -> tuple[dict[str, list[int]], int | None]:
    """Return the first lines of each label, as many as wanted, and the line of the header, if there is one."""
    lines: dict[str, list[int]] = {label: [] for label in wanted}
    header = None
    try:
        for number, block in enumerate(read()):
            assert block.origin is not None  # it comes from a file
            if number == 0 and is_header([block.strings(column, 1)[0] for column in block.columns]):
                header = block.origin.line_of(0, 0)
            for token, label in enumerate(block.strings(LABEL)):
                if len(lines.get(label, ())) < wanted.get(label, 0):
                    sentence = int(np.searchsorted(block.offsets, token, side="right")) - 1
                    lines[label].append(block.origin.line_of(token, sentence))
            if all(len(lines[label]) == wanted[label] for label in wanted):
                break
    except SapoError:  # the file has changed since it was read
        return {}, None
    return lines, header
