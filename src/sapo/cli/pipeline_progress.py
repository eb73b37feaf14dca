"""Show the progress of a pipeline: messages, and in a terminal a progress bar."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sapo.cli.options import tell
from sapo.errors import harmless
from sapo.learn.records import PassRecord, State
from sapo.training.stack import Watcher


class Lines(Watcher):
    """Print messages, for logs and pipes."""

    def say(self, message: str) -> None:
        tell(message)


class Live(Watcher):
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
        yield Watcher() if quiet else Lines()
    else:
        live = Live()
        with live.bar:
            yield live
