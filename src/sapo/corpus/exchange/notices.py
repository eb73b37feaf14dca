"""What a reader had to change or leave out, as warnings: the first few one by one, the others counted."""

import warnings

from sapo.errors import DataWarning

SHOWN = 5


class Notices:
    """Warnings about one file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._count = 0
        self._left_out: dict[str, int] = {}

    def tell(self, message: str) -> None:
        """Warn of a change; `message` begins with its place."""
        self._count += 1
        if self._count <= SHOWN:
            warnings.warn(message, DataWarning, stacklevel=2)

    def leave_out(self, what: str) -> None:
        """Count something that is left out; `close` says how many there are."""
        self._left_out[what] = self._left_out.get(what, 0) + 1

    def close(self) -> None:
        """Warn of all that was not told one by one."""
        if self._count > SHOWN:
            warnings.warn(f"{self.name}: {self._count - SHOWN:,} more spans like these", DataWarning, stacklevel=2)
        for what, count in self._left_out.items():
            warnings.warn(f"{self.name}: left out {count:,} {what}", DataWarning, stacklevel=2)
        self._count, self._left_out = 0, {}
