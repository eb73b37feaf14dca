"""What happens in a project in, server-sent events to every open page out."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sapo.serve.limits import RefusedError

MOST = 64  # pages at the same time
WAITING = 1000  # events for one page; one that does not read them is dropped, and asks again
PULSE = 15.0  # seconds after which a page hears that the server is there


class Hub:
    """Open pages. `publish` may be called from any thread, everything else from the event loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pages: set[asyncio.Queue[Mapping[str, Any] | None]] = set()
        self._closed = False

    def publish(self, event: Mapping[str, Any]) -> None:
        """Tell all pages."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the server has ended
                self._loop.call_soon_threadsafe(self._tell, event)

    @contextmanager
    def page(self) -> Iterator["asyncio.Queue[Mapping[str, Any] | None]"]:
        """Let a page listen."""
        if len(self._pages) >= MOST:
            raise RefusedError(503, f"{MOST} pages listen already; close one", **{"retry-after": "10"})
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Mapping[str, Any] | None] = asyncio.Queue(WAITING)
        self._pages.add(queue)
        try:
            if self._closed:
                queue.put_nowait(None)
            yield queue
        finally:
            self._pages.discard(queue)

    def close(self) -> None:
        """Say goodbye to all pages."""
        self._closed = True
        for queue in list(self._pages):
            self._put(queue, None)

    def _tell(self, event: Mapping[str, Any]) -> None:
        for queue in list(self._pages):
            self._put(queue, event)

    def _put(self, queue: "asyncio.Queue[Mapping[str, Any] | None]", event: Mapping[str, Any] | None) -> None:
        try:
            queue.put_nowait(event)
        except asyncio.QueueFull:
            self._pages.discard(queue)
            while not queue.empty():
                queue.get_nowait()
            queue.put_nowait(None)


async def stream(queue: "asyncio.Queue[Mapping[str, Any] | None]", pulse: float = PULSE) -> AsyncIterator[bytes]:
    """Yield events as a browser reads them, until the end."""
    while True:
        try:
            event = await asyncio.wait_for(queue.get(), pulse)
        except TimeoutError:
            yield b": here\n\n"
            continue
        if event is None:
            return
        yield event_bytes(event)


def event_bytes(event: Mapping[str, Any]) -> bytes:
    """Return an event as a browser reads it.

    >>> event_bytes({"seq": 3, "kind": "model"})
    b'id: 3\\ndata: {"seq": 3, "kind": "model"}\\n\\n'
    """
    return f"id: {event['seq']}\ndata: {json.dumps(event)}\n\n".encode()
