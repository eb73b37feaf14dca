"""When training stops, and which pass is kept."""

import itertools
from dataclasses import dataclass

from sapo.learn.dev_set import DevSet
from sapo.learn.settings import Settings
from sapo.learn.state import State


@dataclass(frozen=True, slots=True)
class Stop:
    """Why training stopped, in words, and whether it was interrupted with Ctrl-C."""

    text: str
    interrupted: bool = False

    def __str__(self) -> str:
        return self.text


INTERRUPTED = Stop("interrupted", interrupted=True)


def reason_to_stop(state: State, settings: Settings, dev: DevSet | None) -> str:
    """Return why no further pass should be made; empty if one should."""
    if state.weights.converged:
        return str(state.weights.converged)
    if state.epoch >= settings.epochs:
        return f"all {settings.epochs} epochs done"
    begun = settings.averaged_from if settings.average else 0  # what comes before is no sign of what an average gives
    if dev is not None and state.epoch - max(begun, state.best_epoch) >= settings.patience:
        return f"no better dev score in {settings.patience} epochs"
    # twice in a row, since two passes of a perceptron are often alike by chance
    if settings.tolerance > 0 and state.epoch >= 3:
        objectives = [record.objective for record in state.history[-3:]]
        if all(abs(a - b) <= settings.tolerance * abs(a) for a, b in itertools.pairwise(objectives)):
            return "converged"
    return ""


def prefer_last(state: State, dev: DevSet) -> None:
    """Keep the last pass, unless an earlier one is clearly better on the dev set.

    An average over many passes is better than any pass before it. A small dev set does not show this: its best pass
    is often an early one that was lucky.
    """
    last = state.weights.true_weights()
    scores = dev.evaluate(last)
    best = max(record.dev or 0.0 for record in state.history)
    if state.best_epoch < state.epoch and best <= scores.main[1] + scores.error:
        state.best, state.best_epoch = state.weights.keep(last), state.epoch
