"""The processes that jobs run in: of this machine, or of a Ray cluster. A call in, a future of its result out."""

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Protocol

from sapo.apps.ray.connection import connected


class Process(Protocol):
    """Something that does one call after the other, somewhere else."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> "Future[Any]":
        """Begin a call."""

    def shutdown(self) -> None:
        """End the process."""


class RayProcess:
    """A process of a Ray cluster, with one core."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray
        self.actor = ray.remote(num_cpus=1)(_Caller).remote()

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> "Future[Any]":
        """Begin a call. Its future raises what a process of this machine would raise."""
        promised: Future[Any] = self.actor.call.remote(function, *arguments).future()
        told: Future[Any] = Future()
        promised.add_done_callback(lambda done: self._tell(done, told))
        return told

    def _tell(self, done: "Future[Any]", told: "Future[Any]") -> None:
        error = done.exception()
        if error is None:
            told.set_result(done.result())
        elif isinstance(error, self.ray.exceptions.RayTaskError):
            told.set_exception(error.cause)
        else:
            told.set_exception(BrokenProcessPool(str(error)))

    def shutdown(self) -> None:
        """End the process."""
        self.ray.kill(self.actor)


class _Caller:
    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)


@contextmanager
def processes(address: str | None = None) -> Iterator[Callable[[], Process]]:
    """Give a function that starts a process: of this machine, or of the Ray cluster at this address."""
    if address is None:
        context = multiprocessing.get_context("spawn")
        yield lambda: ProcessPoolExecutor(1, context)
    else:
        with connected(address) as ray:
            yield lambda: RayProcess(ray)


def kill_all() -> None:
    """End the processes of this machine at once, in the middle of their work."""
    for process in multiprocessing.active_children():
        process.kill()
