"""Turn the arguments of `sklearn_crfsuite.CRF` into a training plan.

`lbfgs` is CRFsuite's own objective and method. The other algorithms are replaced by the nearest learner of sapo; of
their arguments, those that have a meaning there are kept, and the rest are in `unused`.
"""

import math
from typing import Any

import numpy as np

from sapo.errors import SapoError
from sapo.learn import CRF_LBFGS, BatchOptions, Settings
from sapo.sklearn.sequences import LabelledSequences
from sapo.training.plan import LabelOptions, Options, Plan, make_plan

LBFGS = "lbfgs"
# For each algorithm the learner that replaces it, and how they differ.
LEARNERS = {
    LBFGS: (CRF_LBFGS, "the same objective and method"),
    "l2sgd": ("crf", "the same objective, with weights for all pairs of a feature and a label"),
    "ap": ("perceptron-avg", "the same update, with another order of the sentences"),
    "pa": ("mira-avg", "a similar update, without a limit on the step"),
    "arow": ("mira-avg", "another update, because sapo has no AROW"),
}
UNLIMITED = 10_000  # iterations of L-BFGS; it converges long before
OF_ALL = {"algorithm", "min_freq", "all_possible_states", "all_possible_transitions", "max_iterations"}
OF_ALL |= {"verbose", "model_filename", "keep_tempfiles"}
USED = {
    LBFGS: {"c1", "c2", "num_memories", "epsilon", "period", "delta", "max_linesearch"},
    "l2sgd": {"c2", "delta"},
    "ap": set[str](),
    "pa": {"averaging"},
    "arow": set[str](),
}


def find_algorithm(name: str | None) -> str:
    """Return the name of the algorithm. Raise SapoError if there is none of this name."""
    found = name or LBFGS
    if found not in LEARNERS:
        raise SapoError(f"algorithm must be one of {', '.join(LEARNERS)}, not {found!r}")
    return found


def replacement_note(algorithm: str, arguments: dict[str, Any]) -> str:
    """Return which learner replaces the algorithm, and how they differ."""
    return f"{algorithm} became {_learner(algorithm, arguments)}: {LEARNERS[algorithm][1]}"


def unused(algorithm: str, arguments: dict[str, Any]) -> list[str]:
    """Return the names of arguments that are given and have no effect."""
    used = OF_ALL | USED[algorithm]
    return [name for name, value in arguments.items() if value is not None and name not in used]


def crfsuite_plan(
    algorithm: str, arguments: dict[str, Any], data: LabelledSequences, dev: LabelledSequences | None
) -> Plan:
    """Return the plan of training with these arguments. Raise SapoError if one of them is wrong."""
    given = {name: value for name, value in arguments.items() if value is not None}
    min_freq, all_pairs = _number(given, "min_freq", 0.0), bool(given.get("all_possible_states"))
    if algorithm == LBFGS:
        return _lbfgs_plan(given, min_freq, all_pairs, data, dev)
    options = Options(
        constraints=False,  # CRFsuite forbids nothing
        all_pairs=all_pairs,
        min_count=max(1, math.ceil(min_freq)),
        epochs=given.get("max_iterations"),
    )
    if algorithm == "l2sgd":
        options["strength"] = 2 * _number(given, "c2", 1.0)  # CRFsuite's c2 |w|^2 is strength / 2 |w|^2 here
        options["schedule"] = "inverse"  # as CRFsuite's rate falls
        if "delta" in given:
            options["tolerance"] = _number(given, "delta", 0.0)
    return make_plan(data, dev=dev, learner=_learner(algorithm, given), **options)


def _learner(algorithm: str, arguments: dict[str, Any]) -> str:
    learner, _ = LEARNERS[algorithm]
    if algorithm == "pa" and arguments.get("averaging") not in (None, True):
        return learner.removesuffix("-avg")
    return learner


def _lbfgs_plan(
    given: dict[str, Any], min_freq: float, all_pairs: bool, data: LabelledSequences, dev: LabelledSequences | None
) -> Plan:
    limit = given.get("max_iterations", UNLIMITED)
    names = {"epsilon": "epsilon", "period": "period", "num_memories": "memories", "max_linesearch": "trials"}
    own = {name: given[key] for key, name in names.items() if key in given}
    c1, c2, delta = _number(given, "c1", 0.0), _number(given, "c2", 1.0), _number(given, "delta", 1e-5)
    kind, strength = ("l2", 2 * c2) if c2 else ("l1" if c1 else "none", c1)
    return Plan(
        data=data,
        dev=dev,
        labels=LabelOptions(constraints=False),
        learner=CRF_LBFGS,
        settings=Settings(
            regulariser=kind, strength=strength, tolerance=delta, epochs=limit, patience=limit, all_pairs=all_pairs
        ),
        batch=BatchOptions(
            l1=c1, all_transitions=bool(given.get("all_possible_transitions")), min_freq=min_freq, **own
        ),
    )


def _number(given: dict[str, Any], name: str, default: float) -> float:
    value = given.get(name, default)
    if not (isinstance(value, int | float | np.number) and 0 <= value < math.inf):
        raise SapoError(f"{name} must be a finite number, 0 or more, not {value!r}")
    return float(value)
