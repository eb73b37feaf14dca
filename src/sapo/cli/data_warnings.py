"""What `sapo train` says about data that looks wrong."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapo.cli.options import tell
from sapo.errors import SapoError

if TYPE_CHECKING:
    from sapo.check import Finding
    from sapo.training.data import TrainingData
    from sapo.training.plan import Plan

SHOWN = 3  # findings


def warn_of(plan: "Plan", data: "TrainingData", strict: bool) -> None:
    """Print what is gravely wrong with the data of a run; if `strict`, look closer, and raise SapoError instead."""
    from sapo.check.quick import quick_findings

    reading: dict[str, Any] = {**plan.reading, "missing": plan.labels.missing}
    if strict and (found := _errors(plan, reading)):
        others = f" ({len(found) - 1} more: sapo check {plan.data})" if len(found) > 1 else ""
        raise SapoError(f"{found[0].place}: {found[0].message}{others}")
    dev_offsets = data.dev.corpus.offsets if data.dev else None
    found = quick_findings(
        data.label_counts, data.corpus.offsets, plan.data, dev=plan.dev, dev_offsets=dev_offsets, **reading
    )
    if strict and found:  # from a pipe
        raise SapoError(f"{found[0].place}: {found[0].message}")
    for finding in found[:SHOWN]:
        tell(f"sapo: warning: {finding.place}: {finding.message}")
    if len(found) > SHOWN:
        tell(f"sapo: warning: {len(found) - SHOWN} more like these; see sapo check {plan.data}")


def _errors(plan: "Plan", reading: dict[str, Any]) -> "list[Finding]":
    """Return the errors of all checks; none for a pipe, which was read already."""
    from sapo.check import ERROR, examine

    files = [str(path) for path in (plan.data, plan.dev) if path is not None and Path(str(path)).is_file()]
    if str(plan.data) not in files:
        return []
    return [finding for finding in examine(files, **reading).findings if finding.severity == ERROR]
