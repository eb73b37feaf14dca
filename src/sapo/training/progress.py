"""Show the progress of training and compiling. The logger `sapo` gets the same messages, shown or not."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sapo import jit
from sapo.errors import harmless
from sapo.learn.records import Observer, PassRecord, State
from sapo.learn.settings import Settings

ERASE = "\r\x1b[K"  # a line of a terminal
LATE = 10.0  # seconds without a line in a log
LOG = logging.getLogger("sapo")


class Quiet(Observer):
    """Show nothing, but log it; the base class of the others."""

    def __init__(self, settings: Settings, *, verbose: bool = False) -> None:
        self.settings = settings
        self.verbose = verbose  # show details and a line for each epoch
        self.score_name: str | None = None
        self.tokens = 0
        self.started = 0.0
        self.passes_before: int | None = None

    def say(self, message: str) -> None:
        """Show a message, and log it as INFO."""
        LOG.info("%s", message)
        self.show(message)

    def detail(self, message: str) -> None:
        """Show a message if details are asked for, and log it as DEBUG."""
        LOG.debug("%s", message)
        if self.verbose:
            self.show(message)
        else:
            self.hint(message)

    def show(self, message: str) -> None:
        """Print a line."""

    def hint(self, message: str) -> None:
        """Show a detail for a moment, so that a long run shows that it goes on."""

    def passed(self, record: PassRecord, state: State) -> None:
        self.detail(f"{self.line(record, wide=True)}  {self.seconds_left(record.epoch):.0f} s left")

    @contextmanager
    def running(self, score_name: str | None, tokens: int) -> Iterator[None]:
        """Show progress while the run is inside this context."""
        self.score_name, self.tokens, self.started = score_name, tokens, jit.clock()
        yield

    def seconds_left(self, epoch: int, part: float = 1.0) -> float:
        """Return the remaining time, if all passes are made at the speed so far."""
        if self.passes_before is None:
            self.passes_before = epoch - 1
        done = max(epoch - 1 + part - self.passes_before, 1e-9)
        return (jit.clock() - self.started) / done * (self.settings.epochs - epoch + 1 - part)

    def line(self, record: PassRecord, *, wide: bool) -> str:
        """Return the measurements of a pass as a line: the main ones in less than 80 columns, or all if `wide`."""
        dev = f"  dev {self.score_name} {100 * record.dev:.2f}" if record.dev is not None else ""
        line = f"epoch {record.epoch:2d}/{self.settings.epochs}  objective {record.objective:.4f}{dev}"
        line += f"  {_speed(record.tokens_per_second)} tokens/s"
        if wide:
            line += f"  w-complexity {record.w_complexity:.4g}  {record.seconds:.2f} s  updates {record.updates:,}"
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
    """Print lines, for logs and pipes; a detail that is not asked for, only if nothing was printed for a while."""

    def __init__(self, settings: Settings, *, verbose: bool = False) -> None:
        super().__init__(settings, verbose=verbose)
        self.shown = time.monotonic()  # when the last line was printed

    def show(self, message: str) -> None:
        print(harmless(message), file=sys.stderr, flush=True)
        self.shown = time.monotonic()

    def hint(self, message: str) -> None:
        if time.monotonic() - self.shown > LATE:
            self.show(message)


class Compiling:
    """Show how far compiling is (see `kernels.watch_compiling`): a line that counts in a terminal, or one line."""

    shown = False  # a line is in the terminal that the next message must not be mixed with

    def __init__(self) -> None:
        self.live = sys.stderr.isatty()
        self.begun = False

    def __call__(self, done: int, total: int) -> None:
        if self.live:
            show_counter(f"compiling for the first time: {done} of {total}" if done < total else "")
        elif not self.begun:
            print(f"sapo: compiling for the first time: {total} functions", file=sys.stderr, flush=True)
        self.begun = True


def show_counter(text: str) -> None:
    """Show a line in the terminal that the next one replaces."""
    print(f"{ERASE}{text}", end="\r", file=sys.stderr, flush=True)
    Compiling.shown = bool(text)


def erase_counter() -> None:
    """Remove the line of `show_counter` from the terminal, if it is there."""
    if Compiling.shown:
        print(ERASE, end="", file=sys.stderr, flush=True)
        Compiling.shown = False


@contextmanager
def shown(settings: Settings, *, lines: bool = True) -> Iterator[Quiet]:
    """Show compiling inside this context, and training that gets the result as an observer.

    `lines` says whether to print messages and a line per epoch.
    """
    jit.watch_compiling(Compiling())
    try:
        yield Lines(settings, verbose=True) if lines else Quiet(settings)
    finally:
        jit.watch_compiling(None)
