"""Train from scratch now and then, or after an undo, in a process of its own, so that no request waits for it.

The process reads from its standard input a line of JSON (the kind of the project, and the size of the model to begin
with), then this model, then the sentences and what is known besides them as JSON. It writes the bytes of the new model.
That model learns what was accepted while it was trained, and then replaces the old one. The temperature is fitted in a
thread.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sapo.apps.teach.pupil import NOTHING, SMALL, Known, Lesson, Pair, Pupil, fit, load_pupil, train_on_all
from sapo.apps.teach.state import FROM_SCRATCH, LABEL
from sapo.apps.teach.store import Snapshot, save_snapshot
from sapo.errors import SapoError
from sapo.jit.processes import start_python
from sapo.tagger.file import model_bytes

COMMAND = ("-m", "sapo.apps.teach.retraining")
FEW = 4  # sentences that a new model may learn at once while people wait


@dataclass(frozen=True, slots=True)
class Habits:
    """When to train from scratch: after the first sentences, and when their number has grown by a share."""

    first: int = 20
    growth: float = 0.25
    least: int = 10


class Process:
    """Trains in a process; `end` stops it."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[bytes] | None = None
        self._ended = False

    def train(self, kind: str, pairs: Sequence[Pair], base: bytes | None, known: Known = NOTHING) -> bytes | None:
        """Return the new model, or None if it was stopped. Raise SapoError if it failed."""
        header = json.dumps({"kind": kind, "base": len(base or b"")}).encode()
        message = b"\n".join([header, (base or b"") + json.dumps([pairs, known]).encode()])
        self._running = start_python(*COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if self._running is None:
            raise SapoError("training from scratch failed: Python cannot be started")
        with self._running:
            if self._ended:
                self._running.kill()
            model, said = self._running.communicate(message)
        if self._ended:
            return None
        if self._running.returncode:
            last = (said.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"])[-1]
            raise SapoError(f"training from scratch failed: {last:.200}")
        return model

    def end(self) -> None:
        """Stop what is running, and start nothing more."""
        self._ended = True
        if self._running is not None:
            self._running.kill()


def main() -> None:
    """Train what comes from standard input."""
    if hasattr(os, "nice"):
        os.nice(19)  # people wait for the server, not for this
    header = json.loads(sys.stdin.buffer.readline())
    rest = sys.stdin.buffer.read()
    base = load_pupil(rest[: header["base"]], "base") if header["base"] else None
    try:
        pairs, known = json.loads(rest[header["base"] :])
        tagger = train_on_all(header["kind"], pairs, base, Known(*known))
    except SapoError as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(model_bytes(tagger.model))
    sys.stdout.buffer.flush()


class Retraining:
    """Trains between answers. `start` and `finish` are called from the thread that answers."""

    def __init__(self, path: Path, base: bytes | None = None, habits: Habits | None = None) -> None:
        self.problem: str | None = None
        self._path, self._base, self._habits = path, base, habits or Habits()
        self._process = Process()
        self._threads = ThreadPoolExecutor(1, "sapo-background")
        self._next: Future[Pupil | None] | None = None
        self._fit: Future[float | None] | None = None
        self._trained = 0  # the last event that training from scratch has seen, or that was there at the start

    @property
    def training(self) -> bool:
        """Whether a new model is being trained."""
        return self._next is not None

    def settled(self, lesson: Lesson) -> bool:
        """Return whether the model in use has forgotten what was taken back, and no better one is on its way."""
        return self._next is None and not self._behind(lesson)

    def begin(self, seq: int) -> None:
        """Count from this event on."""
        self._trained = seq

    def start(self, pupil: Pupil, lesson: Lesson) -> None:
        """Start what is due."""
        if self._fit is None and (tests := pupil.take_tests()):
            self._fit = self._threads.submit(fit, tests)
        if self._next is None and self._due(lesson):
            seq = self._trained = lesson.state.seq
            pairs, known, kind = lesson.pairs(), lesson.known, pupil.kind
            self._next = self._threads.submit(lambda: self._train(kind, pairs, known, seq))

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
        self._process.end()
        self._threads.shutdown(cancel_futures=True)

    def _due(self, lesson: Lesson) -> bool:
        habits, accepted = self._habits, len(lesson)
        if self._behind(lesson):
            return True
        kinds = Counter(event.kind for event in lesson.state.since(self._trained))
        new = kinds.total() - kinds[LABEL]
        return accepted >= habits.first and new >= max(habits.least, habits.growth * (accepted - new))

    def _behind(self, lesson: Lesson) -> bool:
        """Return whether something was taken back, or a name was added: only a model trained from scratch shows it."""
        return len(lesson) > SMALL and any(one.kind in FROM_SCRATCH for one in lesson.state.since(self._trained))

    def _take(self, ready: "Future[Pupil | None]", pupil: Pupil, lesson: Lesson) -> bool:
        self._next = None
        try:
            other = ready.result()
        except Exception as error:  # the old model goes on
            self.problem = str(error)
            return False
        if other is None:
            return False
        events = lesson.state.since(other.seq)
        missed, again = lesson.changes(events), any(event.kind in FROM_SCRATCH for event in events)
        seq = lesson.state.seq

        def catch_up() -> Pupil:
            other.learn(missed, seq, lesson, from_scratch=again)
            return other

        if len(missed) > FEW:  # it learns most of it in the background, and comes again
            self._next = self._threads.submit(catch_up)
            return False
        pupil.replace_by(catch_up())
        self.problem = None
        return True

    def _train(self, kind: str, pairs: list[Pair], known: Known, seq: int) -> Pupil | None:
        model = self._process.train(kind, pairs, self._base, known)
        if model is None:
            return None
        save_snapshot(self._path, Snapshot(seq, model))
        pupil = Pupil(kind, self._base)
        pupil.take(load_pupil(model, "new model"), seq)
        return pupil


if __name__ == "__main__":
    main()
