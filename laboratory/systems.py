"""The systems that are compared, by the paper's names, each with its learner and settings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sapo.errors import SapoError, did_you_mean
from sapo.neural.options import BATCH, RATE


@dataclass(frozen=True, slots=True)
class System:
    name: str
    learner: str
    settings: Mapping[str, Any] = field(default_factory=dict)  # that differ from those of all
    best_template: bool = False  # use the best template of the task, not the paper's
    options: Mapping[str, Any] = field(default_factory=dict)  # of a network


PAPER = tuple(
    System(name, learner)
    for name, learner in (
        ("SAPO", "sapo"),
        ("SAPO-Avg", "sapo-avg"),
        ("CRF", "crf"),
        ("Perc-Naive", "perceptron"),
        ("Perc-Avg", "perceptron-avg"),
        ("MIRA-Naive", "mira"),
        ("MIRA-Avg", "mira-avg"),
        ("MIRA-Nbest-Naive", "mira-nbest"),
        ("MIRA-Nbest-Avg", "mira-nbest-avg"),
    )
)
VARIANTS = (
    *(System(f"SAPO-n{n}", "sapo", {"n": n}) for n in (1, 2, 10, 20)),
    System("SAPO-astar", "sapo", {"search": "astar"}),
    System("SAPO-beam", "sapo", {"search": "beam"}),
    System("SAPO-best", "sapo", {"strength": 1.0}, best_template=True),
)
_NETWORKS = (("Bi-LSTM", "bilstm"), ("Bi-LSTM-CRF", "bilstm-crf"), ("Bi-LSTM-SAPO", "bilstm-sapo"))
_OPTIONS = {"batch": BATCH, "margin": 0.0}  # the paper has no margin
NEURAL = tuple(System(name, learner, options=_OPTIONS) for name, learner in _NETWORKS)
# one sentence a step, as in the paper; more steps need a smaller rate
ONE_BY_ONE = tuple(
    System(f"{name}-b1", learner, {"rate": RATE / 2}, options={**_OPTIONS, "batch": 1}) for name, learner in _NETWORKS
)
# what else can be in the inputs and in the loss of a network
NEURAL_VARIANTS = (
    System("Bi-LSTM-Perc", "bilstm-perceptron", options=_OPTIONS),
    System("Bi-LSTM-CRF-tokens", "bilstm-crf", options={**_OPTIONS, "token_loss": 0.1}),
    System("Bi-LSTM-SAPO-margin", "bilstm-sapo", options={**_OPTIONS, "margin": 0.5}),
    System("Bi-LSTM-SAPO-plain", "bilstm-sapo", options={**_OPTIONS, "token_loss": 0.0}),
    *(System(f"{name}-features", learner, options={**_OPTIONS, "features": True}) for name, learner in _NETWORKS),
)
SYSTEMS = {system.name: system for system in (*PAPER, *VARIANTS, *NEURAL, *ONE_BY_ONE, *NEURAL_VARIANTS)}
GROUPS = {
    "paper": tuple(system.name for system in PAPER),
    "variants": tuple(system.name for system in VARIANTS),
    "all": tuple(system.name for system in (*PAPER, *VARIANTS)),  # not the networks, which take a hundred times as long
    "neural": tuple(system.name for system in NEURAL),
    "neural-b1": tuple(system.name for system in ONE_BY_ONE),
    "neural-variants": tuple(system.name for system in NEURAL_VARIANTS),
}


def find_systems(names: Iterable[str]) -> list[System]:
    """Return the systems of these names and groups (see GROUPS), each once; capital letters do not matter.

    >>> [system.name for system in find_systems(["crf", "SAPO"])]
    ['SAPO', 'CRF']
    >>> find_systems(["Perc"])
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: unknown system 'Perc'; did you mean 'Perc-Avg'?
    """
    by_lower = {name.lower(): name for name in SYSTEMS}
    wanted: set[str] = set()
    for name in names:
        lower = name.lower()
        if lower not in by_lower and lower not in GROUPS:
            raise SapoError(f"unknown system '{name}'{did_you_mean(name, [*SYSTEMS, *GROUPS])}")
        wanted.update(GROUPS.get(lower) or (by_lower[lower],))
    return [system for name, system in SYSTEMS.items() if name in wanted]
