"""Worker threads that take waiting requests together, so that a busy server tags in batches."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

LARGEST = 64  # requests in a batch
Result = bytes | Exception
Work = Callable[[Any, Sequence[Any]], list[Result]]  # a key and the requests that have it in, a result for each out
Idle = Callable[[], float]  # a little work while nobody waits; returns how many seconds the next can wait


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A request that waits; `key` is the same for requests that can be answered together."""

    key: Hashable
    request: Any
    future: "asyncio.Future[bytes]"


class Worker:
    """Threads that answer requests outside of the event loop, each up to `most` that belong together.

    Requests with the key `urgent`, if there is one, go first, and all others are answered one by one.
    """

    def __init__(
        self,
        work: Work,
        name: str,
        seen: Callable[[int], None] = lambda size: None,
        *,
        idle: Idle | None = None,
        threads: int = 1,
        most: int = LARGEST,
        urgent: Hashable | None = None,
    ) -> None:
        self._work = work
        self._seen = seen
        self._idle = idle
        self._most = most
        self._urgent = urgent
        self._waiting: deque[Job] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._threads = [threading.Thread(target=self._run, name=name, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    async def answer(self, key: Hashable, request: Any) -> bytes:
        """Return the answer to a request. If the caller is cancelled before its turn, nothing is computed."""
        job = Job(key, request, asyncio.get_running_loop().create_future())
        with self._changed:
            self._waiting.append(job)
            self._changed.notify()
        return await job.future

    def end(self) -> None:
        """Return when the threads have ended: after what they do now, and without what still waits."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while not self._ended:
            if self._idle is not None:
                self._use_time(self._idle)
            jobs = self._next()
            if not jobs:
                continue
            self._seen(len(jobs))
            try:
                results = self._work(jobs[0].key, [job.request for job in jobs])
            except Exception as error:  # a mistake of ours: the thread must live on
                results = [error] * len(jobs)
            try:
                jobs[0].future.get_loop().call_soon_threadsafe(_deliver, jobs, results)
            except RuntimeError:  # the server has ended
                return

    def _use_time(self, idle: Idle) -> None:
        """Do other work while nobody waits."""
        with self._changed:
            if self._waiting or self._ended:
                return
        pause = idle()
        with self._changed:
            if not self._waiting and not self._ended and pause > 0:
                self._changed.wait(pause)

    def _next(self) -> list[Job]:
        """Wait for a request, and return it with those behind it that belong to it; others keep their place.

        Return nothing at the end, or if there is other work and nobody waits.
        """
        with self._changed:
            while not self._waiting and not self._ended and self._idle is None:
                self._changed.wait()
            if not self._waiting or self._ended:
                return []
            key = self._waiting[0].key
            most = self._most
            if self._urgent is not None:
                urgent = any(job.key == self._urgent for job in self._waiting)
                key, most = (self._urgent, most) if urgent else (key, 1)
            taken: list[Job] = []
            others: list[Job] = []
            while self._waiting and len(taken) < most:
                job = self._waiting.popleft()
                (taken if job.key == key else others).append(job)
            self._waiting.extendleft(reversed(others))
        return [job for job in taken if not job.future.cancelled()]


def _deliver(jobs: Sequence[Job], results: Sequence[Result]) -> None:
    for job, result in zip(jobs, results, strict=True):
        if job.future.done():  # its time was up
            continue
        if isinstance(result, Exception):
            job.future.set_exception(result)
        else:
            job.future.set_result(result)
