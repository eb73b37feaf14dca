"""Which options of `sapo train` the chosen learner does not use."""

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sapo.training.plan import Plan

RATE = ("rate", "schedule", "decay")
PENALTY = ("strength", "regulariser")
SEARCH = ("search", "width", "stop_ratio")


def unused_options(plan: "Plan", given: Collection[str]) -> list[str]:
    """Return a message for each of the given settings that changes nothing in this run."""
    names = _of_no_use(plan.learner)
    told = [f"--{_dashed(name)} is not used by {plan.learner}" for name in given if name in names]
    settings = plan.settings
    for name, unused, reason in (
        ("width", settings.search != "beam", "is not used: it is the width of --search beam"),
        ("decay", settings.schedule == "fixed", "is not used: --schedule fixed keeps the rate"),
        ("strength", settings.regulariser == "none", "is not used: --regulariser none has no strength"),
        ("patience", plan.dev is None, "is not used: it counts dev scores; give --dev FILE"),
    ):
        if name in given and name not in names and unused:
            told.append(f"--{_dashed(name)} {reason}")
    return told


def _of_no_use(name: str) -> set[str]:
    """Return the settings that a learner does not use."""
    from sapo.learn import FLAT_LEARNERS, LEARNERS
    from sapo.neural.options import LAYERS

    if name in LAYERS:
        nbest = () if LAYERS[name] == "sapo" else ("n", "stop_ratio")
        return {*PENALTY, "search", "width", "piece", "average", "hide", "exact", "all_pairs", *nbest}
    if name in FLAT_LEARNERS:
        of_lbfgs = ("order", "seed") if name == "crf-lbfgs" else ("threads",)
        penalty = () if FLAT_LEARNERS[name] == "crf" else PENALTY
        return {"n", *RATE, *SEARCH, "piece", "average", "hide", *of_lbfgs, *penalty}
    learner, unused = LEARNERS[name], set[str]()
    if not learner.n_best:
        unused |= {"n", "stop_ratio"}
    if not learner.regularised:
        unused |= {*RATE, *PENALTY, "stop_ratio"}
    if not name.startswith(("sapo", "mira")):  # these sum over all taggings, or take the best one
        unused |= {*SEARCH}
    if not learner.all_labels:
        unused |= {"all_pairs"}
    return unused


def _dashed(name: str) -> str:
    return name.replace("_", "-")
