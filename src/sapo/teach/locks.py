"""Who works on which sentence just now. A lock ends after a minute unless it is renewed."""

import time
from collections.abc import Callable

SECONDS = 60.0


class Locks:
    """The locks of all people."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._held: dict[int, tuple[str, float]] = {}

    def holder(self, sentence: int) -> str | None:
        """Return who holds a sentence."""
        author, until = self._held.get(sentence, ("", 0.0))
        return author if author and until > self._now() else None

    def lock(self, sentence: int, author: str) -> str:
        """Take or renew a lock, unless somebody else holds it; return the holder."""
        holder = self.holder(sentence) or author
        if holder == author:
            self._held[sentence] = (author, self._now() + SECONDS)
        return holder

    def unlock(self, sentence: int, author: str) -> str | None:
        """Give a sentence free if this person holds it; return who holds it then."""
        if self.holder(sentence) == author:
            del self._held[sentence]
        return self.holder(sentence)

    def held(self) -> dict[int, str]:
        """Return all locks that hold now, and forget the others."""
        now = self._now()
        self._held = {sentence: one for sentence, one in self._held.items() if one[1] > now}
        return {sentence: author for sentence, (author, _) in self._held.items()}
