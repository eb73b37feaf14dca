"""HTTP as uvicorn speaks it, for clients that send without end, or hardly at all.

Uvicorn itself takes any number of bytes before a body begins, and waits for them as long as a client likes.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sapo.serve.limits import Limits

HEAD = 1 << 16  # bytes before the body
OVERHEAD = 8  # bytes that may come for each byte of the largest body: it may come in chunks of one byte
SPARE = 1.0  # seconds for the answer that a request came too late
TOO_LONG = b"the head of a request may have at most 65536 bytes\n"
ANSWER = b"HTTP/1.1 431 \r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s"


def bounded_protocol(limits: Limits) -> type[HttpToolsProtocol]:
    """Return the protocol for these limits, as uvicorn takes it."""

    class Bounded(BoundedProtocol):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self.limits = limits

    return Bounded


class BoundedProtocol(HttpToolsProtocol):
    """Closes a connection whose request is too long, or does not arrive in time."""

    limits = Limits()

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._waiting: asyncio.TimerHandle | None = None  # runs while a request is expected or arrives
        self._size, self._in_body, self._arrived = 0, False, 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_longer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._waiting is None and (self.cycle is None or self.cycle.response_complete):
            self._wait()
        before = self._arrived
        super().data_received(data)
        # of what came with the end of a request, all might belong to the next one, but seldom does
        self._size = self._size + len(data) if before == self._arrived else 0
        if (
            self._size > HEAD + (OVERHEAD * self.limits.body if self._in_body else 0)
            and not self.transport.is_closing()
        ):
            if not self._in_body:
                self.transport.write(ANSWER % (len(TOO_LONG), TOO_LONG))
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._in_body = True
        self._size = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        self._arrived += 1
        self._wait_no_longer()
        super().on_message_complete()

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self.limits.seconds + SPARE, self._too_late)

    def _wait_no_longer(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _too_late(self) -> None:
        self._waiting = None
        if not self.transport.is_closing():
            self.transport.abort()
