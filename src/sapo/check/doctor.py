"""Examine files: read each once, and run all checks over it, and over pairs of files."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from sapo.check.between import check_between, check_overlap
from sapo.check.columns import check_columns
from sapo.check.finding import NOTE, SEVERITIES, Finding
from sapo.check.labels import check_labels
from sapo.check.reading import read_sheet
from sapo.check.sentences import check_sentences
from sapo.check.sheet import Sheet
from sapo.check.summary import Summary, summarise
from sapo.check.tokens import check_tokens

OF_TRAINING = ("once", "similar-label")  # rare labels of other files are compared with those of training
CHECKS = (check_labels, check_sentences, check_columns, check_tokens)  # each a sheet in, findings out


@dataclass(frozen=True, slots=True)
class Report:
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
) -> Report:
    """Examine labelled files: the first is for training, the others are dev and test data.

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
    return Report(in_order(findings), [summarise(sheet) for sheet in sheets])


def examine_sheet(sheet: Sheet) -> list[Finding]:
    """Return what is strange about one file."""
    findings = list(sheet.faults)
    for check in CHECKS:
        findings += check(sheet)
    return findings


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with the gravest first; otherwise their order stays."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
