"""Show the progress of training and of pipelines: a live display in a terminal, plain lines elsewhere, or nothing.

Plain lines, and the base of both, are in training/progress.py.
"""

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapo import jit
from sapo.cli.options import tell
from sapo.corpus.files import is_special
from sapo.errors import FileWarning, harmless
from sapo.learn.records import Observer, PassRecord, State
from sapo.learn.settings import Settings
from sapo.training.progress import Lines, Quiet, erase_counter, show_counter
from sapo.training.stack import Watcher

if TYPE_CHECKING:
    from sapo.training.run import Run


WIDE = 140  # width of a terminal with room for all measurements


class Live(Quiet):
    """Print lines, and below them a progress bar."""

    def __init__(self, settings: Settings, *, verbose: bool = False) -> None:
        super().__init__(settings, verbose=verbose)
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

    def show(self, message: str) -> None:
        erase_counter()
        self.console.print(harmless(message), markup=False)

    def hint(self, message: str) -> None:
        if not self.bar.live.is_started:  # where the bar is not, a line that the next message replaces
            show_counter(harmless(message)[: self.console.width - 1])

    @contextmanager
    def running(self, score_name: str | None, tokens: int) -> Iterator[None]:
        erase_counter()
        before = jit.watch_compiling(self.compiling)  # below the bar, a line that counts would not stay in its place
        try:
            with super().running(score_name, tokens), self.bar:
                self.task = self.bar.add_task("", total=self.settings.epochs, left="")
                yield
        finally:
            jit.watch_compiling(before)

    def compiling(self, done: int, total: int) -> None:
        """Show next to the bar how far compiling is."""
        self.bar.update(self.task, left=f"compiling for the first time: {done} of {total}" if done < total else "")

    def samples(self, epoch: int, done: int, of: int) -> None:
        left = self.seconds_left(epoch, done / of)
        self.bar.update(
            self.task, description=f"epoch {epoch:3d}", completed=epoch - 1 + done / of, left=f"{left:.0f} s left"
        )

    def passed(self, record: PassRecord, state: State) -> None:
        self.detail(self.line(record, wide=self.console.width >= WIDE))


class JsonLog(Observer):
    """Write a line of JSON for the run and for each pass, immediately, so that a stopped run leaves its log."""

    def __init__(self, path: Path, run: "Run") -> None:
        self.path, self.append = path, run.plan.resume
        self.warned = False  # that it cannot be written
        data = run.data
        start: dict[str, Any] = {
            "event": "start",
            "settings": run.settings.as_json(),
            "template": data.template,
            "sentences": data.source.sentences,
            "tokens": data.source.tokens,
            "labels": len(data.labels),
            "features": data.encoder.features,
            "score": data.score_name,
        }
        self.waiting = [start]  # to be written; a run that fails before its first pass does not change the old log

    def passed(self, record: PassRecord, state: State) -> None:
        self.note({"event": "pass", **record.as_json(), "best_pass": state.best_epoch or record.epoch})

    def note(self, entry: dict[str, Any]) -> None:
        """Write a line."""
        self.waiting.append(entry)
        try:
            self._write("".join(json.dumps(entry) + "\n" for entry in self.waiting).encode())
        except OSError as error:  # the disk may have filled since the run began; the model is worth more
            if not self.warned:
                why = error.strerror or error
                warnings.warn(
                    f"{self.path}: cannot be written ({why}); training continues without it", FileWarning, stacklevel=2
                )
            self.warned = True
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


def make_progress(settings: Settings, *, quiet: bool, verbose: bool = False) -> Quiet:
    """Return the display that suits standard error."""
    if quiet:
        return Quiet(settings)
    return (Live if sys.stderr.isatty() else Lines)(settings, verbose=verbose)


class PipelineLines(Watcher):
    """Print messages, for logs and pipes."""

    def say(self, message: str) -> None:
        tell(message)


class PipelineBar(Watcher):
    """Print messages, and below them a progress bar."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True, highlight=False)
        self.bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console, transient=True
        )
        self.task = self.bar.add_task("", total=1.0, visible=False)
        self.what = ""

    def say(self, message: str) -> None:
        self.bar.update(self.task, visible=False)
        self.bar.console.print(harmless(message), markup=False)

    def training(self, what: str) -> None:
        self.what = what

    def tagged(self, tokens: int) -> None:
        self.bar.update(self.task, description=f"{tokens:,} tokens tagged", completed=0.0, visible=True)

    def samples(self, epoch: int, done: int, of: int) -> None:
        self.bar.update(self.task, description=f"{self.what}: epoch {epoch}", completed=done / of, visible=True)

    def passed(self, record: PassRecord, state: State) -> None:
        self.bar.update(self.task, completed=1.0)


@contextmanager
def make_watcher(*, quiet: bool) -> Iterator[Watcher]:
    """Yield the watcher that suits standard error."""
    if quiet or not sys.stderr.isatty():
        yield Watcher() if quiet else PipelineLines()
    else:
        shown = PipelineBar()
        with shown.bar:
            yield shown
