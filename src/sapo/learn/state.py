"""The progress of training: what it changes, what it has measured, and who watches."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from numpy.typing import NDArray

from sapo.learn.records import PassRecord
from sapo.search.lattice import Parameters


class Learned(Protocol):
    """What training changes: linear weights (learn/weights.py and others) or a network (neural/training.py)."""

    own_rules: ClassVar[bool]  # whether rate and regulariser of the settings do not hold, but rules of its own

    @property
    def converged(self) -> str:
        """Why more passes would be of no use; empty if they may be."""

    def current(self) -> Parameters:
        """Return the weights for tagging, as they are after the last step."""

    def true_weights(self) -> Parameters:
        """Return the weights for tagging: the current ones, or their average over all steps."""

    def keep(self, now: Parameters) -> Any:
        """Return what `finish` needs to go back to this pass, whose true weights are `now`."""

    def finish(self, best: Any) -> Parameters:
        """Return the weights of the model: those of the pass that was kept, or the last ones if `best` is None."""

    def arrays(self, best: Any) -> dict[str, NDArray[Any]]:
        """Return everything that a checkpoint needs, including the pass that was kept."""

    def load(self, arrays: Mapping[str, NDArray[Any]], passes: int) -> Any:
        """Load the arrays of a checkpoint that was saved after `passes` passes; return the kept pass, or None.

        Raises ValueError if the arrays do not fit.
        """

    def pay_penalties(self) -> None:
        """Bring all weights up to date at the end of a pass."""

    def w_complexity(self) -> float:
        """Return the mean |w| over all weights, as plotted in the paper."""


@dataclass(slots=True)
class State:
    """The progress of training: everything needed to resume from a checkpoint as if nothing had happened."""

    weights: Any  # a `Learned`; each learner knows which kind it changes
    history: list[PassRecord] = field(default_factory=list)
    best: Any = None  # the best pass on the dev set, as returned by `Learned.keep`
    best_epoch: int = 0

    @property
    def epoch(self) -> int:
        """Return the number of epochs done."""
        return len(self.history)


class Observer:
    """Watch training, as a progress display, a log or a checkpoint does. Override the methods you need.

    >>> import sapo
    >>> class Printer(Observer):
    ...     def passed(self, record, state):
    ...         print("pass", record.epoch)
    >>> _ = sapo.train([(["no", "rain"], ["DT", "NN"])], template="pos", epochs=2, observers=[Printer()])
    pass 1
    pass 2
    """

    def samples(self, epoch: int, done: int, of: int) -> None:
        """Called during a pass: `done` of its `of` samples are done."""

    def passed(self, record: PassRecord, state: State) -> None:
        """Called after each pass."""
