"""Show the progress of training: a live display in a terminal, plain lines elsewhere, or nothing.

Plain lines, and the base of both, are in training/progress.py.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapo.corpus.files import is_special
from sapo.errors import SapoError
from sapo.learn import Observer, PassRecord, Settings, State
from sapo.training.progress import Lines, Quiet

if TYPE_CHECKING:
    from sapo.training.run import Run


WIDE = 140  # width of a terminal with room for all measurements


class Live(Quiet):
    """Print one line per epoch, and below it a progress bar."""

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
        self.console.print(message, markup=False, soft_wrap=True)

    @contextmanager
    def running(self, score_name: str | None, tokens: int) -> Iterator[None]:
        with super().running(score_name, tokens), self.bar:
            self.task = self.bar.add_task("", total=self.settings.epochs, left="")
            yield

    def samples(self, epoch: int, done: int, of: int) -> None:
        left = self.seconds_left(epoch, done / of)
        self.bar.update(
            self.task, description=f"epoch {epoch:3d}", completed=epoch - 1 + done / of, left=f"{left:.0f} s left"
        )

    def passed(self, record: PassRecord, state: State) -> None:
        self.say(self.line(record, wide=self.console.width >= WIDE))


class JsonLog(Observer):
    """Write a line of JSON for the run and for each pass, immediately, so that a stopped run leaves its log."""

    def __init__(self, path: Path, run: "Run") -> None:
        self.path, self.append = path, run.plan.resume
        data = run.data
        self.start: dict[str, Any] | None = {
            "event": "start",
            "settings": run.settings.as_json(),
            "template": data.template,
            "sentences": data.corpus.sentences,
            "tokens": data.corpus.tokens,
            "labels": len(data.labels),
            "features": data.encoder.features,
            "score": data.score_name,
        }

    def passed(self, record: PassRecord, state: State) -> None:
        entries: list[dict[str, Any]] = [
            {"event": "pass", **record.as_json(), "best_pass": state.best_epoch or record.epoch}
        ]
        # a run that fails before its first pass does not change the old log
        mode = "a" if self.append or self.start is None or is_special(self.path) else "w"
        if self.start is not None:
            entries.insert(0, self.start)
            self.start = None
        try:
            with self.path.open(mode, encoding="utf-8") as stream:
                stream.writelines(json.dumps(entry) + "\n" for entry in entries)
        except OSError as error:
            raise SapoError(f"{self.path}: cannot be written ({error.strerror})") from None


def make_progress(settings: Settings, *, quiet: bool) -> Quiet:
    """Return the display that suits standard error."""
    if quiet:
        return Quiet(settings)
    return Live(settings) if sys.stderr.isatty() else Lines(settings)
