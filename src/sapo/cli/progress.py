"""Show the progress of training: a live display in a terminal, plain lines elsewhere, or nothing."""

import json
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapo.corpus.files import is_special
from sapo.errors import FileWarning, harmless
from sapo.learn import Observer, PassRecord, Settings, State

if TYPE_CHECKING:
    from sapo.training.run import Run


WIDE = 140  # width of a terminal with room for all measurements


class Quiet(Observer):
    """Show nothing; the base class of the others."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.score_name: str | None = None
        self.tokens = 0
        self.started = 0.0
        self.passes_before: int | None = None

    def say(self, message: str) -> None:
        """Show a message."""

    @contextmanager
    def running(self, score_name: str | None, tokens: int) -> Iterator[None]:
        """Show progress while the run is inside this context."""
        self.score_name, self.tokens, self.started = score_name, tokens, time.perf_counter()
        yield

    def seconds_left(self, epoch: int, part: float = 1.0) -> float:
        """Return the remaining time, if all passes are made at the speed so far."""
        if self.passes_before is None:
            self.passes_before = epoch - 1
        done = max(epoch - 1 + part - self.passes_before, 1e-9)
        return (time.perf_counter() - self.started) / done * (self.settings.epochs - epoch + 1 - part)

    def line(self, record: PassRecord, *, wide: bool) -> str:
        """Return the measurements of a pass as a line: the main ones in less than 80 columns, or all if `wide`."""
        dev = f"  dev {self.score_name} {100 * record.dev:.2f}" if record.dev is not None else ""
        line = (
            f"pass {record.epoch:2d}/{self.settings.epochs}  objective {record.objective:.4f}{dev}"
            f"  w-complexity {record.w_complexity:.4g}  {_speed(record.tokens_per_second)} tokens/s"
        )
        if wide:
            line += f"  {record.seconds:.2f} s  updates {record.updates:,}"
            if record.candidates:
                line += f"  candidates {record.candidates:.1f}"
            if record.probabilities:
                line += "  P " + " ".join(f"{probability:.2f}" for probability in record.probabilities[:5])
        return line


def _speed(tokens: float) -> str:
    """Return a speed in thousands or millions.

    >>> _speed(1_234_567.0), _speed(12_345.0)
    ('1.23M', '12k')
    """
    return f"{tokens / 1e6:.2f}M" if tokens >= 1e5 else f"{tokens / 1e3:.0f}k"


class Lines(Quiet):
    """Print one line per pass, for logs and pipes."""

    def say(self, message: str) -> None:
        print(harmless(message), file=sys.stderr, flush=True)

    def passed(self, record: PassRecord, state: State) -> None:
        self.say(f"{self.line(record, wide=True)}  {self.seconds_left(record.epoch):.0f} s left")


class Live(Quiet):
    """Print one line per pass, and below it a progress bar."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self.console = Console(stderr=True, highlight=False)
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[left]}"),
            console=self.console,
            transient=True,
        )

    def say(self, message: str) -> None:
        self.console.print(harmless(message), markup=False, soft_wrap=True)

    @contextmanager
    def running(self, score_name: str | None, tokens: int) -> Iterator[None]:
        with super().running(score_name, tokens), self.bar:
            self.task = self.bar.add_task("", total=self.settings.epochs, left="")
            yield

    def samples(self, epoch: int, done: int, of: int) -> None:
        left = self.seconds_left(epoch, done / of)
        self.bar.update(
            self.task, description=f"pass {epoch:3d}", completed=epoch - 1 + done / of, left=f"{left:.0f} s left"
        )

    def passed(self, record: PassRecord, state: State) -> None:
        self.say(self.line(record, wide=self.console.width >= WIDE))


class JsonLog(Observer):
    """Write a line of JSON for the run and for each pass, immediately, so that a stopped run leaves its log."""

    def __init__(self, path: Path, run: "Run") -> None:
        self.path, self.append = path, run.plan.resume
        self.told = False  # that it cannot be written
        data = run.data
        start: dict[str, Any] = {
            "event": "start",
            "settings": run.settings.as_json(),
            "template": data.template,
            "sentences": data.corpus.sentences,
            "tokens": data.corpus.tokens,
            "labels": len(data.labels),
            "features": data.encoder.features,
            "score": data.score_name,
        }
        self.waiting = [start]  # to be written; a run that fails before its first pass does not change the old log

    def passed(self, record: PassRecord, state: State) -> None:
        self.waiting.append({"event": "pass", **record.as_json(), "best_pass": state.best_epoch or record.epoch})
        try:
            self._write("".join(json.dumps(entry) + "\n" for entry in self.waiting).encode())
        except OSError as error:  # the disk may have filled since the run began; the model is worth more
            if not self.told:
                why = error.strerror or error
                warnings.warn(
                    f"{self.path}: cannot be written ({why}); training goes on without it", FileWarning, stacklevel=2
                )
            self.told = True
        else:
            self.waiting, self.append = [], True

    def _write(self, lines: bytes) -> None:
        """Write whole lines or nothing."""
        special = is_special(self.path)
        with self.path.open("ab" if self.append or special else "wb", buffering=0) as stream:
            size = 0 if special else stream.seek(0, 2)
            try:
                while lines:
                    lines = lines[stream.write(lines) or 0 :]
            except OSError:
                if not special:
                    stream.truncate(size)
                raise


def make_progress(settings: Settings, *, quiet: bool) -> Quiet:
    """Return the display that suits standard error."""
    if quiet:
        return Quiet(settings)
    return Live(settings) if sys.stderr.isatty() else Lines(settings)
