"""Let threads work on the same kernel, and meet in it.

A team is for work that is too short to be handed out by Python: its threads enter a kernel together and call `meet`
between two steps, where each waits until all have come. What one wrote before is then seen by all. Waiting takes a
core, so meetings should be frequent, and a thread gives way where there are fewer cores than threads.
"""

import threading
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from sapo.jit.arrays import Longs
from sapo.jit.kernels import fetch_add, give_way, kernel, look_at

R = TypeVar("R")

ARRIVED, FAILED, TAKEN = 0, 1, 8  # what is counted, by index: TAKEN is in another line of the processor's cache
PATIENCE = 2000  # looks before a thread gives way: some microseconds
# Pieces of work between two looks at how many threads are worth it. A thread that waits for one without a core may wait
# long at each meeting, but to start a team takes as long as some pieces.
FIRST_PIECES, MOST_PIECES = 32, 512


class Team(NamedTuple):
    """Threads that meet; each has its own number."""

    counters: Longs
    threads: int
    thread: int


@kernel
def meet(team: Team) -> bool:
    """Wait until all threads have come; return whether all go on: none if one has failed."""
    if team.threads == 1:
        return True
    before = fetch_add(team.counters, ARRIVED, 1)
    complete = (before // team.threads + 1) * team.threads
    looks = 0
    while look_at(team.counters, ARRIVED) < complete:
        if look_at(team.counters, FAILED) > 0:
            return False
        looks += 1
        if looks > PATIENCE:
            give_way()
    return True


@kernel
def take(team: Team) -> int:
    """Return the number of the next piece of work, from 0; each is given to one thread."""
    return fetch_add(team.counters, TAKEN, 1)


class Pace:
    """Find out how many threads are worth it: where others use the cores, too, several can be slower than one.

    >>> pace = Pace(4)
    >>> for seconds in (3.0, 1.0, 2.0):
    ...     pace.note(pace.threads, 10, seconds)
    >>> pace.threads, pace.pieces
    (2, 32)
    >>> pace.note(2, 10, 1.1)
    >>> pace.threads, pace.pieces
    (2, 64)
    >>> pace.note(2, 10, 9.0)
    >>> pace.threads, pace.pieces
    (4, 32)
    """

    def __init__(self, most: int) -> None:
        self._untried = [2**power for power in range(most.bit_length()) if 2**power < most] + [most]
        self._seconds: dict[int, float] = {}
        self._pieces = FIRST_PIECES

    @property
    def pieces(self) -> int | None:
        """How many pieces of work to do before the next look: more each time the number stays; None if it is fixed."""
        return self._pieces if self.threads > 1 or len(self._untried) > 1 else None

    @property
    def threads(self) -> int:
        """How many to use next."""
        return self._untried[0] if self._untried else min(self._seconds, key=self._seconds.__getitem__)

    def note(self, threads: int, work: int, seconds: float) -> None:
        """Take in how long some work took."""
        self._untried = [other for other in self._untried if other != threads]
        self._seconds[threads] = seconds / max(work, 1)
        self._pieces = min(2 * self._pieces, MOST_PIECES) if self.threads == threads else FIRST_PIECES


def in_team(threads: int, work: Callable[[Team], R]) -> R:
    """Let each thread of a team do the work; return the result of the first, which is the calling thread.

    >>> in_team(1, lambda team: team.threads)
    1
    """
    counters = np.zeros(16, np.int64)
    failures: list[BaseException] = []

    def take_part(thread: int) -> R | None:
        try:
            return work(Team(counters, threads, thread))
        except BaseException as error:
            fetch_add(counters, FAILED, 1)  # the others must not wait
            failures.append(error)
            return None

    others = [threading.Thread(target=take_part, args=(thread,)) for thread in range(1, threads)]
    for other in others:
        other.start()
    try:
        result = take_part(0)
    finally:
        for other in others:
            other.join()
    if failures:
        raise failures[0]
    return result  # type: ignore[return-value]
