"""Serve JSON over HTTP: the one place for checks, limits, error replies, OpenAPI, worker threads and listening.

An application is a table of operations by path, and a function that answers them: see `HttpApp`.
"""

import asyncio
import contextlib
import hmac
import ipaddress
import re
import secrets
import socket
import threading
import time
import traceback
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import httptools
import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sapo import __version__
from sapo.apps.limits import GoneError, Receive, RefusedError, RequestLimits, Token
from sapo.errors import SapoError

Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Say = Callable[[str], None]
Headers = Mapping[bytes, bytes]
JSON = "application/json"
EVENT_STREAM = "text/event-stream"
F = TypeVar("F", bound="Form")


class Form(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):  # type: ignore[call-arg]
    """A request. An unknown field is refused: it is likely misspelled."""


class ErrorAnswer(msgspec.Struct):
    """What is wrong, in one line."""

    error: str


def read_form(body: bytes | bytearray, form: type[F]) -> F:
    """Read the body of a request. Raise SapoError if it is not JSON, or has another form."""
    try:
        return msgspec.json.decode(body, type=form)
    except msgspec.ValidationError as error:
        raise SapoError(f"the request does not have the expected form: {error}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise SapoError(f"the request is not JSON: {error}") from None


def read_query(query: Mapping[str, str], form: type[F]) -> F:
    """Read the parameters of a GET request. Raise SapoError if one is unknown, or its value is wrong."""
    try:
        return msgspec.convert(query, form, strict=False)
    except msgspec.ValidationError as error:
        raise SapoError(f"the request does not have the expected form: {error}") from None


def write_json(answer: Any) -> bytes:
    """Return an answer as JSON."""
    return msgspec.json.encode(answer)


@dataclass(frozen=True, slots=True)
class Operation:
    """What a path does: its method, the form of its request, and what it answers with."""

    method: str  # GET or POST
    summary: str = ""  # if empty, OpenAPI does not describe it
    form: type[Form] | None = None  # of the body, or of the query
    answer: Any = ""  # a struct that is sent as JSON, or the content type of something else, or a tuple of these
    refusals: Sequence[int] = ()
    at_once: bool = False  # answered on the event loop, whatever else is going on


@dataclass(slots=True)
class Request:
    """The head of a request; `path` is a key of the table of operations if there is one that fits."""

    method: str
    path: str
    parameter: str  # what stands for {id} or {name} in the path
    headers: Headers
    query_string: bytes
    receive: Receive
    size: int = 0  # bytes of the body, when it was read

    def query(self) -> dict[str, str]:
        """Return the parameters of the query; of several with one name the last one."""
        try:
            return dict(parse_qsl(self.query_string.decode("latin-1"), keep_blank_values=True, max_num_fields=20))
        except ValueError:
            raise SapoError("a request may have at most 20 parameters") from None


@dataclass(frozen=True, slots=True)
class Reply:
    """What is sent back: a body, and perhaps more parts, each sent when it is ready."""

    body: bytes = b""
    status: int = 200
    type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    parts: AsyncGenerator[bytes] | None = None

    async def send(self, method: str, receive: Receive, send: Send) -> None:
        """Send the reply."""
        fields = {"content-type": self.type, **self.headers}
        if self.parts is None:
            fields["content-length"] = str(len(self.body))
        listed = [(key.encode(), value.encode()) for key, value in fields.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": listed})
        body = b"" if method == "HEAD" else self.body
        await send({"type": "http.response.body", "body": body, "more_body": self.parts is not None})
        if self.parts is not None:
            tasks = [asyncio.ensure_future(_until_gone(receive))]
            if method != "HEAD":
                tasks.append(asyncio.ensure_future(_send_all(self.parts, send)))
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.parts.aclose()
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send_all(parts: AsyncGenerator[bytes], send: Send) -> None:
    async for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def error_reply(status: int, message: str, headers: Mapping[str, str] | None = None) -> Reply:
    """Return an answer that says what is wrong."""
    return Reply(write_json(ErrorAnswer(message)), status, headers=headers or {})


class HttpApp:
    """An ASGI application that answers the operations of a table within limits.

    A subclass defines `handle`. It may replace `admit`, which refuses clients, and `finish`, which sees every reply.
    """

    open_paths: tuple[str, ...] = ()  # that need no token

    def __init__(
        self,
        operations: Mapping[str, Operation],
        limits: RequestLimits,
        say: Say,
        token: Token | None = None,
        guard: "Guard | None" = None,
    ) -> None:
        self.operations, self.limits, self.say, self.token, self.guard = operations, limits, say, token, guard
        self.running = 0  # requests that are being answered; only the event loop changes it
        patterns = {path: path.replace("{id}", "([0-9]{1,15})").replace("{name}", "([^/]+)") for path in operations}
        self._patterns = {path: re.compile(pattern) for path, pattern in patterns.items() if pattern != path}

    async def handle(self, request: Request, form: Any) -> Reply:
        """Answer a request that was checked; `form` is None if the operation has none."""
        raise NotImplementedError

    def admit(self, request: Request) -> None:
        """Refuse a client that may not ask."""
        if self.guard is not None:
            self.guard.check_host(request.headers)
        if self.token is not None and request.path not in self.open_paths:
            self.token.check(request.headers)

    def finish(self, request: Request, reply: Reply, seconds: float) -> Reply:
        """Return the reply as it is sent; it took this long."""
        return reply

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request; all that goes wrong is one line for the client."""
        started = time.perf_counter()
        path, parameter = self._match(scope["path"])
        query = scope.get("query_string", b"")
        request = Request(scope["method"], path, parameter, dict(scope["headers"]), query, receive)
        try:
            reply = await self._answer(request)
        except RefusedError as refused:
            reply = error_reply(refused.status, str(refused), refused.headers)
        except SapoError as error:
            reply = error_reply(422, str(error))
        except GoneError:
            return
        except Exception:
            self.say(traceback.format_exc())
            reply = error_reply(500, "internal server error; see the server log")
        await self.finish(request, reply, time.perf_counter() - started).send(request.method, receive, send)

    def _match(self, path: str) -> tuple[str, str]:
        """Return the path in the table that fits, or else the path itself, and its parameter."""
        if path not in self.operations:
            for known, pattern in self._patterns.items():
                if found := pattern.fullmatch(path):
                    return known, found[1]
        return path, ""

    async def _answer(self, request: Request) -> Reply:
        self.admit(request)
        path, method = request.path, request.method
        operation = self.operations.get(path)
        if operation is None:
            known = "/openapi.json describes what there is"
            if "/openapi.json" not in self.operations:
                known = f"there are {', '.join(self.operations)}"
            raise RefusedError(404, f"there is no {path}; {known}")
        allowed = "GET, HEAD" if operation.method == "GET" else operation.method
        if method not in allowed.split(", "):
            raise RefusedError(405, f"{path} needs {operation.method}, not {method}", {"allow": allowed})
        # a page in a browser cannot send this type to another site without asking first, and is then refused
        given = request.headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        if operation.method == "POST" and given != JSON.encode():
            raise RefusedError(415, f"the body must be JSON, with the header Content-Type: {JSON}")
        if operation.at_once:
            return await self.handle(request, self._form(request, operation, await self._body(request, operation)))
        return await self._in_time(request, operation)

    async def _in_time(self, request: Request, operation: Operation) -> Reply:
        """Answer a request. Only one that has arrived counts: slow clients keep none of the others waiting."""
        seconds = self.limits.seconds
        late = RefusedError(408, f"the request did not arrive within {seconds:g} s")
        try:
            async with asyncio.timeout(seconds) as deadline:
                body = await self._body(request, operation)
                late = RefusedError(504, f"the answer took more than {seconds:g} s; ask for less at once")
                if self.running >= self.limits.requests:
                    busy = f"the server is already answering {self.limits.requests} requests; try again"
                    raise RefusedError(503, busy, {"retry-after": "1"})
                self.running += 1
                try:
                    return await self.handle(request, self._form(request, operation, body))
                finally:
                    self.running -= 1
        except TimeoutError:
            if deadline.expired():
                raise late from None
            raise

    async def _body(self, request: Request, operation: Operation) -> bytearray:
        if operation.form is None or operation.method == "GET":
            return bytearray()
        return await self.limits.read_body(request.headers, request.receive)

    def _form(self, request: Request, operation: Operation, body: bytearray) -> Form | None:
        if operation.form is None:
            return None
        if operation.method == "GET":
            return read_query(request.query(), operation.form)
        request.size = len(body)
        self.limits.check_values(body)
        return read_form(body, operation.form)


REFERENCE = "#/components/schemas/{name}"
REFUSALS = {
    401: "The token is missing or wrong.",
    403: "The request is for another name, or from a page of another site.",
    404: "There is no such model.",
    408: "The request did not arrive in time.",
    409: "Another person is working on this sentence.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "The request is not valid, or asks for too much.",
    500: "Internal server error.",
    503: "The server has too many requests; try again.",
    504: "The answer took too long.",
}


def describe(
    title: str, description: str, operations: Mapping[str, Operation], parameter: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the OpenAPI description of operations; `parameter` is the schema of {id} or {name} in their paths."""
    described = {path: one for path, one in operations.items() if one.summary}
    structs = [answer for one in described.values() for answer in _several(one.answer) if not isinstance(answer, str)]
    structs += [one.form for one in described.values() if one.form is not None and one.method == "POST"]
    _, schemas = msgspec.json.schema_components([*structs, ErrorAnswer], ref_template=REFERENCE)
    paths: dict[str, Any] = {}
    for path, operation in described.items():
        about: dict[str, Any] = {"summary": operation.summary, "responses": _responses(operation)}
        if operation.form is not None and operation.method == "POST":
            about["requestBody"] = {"required": True, "content": _content(operation.form)}
        elif operation.form is not None:
            about["parameters"] = _query_parameters(operation.form)
        paths[path] = {operation.method.lower(): about}
        if name := re.search(r"\{(\w+)\}", path):
            paths[path]["parameters"] = [{"name": name[1], "in": "path", "required": True, "schema": parameter}]
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__, "description": description},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],  # a token only where the server was started with one
    }


def _responses(operation: Operation) -> dict[str, Any]:
    found = {"200": {"description": "The answer.", "content": _content(operation.answer)}}
    for status in operation.refusals:
        found[str(status)] = {"description": REFUSALS[status], "content": _content(ErrorAnswer)}
    return found


def _several(what: Any) -> tuple[Any, ...]:
    return what if isinstance(what, tuple) else (what,)


def _content(what: Any) -> dict[str, Any]:
    return {
        one if isinstance(one, str) else JSON: {
            "schema": {} if isinstance(one, str) else {"$ref": REFERENCE.format(name=one.__name__)}
        }
        for one in _several(what)
    }


def _query_parameters(form: type[Form]) -> list[dict[str, Any]]:
    """Return the fields of a form as parameters of a query, which are left out rather than null."""
    (reference,), schemas = msgspec.json.schema_components([form], ref_template=REFERENCE)
    schema = schemas[reference["$ref"].rpartition("/")[2]]
    found = []
    for name, one in schema["properties"].items():
        kinds = [kind for kind in one.get("anyOf", ()) if kind != {"type": "null"}]
        plain = kinds[0] if kinds else {key: value for key, value in one.items() if key != "default" or value}
        required = name in schema.get("required", ())
        found.append({"name": name, "in": "query", "required": required, "schema": plain})
    return found


HEAD = 1 << 16  # bytes before the body
OVERHEAD = 8  # bytes that may come for each byte of the largest body: it may come in chunks of one byte
SPARE = 1.0  # seconds for the answer that a request came too late
ARRIVING = 128_000_000  # bytes of all requests that are arriving, unless two of the largest bodies are more
CONNECTIONS = 512  # with a request that is arriving
SLOW = 1.0  # seconds after which one of too many connections may be closed
UPGRADE = (b"upgrade", b"http2-settings")
TOO_LONG = b"the head of a request may have at most 65536 bytes\n"
ANSWER = b"HTTP/1.1 431 \r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s"


class BoundedProtocol(HttpToolsProtocol):
    """Closes a connection whose request is too long, or does not arrive in time, and ignores offers to upgrade.

    Uvicorn itself takes any number of bytes before a body begins, and waits for them as long as a client likes. Of a
    request with `Upgrade: h2c`, which Java sends, httptools leaves out the body.
    """

    limits = RequestLimits()
    arriving: dict["BoundedProtocol", float]  # connections with a request that is not whole, and since when
    _waiting: asyncio.TimerHandle | None = None  # runs while a request is expected or arrives
    _size, _in_body, _arrived, _upgrading = 0, False, 0, False
    url = b""
    parser: Any

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
        self._parse(data)
        # of what came with the end of a request, all might belong to the next one, but seldom does
        self._size = self._size + len(data) if before == self._arrived else 0
        if self._size > HEAD + (OVERHEAD * self.limits.body if self._in_body else 0):
            self._refuse()
        elif self._size > HEAD and self._waiting is not None:
            self._make_room()

    def _parse(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self._upgrading:  # and not CONNECT, which has been answered
                self._parse(self._plain_head() + data[upgrade.args[0] :])
        except httptools.HttpParserError:
            if self._head_size() > HEAD:
                self._refuse()
            else:
                self.send_400_response("Invalid HTTP request received.")

    def _plain_head(self) -> bytes:
        """Return the head of a request without its offer to upgrade, for a new parser, and start that."""
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        fields = [b"%s: %s\r\n" % one for one in self.headers if one[0] not in UPGRADE]
        self._upgrading = False
        self.parser = httptools.HttpRequestParser(self)
        with contextlib.suppress(AttributeError):  # httptools before 0.6.3; uvicorn does the same
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return b"%s %s HTTP/%s\r\n%s\r\n" % (method, self.url, version, b"".join(fields))

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers or ())

    def on_headers_complete(self) -> None:
        self._upgrading = self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"
        if self._upgrading:
            return
        if self._head_size() > HEAD:  # it came in one piece
            raise ValueError(TOO_LONG)
        self._in_body = True
        self._size = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        if self._upgrading:
            return
        self._in_body = False
        self._arrived += 1
        self._wait_no_longer()
        super().on_message_complete()

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self.limits.seconds + SPARE, self._too_late)
        self.arriving[self] = self.loop.time()
        self._make_room()

    def _wait_no_longer(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
            del self.arriving[self]

    def _make_room(self) -> None:
        """Close the connection that has been sending for the longest time if all of them hold too much."""
        oldest, since = next(iter(self.arriving.items()))
        most = max(ARRIVING, 2 * self.limits.body)
        if (len(self.arriving) > CONNECTIONS and since < self.loop.time() - SLOW) or (
            sum(one._size for one in self.arriving if one._size > HEAD) > most
        ):
            oldest._too_late()

    def _too_late(self) -> None:
        self._wait_no_longer()
        if not self.transport.is_closing():
            self.transport.abort()

    def _refuse(self) -> None:
        if not self.transport.is_closing():
            if not self._in_body:
                self.transport.write(ANSWER % (len(TOO_LONG), TOO_LONG))
            self.transport.close()


LARGEST = 64  # requests in a batch
Result = bytes | Exception
Work = Callable[[Any, Sequence[Any]], list[Result]]  # takes a key and requests; returns a result for each
Idle = Callable[[], float]  # does a little work; returns how many seconds the next can wait


@dataclass(frozen=True, slots=True, eq=False)
class WaitingRequest:
    """A request that waits; `key` is the same for requests that can be answered together."""

    key: Hashable
    request: Any
    future: "asyncio.Future[bytes]"


class WorkerThreads:
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
        self._waiting: deque[WaitingRequest] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._threads = [threading.Thread(target=self._run, name=name, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    async def answer(self, key: Hashable, request: Any) -> bytes:
        """Return the answer to a request. If the caller is canceled before its turn, nothing is computed."""
        job = WaitingRequest(key, request, asyncio.get_running_loop().create_future())
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
            if (jobs := self._next()) and not self._answer(jobs):
                return
            del jobs  # they may be large, and the next may come much later

    def _answer(self, jobs: Sequence[WaitingRequest]) -> bool:
        """Answer requests; return whether the server still runs."""
        self._seen(len(jobs))
        try:
            results = self._work(jobs[0].key, [job.request for job in jobs])
        except Exception as error:  # a bug: the thread must go on
            results = [error] * len(jobs)
        try:
            jobs[0].future.get_loop().call_soon_threadsafe(_deliver, jobs, results)
        except RuntimeError:  # the server has ended
            return False
        return True

    def _use_time(self, idle: Idle) -> None:
        """Do other work while no request waits."""
        with self._changed:
            if self._waiting or self._ended:
                return
        pause = idle()
        with self._changed:
            if not self._waiting and not self._ended and pause > 0:
                self._changed.wait(pause)

    def _next(self) -> list[WaitingRequest]:
        """Wait for a request, and return it with those behind it that belong to it; others keep their place.

        Return nothing at the end, or if there is other work and no request waits.
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
            taken: list[WaitingRequest] = []
            others: list[WaitingRequest] = []
            while self._waiting and len(taken) < most:
                job = self._waiting.popleft()
                (taken if job.key == key else others).append(job)
            self._waiting.extendleft(reversed(others))
        return [job for job in taken if not job.future.cancelled()]


def _deliver(jobs: Sequence[WaitingRequest], results: Sequence[Result]) -> None:
    for job, result in zip(jobs, results, strict=True):
        if job.future.done():  # its time was up
            continue
        if isinstance(result, Exception):
            expected = isinstance(result, SapoError | RefusedError)
            job.future.set_exception(result.with_traceback(None) if expected else result)  # its frames may hold much
        else:
            job.future.set_result(result)


BACKLOG = 1024  # connections that may wait to be accepted


def listening_server(
    app: Any,
    limits: RequestLimits,
    bound: socket.socket,
    *,
    ready: Callable[[], None] = lambda: None,
    closing: Callable[[], None] = lambda: None,
) -> uvicorn.Server:
    """Return a server that listens at a socket. It calls `ready` when it takes requests, `closing` before it ends.

    Raises SapoError if it cannot listen.
    """

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            closing()
            await super().shutdown(sockets)

    try:
        bound.listen(BACKLOG)
    except OSError as error:
        host, port, *_ = bound.getsockname()
        raise _not_listening(host, port, error) from None
    return Server(server_config(app, limits))


def server_config(app: Any, limits: RequestLimits) -> uvicorn.Config:
    """Return how uvicorn serves an application within limits."""
    return uvicorn.Config(
        app,
        http=type("Bounded", (BoundedProtocol,), {"limits": limits, "arriving": {}}),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=int(limits.seconds) + 1,
    )


def bind(host: str, port: int) -> socket.socket:
    """Return a socket at this address, which does not listen yet. Raise SapoError if the address is taken."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise SapoError(f"--host {host}: no such address ({error.strerror or error})") from None
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise _not_listening(host, port, error) from None
    return bound


def _not_listening(host: str, port: int, error: OSError) -> SapoError:
    return SapoError(f"cannot listen at {host}:{port} ({error.strerror or error}); give another --port or --host")


def url_of(bound: socket.socket) -> str:
    """Return the address of a socket, as browsers take it."""
    host, port, *_ = bound.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(bound: socket.socket) -> bool:
    """Return whether only programs on this machine reach a socket."""
    return ipaddress.ip_address(bound.getsockname()[0].partition("%")[0]).is_loopback


def warn_if_open(bound: socket.socket, token: Token | None, say: Say) -> None:
    """Warn if other machines reach a socket and no token is needed."""
    if token is None and not is_loopback(bound):
        say(f"sapo: warning: anyone who can reach {url_of(bound)} can use it; --token-file FILE requires a token")


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
    """Refuses requests of pages of other sites.

    Without a token only the names of this machine are answered: a page of another site that lets its own name point
    to this machine (DNS rebinding) is refused. With a token, which such a page cannot know, every name is answered.
    """

    def __init__(self, port: int, token: str | None = None, names: tuple[str, ...] = NAMES) -> None:
        self.token = token
        self._hosts = {f"{name}:{port}" for name in names} | (set(names) if port == 80 else set())
        self._cookie = f"sapo-teach-{port}"  # cookies of all ports of a machine are one

    @classmethod
    def of(cls, bound: socket.socket, host: str, token: Token | None) -> "Guard | None":
        """Return the guard of a server that listens at `host`; none with a token, or for other machines."""
        if token is not None or not is_loopback(bound):
            return None
        return cls(bound.getsockname()[1], names=(*NAMES, host.lower()))

    def check_host(self, headers: Headers) -> None:
        """Refuse a request to another name, or from a page of another site."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self.token is None and host not in self._hosts:
            names = ", ".join(sorted(self._hosts))
            raise RefusedError(
                403,
                f"this server answers only at {names}, not at '{host[:100]}'; start it with a token for other names",
            )
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() not in (f"http://{host}", f"https://{host}"):
            raise RefusedError(403, "pages of other sites may not use this server")

    def check_token(self, headers: Headers) -> None:
        """Refuse a request without the token, as a cookie or as a bearer token."""
        if self.token is None:
            return
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer" and self.knows(given.strip().decode("latin-1")):
            return
        with contextlib.suppress(CookieError):
            cookie = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(self._cookie)
            if cookie is not None and self.knows(cookie.value):
                return
        raise RefusedError(401, "open the address that sapo teach printed; it contains the token")

    def knows(self, given: str) -> bool:
        """Return whether this is the token; in constant time."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def cookie(self) -> str:
        """Return the header that lets a browser remember the token."""
        return f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"


def new_token() -> str:
    """Return a token that cannot be guessed."""
    return secrets.token_urlsafe(24)
