"""In which order a worker answers, and what it answers together."""

import asyncio
import threading
from collections.abc import Hashable, Sequence
from typing import Any


def taken(requests: Sequence[tuple[Hashable, int]], **how: Any) -> list[tuple[Hashable, list[int]]]:
    """Return what a worker takes together while requests wait; the first of them keeps it busy."""
    from sapo.apps.http import WorkerThreads

    batches: list[tuple[Hashable, list[int]]] = []
    begun, may_go = threading.Event(), threading.Event()

    def work(key: Hashable, numbers: Sequence[int]) -> list[bytes]:
        begun.set()
        may_go.wait(30)
        batches.append((key, list(numbers)))
        return [b""] * len(numbers)

    async def ask() -> None:
        worker = WorkerThreads(work, "test", **how)
        waiting = [asyncio.ensure_future(worker.answer(*requests[0]))]
        while not begun.is_set():
            await asyncio.sleep(0.001)
        waiting += [asyncio.ensure_future(worker.answer(*request)) for request in requests[1:]]
        await asyncio.sleep(0)  # all of them wait now
        may_go.set()
        await asyncio.gather(*waiting)
        worker.end()

    asyncio.run(ask())
    return batches


def test_requests_that_belong_together_are_answered_together() -> None:
    waiting = [("busy", 0), ("a", 1), ("b", 2), ("a", 3)]
    assert taken(waiting) == [("busy", [0]), ("a", [1, 3]), ("b", [2])]


def test_urgent_requests_go_first_and_the_others_one_by_one() -> None:
    waiting = [("busy", 0), ("a", 1), ("a", 2), ("now", 3), ("a", 4), ("now", 5), ("now", 6)]
    expected = [("busy", [0]), ("now", [3, 5]), ("now", [6]), ("a", [1]), ("a", [2]), ("a", [4])]
    assert taken(waiting, urgent="now", most=2) == expected
