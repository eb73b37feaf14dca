"""Train from scratch now and then or after an undo, and fit the temperature, between answers.

The new model learns what was accepted while it was trained, and then takes the place of the old one. Nobody waits for
it: training runs in a process of its own, everything else in a thread.
"""

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sapo.apps.teach.pupil import SMALL, Accepted, Pupil, fit, load_pupil
from sapo.apps.teach.retraining import Pair, Process
from sapo.apps.teach.state import LABEL, UNDO, Event, State
from sapo.apps.teach.store import Snapshot, save_snapshot

FEW = 4  # sentences that a new model may learn at once while people wait


@dataclass(frozen=True, slots=True)
class Habits:
    """When to train from scratch: after the first sentences, and when their number has grown by a share."""

    first: int = 20
    growth: float = 0.25
    least: int = 10


class Lesson(Accepted, Protocol):
    """All accepted sentences, and what changed."""

    @property
    def state(self) -> State:
        """What people have done."""

    def changes(self, events: Iterable[Event]) -> list[Pair]:
        """Return what there is to learn from events."""


class Background:
    """Trains beside the answers. `start` and `finish` are called from the thread that answers."""

    def __init__(self, path: Path, base: bytes | None = None, habits: Habits | None = None) -> None:
        self.problem: str | None = None
        self._path, self._base, self._habits = path, base, habits or Habits()
        self._process = Process()
        self._threads = ThreadPoolExecutor(1, "sapo-background")
        self._next: Future[Pupil | None] | None = None
        self._fit: Future[float | None] | None = None
        self._trained = 0  # the last event that training from scratch has seen, or that was there at the start
        self._ended = False

    @property
    def training(self) -> bool:
        """Whether a new model is on its way."""
        return self._next is not None

    def settled(self, lesson: Lesson) -> bool:
        """Return whether the model in use has forgotten what was taken back, and no better one is on its way."""
        return self._next is None and not self._to_forget(lesson)

    def begin(self, seq: int) -> None:
        """Count from this event on."""
        self._trained = seq

    def start(self, pupil: Pupil, lesson: Lesson) -> None:
        """Start what is due."""
        if self._fit is None and (tests := pupil.tests.taken()):
            self._fit = self._threads.submit(fit, tests)
        if self._next is None and self._due(lesson):
            seq = self._trained = lesson.state.seq
            pairs, kind = lesson.pairs(), pupil.kind
            self._next = self._threads.submit(lambda: self._train(kind, pairs, seq))

    def finish(self, pupil: Pupil, lesson: Lesson) -> bool:
        """Take what is ready; return whether the model changed."""
        changed = False
        if self._fit is not None and self._fit.done():
            ready, self._fit = self._fit, None
            if (temperature := ready.result()) is not None:
                pupil.set_temperature(temperature)
                changed = True
        if self._next is not None and self._next.done():
            changed |= self._take(self._next, pupil, lesson)
            self.start(pupil, lesson)  # again, if somebody took something back meanwhile
        return changed

    def end(self) -> None:
        """Stop everything."""
        self._ended = True
        self._process.end()
        self._threads.shutdown(cancel_futures=True)

    def _due(self, lesson: Lesson) -> bool:
        habits, accepted = self._habits, len(lesson)
        if self._to_forget(lesson):
            return True
        kinds = Counter(event.kind for event in lesson.state.since(self._trained))
        new = kinds.total() - kinds[LABEL]
        return accepted >= habits.first and new >= max(habits.least, habits.growth * (accepted - new))

    def _to_forget(self, lesson: Lesson) -> bool:
        """Return whether something was taken back: a model cannot unlearn it, so the next one must not see it."""
        taken_back = any(event.kind == UNDO for event in lesson.state.since(self._trained))
        return taken_back and (self._base is not None or len(lesson) > SMALL)

    def _take(self, ready: "Future[Pupil | None]", pupil: Pupil, lesson: Lesson) -> bool:
        self._next = None
        try:
            other = ready.result()
        except Exception as error:  # the old model goes on
            self.problem = str(error)
            return False
        if other is None:
            return False
        missed = lesson.changes(lesson.state.since(other.seq))
        seq = lesson.state.seq
        if len(missed) > FEW:  # it learns the most part beside the answers, and comes again
            self._next = self._threads.submit(lambda: _catch_up(other, missed, seq, lesson))
            return False
        _catch_up(other, missed, seq, lesson)
        pupil.replace_by(other)
        self.problem = None
        return True

    def _train(self, kind: str, pairs: list[Pair], seq: int) -> Pupil | None:
        model = self._process.train(kind, pairs, self._base)
        if model is None:
            return None
        save_snapshot(self._path, Snapshot(seq, model))
        pupil = Pupil(kind, based=self._base is not None)
        pupil.take(load_pupil(model, "new model"), seq)
        return pupil


def _catch_up(pupil: Pupil, pairs: list[Pair], seq: int, lesson: Lesson) -> Pupil:
    pupil.learn(pairs, seq, lesson)
    return pupil
