"""How far a command is, on one line that changes: after two seconds, and in a terminal only."""

import sys
import time


class Ticker:
    """Told often, it tells every two seconds."""

    def __init__(self, quiet: bool = False) -> None:
        self.on = not quiet and sys.stderr.isatty()
        self.tokens = 0
        self.started = self.told = time.perf_counter()

    def add(self, tokens: int) -> None:
        """So many tokens more are done."""
        self.tokens += tokens
        seconds = time.perf_counter() - self.started
        self.tell(f"{self.tokens:,} tokens, {self.tokens / max(seconds, 1e-9):,.0f} a second")

    def tell(self, message: str) -> None:
        now = time.perf_counter()
        if self.on and now - self.told > 2:
            self.told = now
            print(f"\r{message:<60}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.told > self.started:
            print(file=sys.stderr)
