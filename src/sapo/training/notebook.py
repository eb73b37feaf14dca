"""Show the progress of training and compiling in a notebook: messages, and below them a bar that goes when all is done.

It needs nothing but IPython, which every kernel of a notebook has: one output of the cell is replaced again and again.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from sapo.errors import harmless
from sapo.learn import PassRecord, Settings, State
from sapo.training.progress import Quiet

OFTEN = 0.1  # seconds between two pictures of the bar
WIDTH = 20  # of the bar where only text is shown


def in_notebook() -> bool:
    """Return whether this code runs in the kernel of a notebook, which shows what `IPython.display` is given."""
    ipython: Any = sys.modules.get("IPython")  # not imported: a kernel has done so
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")


class Notebook(Quiet):
    """Show messages, one line per epoch unless `lines` is false, and a bar."""

    def __init__(self, settings: Settings, *, lines: bool = True) -> None:
        super().__init__(settings)
        self.lines = lines
        self.told: list[str] = []
        self.what, self.part = "", 0.0  # beside the bar, and how far it is; without a text there is no bar
        self.score = ""
        self.handle: Any = None
        self.shown = -OFTEN

    def say(self, message: str) -> None:
        if self.lines:
            self.told.append(harmless(message))
            self._show()

    def compiling(self, done: int, total: int) -> None:
        if done < total:
            self._move(f"compiling for the first time: {done} of {total}", done / total)
        else:
            self.end()

    @contextmanager
    def running(self, score_name: str | None, tokens: int) -> Iterator[None]:
        with super().running(score_name, tokens):
            yield
        self.end()

    def samples(self, epoch: int, done: int, of: int) -> None:
        left, epochs = self.seconds_left(epoch, done / of), self.settings.epochs
        self._move(f"epoch {epoch}/{epochs}{self.score}, {left:.0f} s left", (epoch - 1 + done / of) / epochs)

    def passed(self, record: PassRecord, state: State) -> None:
        if record.dev is not None:
            self.score = f", dev {self.score_name} {100 * record.dev:.2f}"
        self.say(self.line(record, wide=False))

    def end(self) -> None:
        """Take the bar away; the messages stay."""
        if self.what:
            self.what = ""
            self._show()

    def _move(self, what: str, part: float) -> None:
        self.what, self.part = what, min(1.0, part)
        if time.monotonic() - self.shown >= OFTEN:
            self._show()

    def _show(self) -> None:
        from IPython.display import display

        forms = {"text/html": self._html(), "text/plain": self._text()}
        if self.handle is None:
            self.handle = display(forms, raw=True, display_id=True)
        else:
            self.handle.update(forms, raw=True)
        self.shown = time.monotonic()

    def _html(self) -> str:
        told = f"<pre>{escape(chr(10).join(self.told))}</pre>" if self.told else ""
        bar = f'<progress value="{self.part:.3f}" max="1"></progress> {escape(self.what)}' if self.what else ""
        return f"{told}<div>{bar}</div>"

    def _text(self) -> str:
        full = round(self.part * WIDTH)
        bar = [f"[{'#' * full}{'-' * (WIDTH - full)}] {self.what}"] if self.what else []
        return "\n".join([*self.told, *bar])
