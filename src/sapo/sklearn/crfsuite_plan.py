"""The arguments of `sklearn_crfsuite.CRF` in, a plan of training out."""

import math
from typing import Any

import numpy as np

from sapo.errors import SapoError
from sapo.learn import BatchOptions, OnlineOptions, Settings, SgdOptions
from sapo.sklearn.sequences import LabelledSequences
from sapo.training.plan import LabelOptions, Plan

# For each algorithm the learner that stands for it, and how they differ.
LEARNERS = {
    "lbfgs": ("crf-lbfgs", "the same objective and method"),
    "l2sgd": ("crfsuite-l2sgd", "the same objective and method"),
    "ap": ("crfsuite-ap", "the same method"),
    "pa": ("crfsuite-pa", "the same method"),
    "arow": ("crfsuite-arow", "the same method"),
}
UNLIMITED = 10_000  # iterations of L-BFGS; it converges long before
MAX_ITERATIONS = {"lbfgs": UNLIMITED, "l2sgd": 1000, "ap": 100, "pa": 100, "arow": 100}
OF_ALL = {"algorithm", "min_freq", "all_possible_states", "all_possible_transitions", "max_iterations"}
OF_ALL |= {"verbose", "model_filename", "keep_tempfiles"}
CALIBRATION = ("calibration_eta", "calibration_rate", "calibration_samples", "calibration_candidates")
USED = {
    "lbfgs": {"c1", "c2", "num_memories", "epsilon", "period", "delta", "max_linesearch"},
    "l2sgd": {"c2", "period", "delta", *CALIBRATION},
    "ap": {"epsilon"},
    "pa": {"epsilon", "pa_type", "c", "error_sensitive", "averaging"},
    "arow": {"epsilon", "variance", "gamma"},
}


def find_learner(algorithm: str | None) -> tuple[str, str]:
    """Return the name of the algorithm, and what became of it. Raise SapoError if there is no such algorithm."""
    name = algorithm or "lbfgs"
    if name not in LEARNERS:
        raise SapoError(f"algorithm must be one of {', '.join(LEARNERS)}, not {name!r}")
    learner, note = LEARNERS[name]
    return name, f"{name} became {learner}: {note}"


def unused(algorithm: str, arguments: dict[str, Any]) -> list[str]:
    """Return the names of arguments that are given and have no effect."""
    used = OF_ALL | USED[algorithm]
    return [name for name, value in arguments.items() if value is not None and name not in used]


def crfsuite_plan(
    algorithm: str, arguments: dict[str, Any], data: LabelledSequences, dev: LabelledSequences | None
) -> Plan:
    """Return the plan of training with these arguments. Raise SapoError if one of them is wrong."""
    given = {name: value for name, value in arguments.items() if value is not None}
    layout: dict[str, Any] = {
        "all_transitions": bool(given.get("all_possible_transitions")),
        "min_freq": _number(given, "min_freq", 0.0),
    }
    limit = given.get("max_iterations", MAX_ITERATIONS[algorithm])
    stopping = {"epochs": limit, "patience": limit, "all_pairs": bool(given.get("all_possible_states"))}
    batch, sgd, online, ratio = None, None, None, 0.0
    if algorithm == "lbfgs":
        names = {"epsilon": "epsilon", "period": "period", "num_memories": "memories", "max_linesearch": "trials"}
        own = {name: given[key] for key, name in names.items() if key in given}
        batch = BatchOptions(**layout, **own)
        penalty, ratio = _penalty(_number(given, "c1", 0.0), _number(given, "c2", 1.0))
        settings = Settings(tolerance=_number(given, "delta", 1e-5), **penalty, **stopping)
    elif algorithm == "l2sgd":
        sgd = SgdOptions(**layout, **{name: given[name] for name in ("period", *CALIBRATION) if name in given})
        penalty, _ = _penalty(0.0, _number(given, "c2", 1.0))
        settings = Settings(tolerance=_number(given, "delta", 1e-6), **penalty, **stopping)
    else:
        own = {name: given[name] for name in USED[algorithm] if name in given}
        online = OnlineOptions(**layout, **own)
        settings = Settings(regulariser="none", strength=0.0, **stopping)
    return Plan(
        data=data,
        dev=dev,
        labels=LabelOptions(constraints=False),  # CRFsuite forbids nothing
        learner=LEARNERS[algorithm][0],
        settings=settings,
        batch=batch,
        sgd=sgd,
        online=online,
        l1_ratio=ratio,
    )


def _penalty(c1: float, c2: float) -> tuple[dict[str, Any], float]:
    """Return the regulariser as `Settings` has it, and the strength of L1 as a fraction of the strength of L2."""
    if c2 == 0:
        return {"regulariser": "l1" if c1 else "none", "strength": c1}, 0.0
    return {"strength": 2 * c2}, c1 / (2 * c2)  # CRFsuite's c2 |w|^2 is strength / 2 |w|^2 here


def _number(given: dict[str, Any], name: str, default: float) -> float:
    value = given.get(name, default)
    if not (isinstance(value, int | float | np.number) and 0 <= value < math.inf):
        raise SapoError(f"{name} must be a finite number, 0 or more, not {value!r}")
    return float(value)
