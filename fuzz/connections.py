"""The target for connections: a stream of bytes to the server, at once, in pieces, and with an offer to upgrade."""

import asyncio
import functools
import itertools
import logging
import random
import zlib
from collections.abc import Iterable
from typing import Any

from fuzz.target import Target
from sapo.errors import SapoError

HEAD = b"POST /tag HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n"
INVALID = b"Invalid HTTP request received."
SMALL = 60_000  # bytes, below all limits of a head


class _Transport(asyncio.Transport):
    """Keeps what is sent to a client."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> None:
        if not self.closed:
            self.sent.append(bytes(data))

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class _Connection:
    """Connections to an application that answers with what it has read, in an event loop without a network."""

    def __init__(self) -> None:
        from sapo.apps.http import Guard, HttpApp, Operation, Reply, Request, server_config, write_json
        from sapo.apps.limits import RequestLimits
        from sapo.apps.serve.messages import TagRequest

        class Echo(HttpApp):
            async def handle(self, request: Request, form: Any) -> Reply:
                return Reply(write_json([request.path, request.parameter, form]))

        operations = {"/tag": Operation("POST", form=TagRequest), "/models/{name}": Operation("GET", at_once=True)}
        limits = RequestLimits(body=5000)
        self.wrong: list[str] = []
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(lambda loop, context: self.wrong.append(str(context)))
        logging.getLogger("uvicorn.error").addFilter(self._log)
        self.config = server_config(Echo(operations, limits, self.wrong.append, guard=Guard(80)), limits)
        self.config.load()

    def _log(self, record: logging.LogRecord) -> bool:
        if record.levelno >= logging.ERROR:
            self.wrong.append(f"{record.getMessage()} {record.exc_info}")
        return False

    def answers(self, pieces: Iterable[bytes]) -> bytes:
        """Send a stream in pieces, and return what came back until the end."""
        return self.loop.run_until_complete(self._answers(pieces))

    async def _answers(self, pieces: Iterable[bytes]) -> bytes:
        from uvicorn.server import ServerState

        transport = _Transport()
        kind: Any = self.config.http_protocol_class
        protocol = kind(config=self.config, server_state=ServerState(), app_state={}, _loop=self.loop)
        protocol.connection_made(transport)
        for piece in pieces:
            if transport.closed:
                break
            protocol.data_received(piece)
            for _ in range(6):  # tasks begin, read and answer
                await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        protocol.connection_lost(None)
        for _ in range(6):
            await asyncio.sleep(0)
        if self.wrong:
            raise AssertionError(self.wrong.pop())
        return b"".join(transport.sent)


@functools.cache
def _connection() -> _Connection:
    return _Connection()


def _stream(data: bytes) -> None:
    """Send bytes over a connection: at once, in pieces, and with an offer to upgrade. The answers must be the same."""
    answers = _connection().answers([data])
    if len(data) < SMALL:
        rng = random.Random(zlib.crc32(data))
        cuts = [0, *sorted(rng.randrange(len(data) + 1) for _ in range(rng.choice((1, 3, 20)))), len(data)]
        pieces = [data[start:end] for start, end in itertools.pairwise(cuts) if start < end]
        _compare(answers, _connection().answers(pieces), f"in pieces: {pieces}")
        first, end, rest = data.partition(b"HTTP/1.1\r\n")
        if end and b"\n" not in first:
            _compare(answers, _connection().answers([first + end + OFFER + rest]), "with an offer to upgrade")
    if b"HTTP/1.1 4" in answers:
        raise SapoError(answers.rpartition(b"\r\n")[2].decode("utf-8", "replace"))


def _compare(answers: bytes, others: bytes, how: str) -> None:
    """Fail unless the answers are the same. Of an invalid stream, more or less was answered when that was seen."""
    if answers != others and INVALID not in answers:
        raise AssertionError(f"other answers {how}")


def _streams() -> list[bytes]:
    body = b'{"tokens": ["a"]}'
    plain = HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    chunks = HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n%s\r\nc;x=y\r\n%s\r\n0\r\nT: u\r\n\r\n" % (
        body[:5],
        body[5:],
    )
    get = b"GET /models/a%20b?x=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n\r\n"
    return [plain, chunks, get, plain + chunks + get, plain.replace(b"\r\nHost", b"\r\nExpect: 100-continue\r\nHost")]


CONNECTIONS = {"http-stream": Target(_stream, _streams, needs="uvicorn")}
