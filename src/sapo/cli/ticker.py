"""Show the progress of a command on one changing line, in a terminal only."""

import sys
import time


class Ticker:
    """Show progress at most every two seconds, however often it is called."""

    def __init__(self, quiet: bool = False) -> None:
        self.on = not quiet and sys.stderr.isatty()
        self.tokens = 0
        self.started = self.shown = time.perf_counter()

    def add(self, tokens: int) -> None:
        """Report that this many more tokens are done."""
        self.tokens += tokens
        seconds = time.perf_counter() - self.started
        self.tell(f"{self.tokens:,} tokens, {self.tokens / max(seconds, 1e-9):,.0f} a second")

    def tell(self, message: str) -> None:
        """Show a message, unless the last one is less than two seconds old."""
        now = time.perf_counter()
        if self.on and now - self.shown > 2:
            self.shown = now
            print(f"\r{message:<60}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """End the line, if anything was shown."""
        if self.shown > self.started:
            print(file=sys.stderr)
