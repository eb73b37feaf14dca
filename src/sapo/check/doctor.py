"""Examine files: read each once, run all checks over it, and over pairs of files.

They look at the labels, their counts and the lengths of sentences only, so they take no time. The file is read a second
time, for line numbers, if something was found.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from statistics import fmean, median
from typing import Any, TypeGuard

import numpy as np

from sapo.check.findings import ERROR, NOTE, SEVERITIES, Finding, Sheet
from sapo.check.labels import (
    TITLES,
    case_groups,
    check_labels,
    fits_spans,
    header_line,
    misfit_text,
    misfit_way_out,
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
from sapo.errors import SapoError
from sapo.jit.arrays import Longs
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
    return Summary(
        sheet.name,
        sheet.format,
        sheet.sentences,
        sheet.tokens,
        tuple(sheet.columns),
        recognize_scheme(tags),
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


OF_TRAINING = ("once", "similar-label")  # rare labels of other files are compared with those of training
CHECKS = (check_labels, check_sentences, check_columns, check_tokens)  # each a sheet in, findings out


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
    how: dict[str, Any] = {"format": format, "label": label, "columns": columns, "encoding": encoding}
    sheets = [read_sheet(path, missing=missing, **how) for path in paths]
    findings: list[Finding] = []
    for number, sheet in enumerate(sheets):
        found = examine_sheet(sheet)
        findings += found if number == 0 else [finding for finding in found if finding.kind not in OF_TRAINING]
    for (number, first), (_, second) in combinations(enumerate(sheets), 2):
        findings += (check_between if number == 0 else check_overlap)(first, second)
    return CheckReport(in_order(findings), [summarize(sheet) for sheet in sheets])


def examine_sheet(sheet: Sheet) -> list[Finding]:
    """Return what is strange about one file."""
    findings = list(sheet.faults)
    for check in CHECKS:
        findings += check(sheet)
    return findings


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with the gravest first; otherwise their order stays."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def quick_findings(
    counts: Mapping[str, int],
    offsets: Longs,
    path: object,
    *,
    dev: object = None,
    dev_offsets: Longs | None = None,
    **reading: Any,
) -> list[Finding]:
    """Return the grave findings about training data, which are errors and few.

    `counts` are those of the labels. `offsets` [sentences + 1] are where the sentences begin, and `dev_offsets` those
    of the dev data. `path` and `dev` are the files, or anything else for data that is not a file. `reading` is as for
    `read_sheet`.

    >>> counts = {"O": 900, "B-PER": 50, "I-PER": 49, "0": 1}
    >>> [finding.kind for finding in quick_findings(counts, np.arange(0, 1001, 10), None)]
    ['near-scheme']
    """
    name = str(path) if isinstance(path, str | Path) else "training data"
    found = list(_findings(counts, int(offsets[-1]), len(offsets) - 1, name))
    same_size = dev_offsets is not None and np.array_equal(offsets, dev_offsets)
    if not _is_file(path) or not (found or same_size):
        return [finding for _, finding in found if finding.kind != "header"]
    try:
        sheet = read_sheet(path, **reading)
        same = list(check_overlap(sheet, read_sheet(dev, **reading))) if same_size and _is_file(dev) else []
    except SapoError:  # it was read already: it is a pipe, or has changed
        return [finding for _, finding in found if finding.kind != "header"]
    return [*_with_lines(found, sheet), *(finding for finding in same if finding.severity == ERROR)]


def _is_file(path: object) -> TypeGuard[str | Path]:
    return isinstance(path, str | Path) and Path(path).is_file()


def _findings(
    counts: Mapping[str, int], tokens: int, sentences: int, name: str
) -> Iterator[tuple[str | None, Finding]]:
    """Yield each finding with the label that it is about."""
    if text := no_ends(tokens, sentences):
        yield None, Finding("no-empty-lines", ERROR, name, text, NO_ENDS_WAY_OUT)
    strange = misfits(counts)
    fitting = sum(count for label, count in counts.items() if fits_spans(label))
    for label, meant in strange.items():
        yield label, Finding("near-scheme", ERROR, name, misfit_text(label, fitting), misfit_way_out(meant))
    for group in case_groups(label for label in counts if label not in strange):
        usual = max(group, key=lambda label: counts[label])
        for label in group:
            if label != usual:
                text = f"label {label!r} differs from {usual!r} ({counts[usual]:,} tokens) only by case"
                yield label, Finding("case", ERROR, name, text, "use one spelling")
    for label, count in counts.items():
        if count == 1 and label not in strange and label.lower().replace("_", "-") in TITLES:
            yield (
                label,
                Finding("header", ERROR, name, f"label {label!r} occurs once", "is it a header? Then remove it"),
            )


def _with_lines(found: list[tuple[str | None, Finding]], sheet: Sheet) -> list[Finding]:
    header = header_line(sheet)
    result = []
    for label, finding in found:
        lines = sheet.label_lines(label) if label is not None else []
        if header is not None and lines == [header]:
            text = "a header, which is learned as a token"
            result.append(Finding("header", ERROR, sheet.name, text, "remove it", (header,)))
        elif finding.kind != "header":  # the label of possessive endings is called POS, too
            result.append(
                Finding(finding.kind, ERROR, sheet.name, finding.text, finding.way_out, tuple(lines[:3]), len(lines))
            )
    return result
