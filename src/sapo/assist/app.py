"""The server for a tool, as an ASGI application. One thread suggests and learns, so that both have one order."""

import asyncio
import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from sapo.assist.helper import Helper, Say
from sapo.assist.routes import Tool, as_json
from sapo.errors import SapoError
from sapo.serve.asgi import Headers, Reply, Send, answered, check_json, check_method
from sapo.serve.batching import Result, Worker
from sapo.serve.limits import Limits, Receive, RefusedError, Token
from sapo.serve.messages import read_form

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
