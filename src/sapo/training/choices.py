"""What a user says about learning in, settings out: the learner, the options of its network, a rate for the data."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from sapo.errors import SapoError, did_you_mean
from sapo.learn import LEARNERS, Learner, Settings, calibrate
from sapo.neural.options import LAYERS, RATE, NeuralOptions, is_neural
from sapo.training.data import Prepared


def check_learner(name: str) -> None:
    """Raise where there is no learner of this name, neither a linear nor a neural one."""
    if not is_neural(name):
        find_learner(name)


def find_learner(name: str) -> Learner:
    """A linear learner."""
    if name not in LEARNERS:
        raise SapoError(f"unknown learner '{name}'{did_you_mean(str(name), [*LEARNERS, *LAYERS])}")
    return LEARNERS[name]


def neural_options(learner: str, values: dict[str, Any]) -> NeuralOptions:
    """The options of a network; for another learner there must be none."""
    if values and not is_neural(learner):
        raise SapoError(f"{', '.join(sorted(values))}: only for the neural learners ({', '.join(LAYERS)})")
    return NeuralOptions(**values)


def make_settings(values: dict[str, Any], *, others: Iterable[str] = ()) -> Settings:
    """Settings of these values; `others` are names that somebody may have meant, but that are no settings."""
    known = [field.name for field in dataclasses.fields(Settings)]
    for name in values:
        if name not in known:
            raise SapoError(f"unknown setting '{name}'{did_you_mean(name, [*known, *others])}")
    return Settings(**values)


def with_calibrated_rate(prepared: Prepared, settings: Settings, learner: str) -> Settings:
    """The settings with a start rate that suits the data, for learners that have a rate; that of networks is fixed."""
    if is_neural(learner):
        return dataclasses.replace(settings, rate=RATE)
    if not find_learner(learner).regularised:
        return settings
    return dataclasses.replace(settings, rate=calibrate(prepared.corpus, prepared.zero_weights(), settings.seed))
