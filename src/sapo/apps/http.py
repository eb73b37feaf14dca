"""Share what the three servers need: limits, ASGI answers, the HTTP protocol, batches, and guards.

Uvicorn itself takes any number of bytes before a body begins, and waits for them as long as a client likes.
"""

import asyncio
import hmac
import secrets
import threading
import traceback
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sapo.apps.limits import GoneError, Limits, RefusedError
from sapo.apps.serve import messages
from sapo.errors import SapoError

Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Headers = Mapping[bytes, bytes]
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Reply:
    """What is sent back."""

    body: bytes
    status: int = 200
    type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    def fields(self) -> list[tuple[bytes, bytes]]:
        """Return the headers of the response."""
        more = [(key.encode(), value.encode()) for key, value in self.headers.items()]
        return [(b"content-type", self.type.encode()), (b"content-length", str(len(self.body)).encode()), *more]

    async def send(self, method: str, send: Send) -> None:
        """Send the response."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.fields()})
        await send({"type": "http.response.body", "body": b"" if method == "HEAD" else self.body})


async def answered(answer: Awaitable[Reply], say: Callable[[str], None]) -> Reply | None:
    """Return an answer, or one line about what is wrong; None if the client is gone."""
    try:
        return await answer
    except RefusedError as refused:
        return error_reply(refused.status, str(refused), refused.headers)
    except SapoError as error:
        return error_reply(422, str(error))
    except GoneError:
        return None
    except Exception:
        say(traceback.format_exc())
        return error_reply(500, "the server has a mistake; its log says more")


def error_reply(status: int, message: str, headers: Mapping[str, str] | None = None) -> Reply:
    """Return an answer that says what is wrong."""
    return Reply(messages.write_json(messages.ErrorAnswer(error=message)), status, headers=headers or {})


def check_method(path: str, method: str, allowed: str) -> None:
    """Refuse another method; GET also allows HEAD."""
    if method != allowed and (allowed, method) != ("GET", "HEAD"):
        both = "GET, HEAD" if allowed == "GET" else allowed
        raise RefusedError(405, f"{path} takes {allowed}, not {method}", allow=both)


def check_json(headers: Headers) -> None:
    """Refuse a body that does not say it is JSON.

    A page in a browser cannot send this type to another site without asking first, and is then refused.
    """
    if headers.get(b"content-type", b"").split(b";")[0].strip().lower() != JSON.encode():
        raise RefusedError(415, f"the body must be JSON, with the header Content-Type: {JSON}")


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
        """Return the answer to a request. If the caller is canceled before its turn, nothing is computed."""
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


NAMES = ("localhost", "127.0.0.1", "[::1]")
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Refuses requests that do not come from the page.

    Without a token only the names of this machine are answered: a page of another site that lets its own name point
    to this machine (DNS rebinding) is refused. With a token, which such a page cannot know, every name is answered.
    """

    def __init__(self, port: int, token: str | None = None, names: tuple[str, ...] = NAMES) -> None:
        self.token = token
        self._hosts = {f"{name}:{port}" for name in names} | (set(names) if port == 80 else set())
        self._cookie = f"sapo-teach-{port}"  # cookies of all ports of a machine are one

    def check_host(self, headers: Mapping[bytes, bytes]) -> None:
        """Refuse a request to another name, or from a page of another site."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self.token is None and host not in self._hosts:
            raise RefusedError(403, f"this server answers only at {', '.join(sorted(self._hosts))}")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() not in (f"http://{host}", f"https://{host}"):
            raise RefusedError(403, "pages of other sites may not ask this server")

    def check_token(self, headers: Mapping[bytes, bytes]) -> None:
        """Refuse a request without the token, as a cookie or as a bearer token."""
        if self.token is None:
            return
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer" and self.knows(given.strip().decode("latin-1")):
            return
        try:
            cookie = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(self._cookie)
        except CookieError:
            cookie = None
        if cookie is None or not self.knows(cookie.value):
            raise RefusedError(401, "open the page by the address with the token that sapo teach prints")

    def knows(self, given: str) -> bool:
        """Return whether this is the token; in constant time."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def cookie(self) -> str:
        """Return the header that lets a browser remember the token."""
        return f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(24)
