"""Serve an annotation tool as an ASGI application; one thread suggests and learns."""

import asyncio
import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from sapo.apps.assist.helper import Helper, Say
from sapo.apps.http import Headers, Reply, Result, Send, Worker, answered, check_json, check_method
from sapo.apps.limits import Limits, Receive, RefusedError, Token
from sapo.apps.serve.messages import Form, read_form
from sapo.errors import SapoError


class Foreign(Form, forbid_unknown_fields=False):  # type: ignore[call-arg]
    """A part of a message of another tool, which may have more fields than we need."""


@dataclass(frozen=True, slots=True)
class Route:
    """A request with a body, how it is answered, and the status of the answer."""

    form: type[Foreign]
    answer: Callable[[Any], Any]  # a request in; out comes what is sent as JSON, or None for an empty answer
    status: int = 200


class Tool(Protocol):
    """A tool for annotation."""

    gets: Mapping[str, Callable[[], Any]]  # by path
    posts: Mapping[str, Route]


def as_json(answer: Any) -> bytes:
    """Return the body of an answer."""
    return b"" if answer is None else msgspec.json.encode(answer)


OPEN = "/health"


class App:
    """Answers the requests of a tool."""

    def __init__(self, tool: Tool, helper: Helper, limits: Limits, say: Say, token: Token | None = None) -> None:
        self._tool, self._limits, self._token, self._say = tool, limits, token, say
        self._running = 0
        self.worker = Worker(self._work, "sapo-assist", idle=helper.idle)

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = dict(scope["headers"])
        reply = await answered(self._answer(scope["method"], scope["path"], headers, receive), self._say)
        if reply is not None:
            await reply.send(scope["method"], send)

    async def _answer(self, method: str, path: str, headers: Headers, receive: Receive) -> Reply:
        path = path.rstrip("/") or "/"
        if self._token is not None and path != OPEN:
            self._token.check(with_bearer(headers))
        if path in self._tool.gets:
            check_method(path, method, "GET")
            return Reply(as_json(self._tool.gets[path]()))
        if path not in self._tool.posts:
            paths = ", ".join([*self._tool.gets, *self._tool.posts])
            raise RefusedError(404, f"there is no {path}; there are {paths}")
        check_method(path, method, "POST")
        check_json(headers)
        if self._running >= self._limits.requests:
            raise RefusedError(503, "the server has too many requests already; try again", **{"retry-after": "1"})
        self._running += 1
        try:
            return await self._worked(path, headers, receive)
        finally:
            self._running -= 1

    async def _worked(self, path: str, headers: Headers, receive: Receive) -> Reply:
        try:
            async with asyncio.timeout(self._limits.seconds) as deadline:
                body = await self._limits.read_body(headers, receive)
                request = read_form(body, self._tool.posts[path].form)
                return Reply(await self.worker.answer(path, request), self._tool.posts[path].status)
        except TimeoutError:
            if deadline.expired():
                raise RefusedError(504, f"the answer took more than {self._limits.seconds:g} s") from None
            raise

    def _work(self, path: str, requests: Sequence[Any]) -> list[Result]:
        return [self._one(path, request) for request in requests]

    def _one(self, path: str, request: Any) -> Result:
        try:
            return as_json(self._tool.posts[path].answer(request))
        except SapoError as error:
            self._say(f"sapo: {path}: {error}")
            return error
        except RefusedError as error:
            return error


def with_bearer(headers: Headers) -> Headers:
    """Return headers where the password of Basic authentication, which Label Studio sends, is the token.

    >>> with_bearer({b"authorization": b"Basic " + base64.b64encode(b"user:secret")})
    {b'authorization': b'Bearer secret'}
    """
    scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() != b"basic":
        return headers
    try:
        password = base64.b64decode(given, validate=True).partition(b":")[2]
    except binascii.Error:
        return headers
    return {**headers, b"authorization": b"Bearer " + password}
