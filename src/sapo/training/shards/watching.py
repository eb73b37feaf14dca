"""Tell the user now and then how far a long piece of work is, and how long it will take."""

from collections.abc import Callable

from sapo import kernels

SECONDS = 10.0  # between two messages


class Watch:
    """Says how far some work is, at most every few seconds."""

    def __init__(self, say: Callable[[str], None], *, of: int = 0) -> None:
        self.say, self.of = say, of
        self.started = self.told = kernels.clock()

    def at(self, what: str, done: int = 0) -> None:
        """Say what was done, and how long the rest will take where it is known how many steps there are."""
        now = kernels.clock()
        if now - self.told < SECONDS:
            return
        self.told = now
        left = ""
        if self.of and done:
            left = f"  {(now - self.started) / done * (self.of - done):.0f} s left"
        self.say(f"  {what}{left}")
