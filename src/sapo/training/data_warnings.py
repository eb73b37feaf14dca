"""Warn about training data that looks wrong, in one line each."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sapo.check import ERROR, Finding, examine
from sapo.check.quick import quick_findings
from sapo.errors import DataWarning, SapoError
from sapo.training.data import TrainingData
from sapo.training.plan import Plan

SHOWN = 3  # findings
NAMED = 5  # labels, in a warning about many


def _warn(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=6)  # the caller of `sapo.train`


def warn_of(plan: Plan, data: TrainingData, *, strict: bool = False, warn: Callable[[str], None] = _warn) -> None:
    """Call `warn` with what is gravely wrong with the data; if `strict`, look closer, and raise SapoError instead."""
    reading: dict[str, Any] = {**plan.reading, "missing": plan.labels.missing}
    if strict and (found := _errors(plan, reading)):
        others = f" ({len(found) - 1} more: sapo check {plan.data})" if len(found) > 1 else ""
        raise SapoError(f"{found[0].place}: {found[0].message}{others}")
    dev_offsets = data.dev.corpus.offsets if data.dev else None
    path = plan.data if data.shards is None else None  # where it is in shards, it is too large to be read for this
    found = quick_findings(
        data.label_counts, data.corpus.offsets, path, dev=plan.dev, dev_offsets=dev_offsets, **reading
    )
    if strict and found:  # from a pipe
        raise SapoError(f"{found[0].place}: {found[0].message}")
    for finding in found[:SHOWN]:
        warn(f"{finding.place}: {finding.message}")
    if len(found) > SHOWN:
        name = plan.data if isinstance(plan.data, str | Path) else "FILE"
        warn(f"{len(found) - SHOWN} more like these; see sapo check {name}")
    if data.unseen:
        warn(f"{_unseen_labels(data.unseen)} in the training data")


def _errors(plan: Plan, reading: dict[str, Any]) -> list[Finding]:
    """Return the errors of all checks; none for a pipe, which was read already."""
    files = [str(path) for path in (plan.data, plan.dev) if path is not None and Path(str(path)).is_file()]
    if str(plan.data) not in files:
        return []
    return [finding for finding in examine(files, **reading).findings if finding.severity == ERROR]


def _unseen_labels(names: list[str]) -> str:
    """Return the beginning of the warning about labels of the dev data; it names the first few.

    >>> _unseen_labels(["A", "B"])
    "the labels 'A', 'B' of the dev data never occur"
    >>> _unseen_labels([str(number) for number in range(100)])
    "100 labels of the dev data ('0', '1', '2', '3', '4', ...) never occur"
    """
    if len(names) == 1:
        return f"the label '{names[0]}' of the dev data never occurs"
    listed = ", ".join(f"'{name}'" for name in names[:NAMED])
    if len(names) > NAMED:
        return f"{len(names):,} labels of the dev data ({listed}, ...) never occur"
    return f"the labels {listed} of the dev data never occur"
