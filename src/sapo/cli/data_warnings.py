"""What `sapo train` says about data that looks wrong."""

from typing import TYPE_CHECKING

from sapo.cli.options import tell
from sapo.errors import SapoError

if TYPE_CHECKING:
    from sapo.training.data import TrainingData
    from sapo.training.plan import Plan

SHOWN = 3  # findings


def warn_of(plan: "Plan", data: "TrainingData", strict: bool) -> None:
    """Print what is gravely wrong with the data of a run; raise SapoError instead if `strict`."""
    from sapo.check.quick import quick_findings

    found = quick_findings(
        data.label_counts,
        data.corpus.offsets,
        plan.data,
        dev=plan.dev,
        dev_offsets=data.dev.corpus.offsets if data.dev else None,
        missing=plan.labels.missing,
        **plan.reading,
    )
    if not found:
        return
    if strict:
        others = f" ({len(found) - 1} more: sapo check {plan.data})" if len(found) > 1 else ""
        raise SapoError(f"{found[0].place}: {found[0].message}{others}")
    for finding in found[:SHOWN]:
        tell(f"sapo: warning: {finding.place}: {finding.message}")
    if len(found) > SHOWN:
        tell(f"sapo: warning: {len(found) - SHOWN} more like these; see sapo check {plan.data}")
