"""Serve an annotation tool until a signal comes; one thread suggests and learns."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sapo.apps.assist.helper import Helper
from sapo.apps.assist.inception import Inception, need_cassis
from sapo.apps.assist.label_studio import LabelStudio
from sapo.apps.http import (
    Guard,
    Headers,
    HttpApp,
    Operation,
    Reply,
    Request,
    Result,
    Say,
    Send,
    WorkerThreads,
    bind,
    listening_server,
    url_of,
    warn_if_open,
    write_json,
)
from sapo.apps.limits import Receive, RefusedError, RequestLimits, Token
from sapo.apps.taggers import load
from sapo.errors import SapoError

TOOLS: dict[str, type[LabelStudio] | type[Inception]] = {"label-studio": LabelStudio, "inception": Inception}


class AssistApp(HttpApp):
    """Answers the requests of a tool."""

    open_paths = ("/health",)

    def __init__(
        self,
        tool: LabelStudio | Inception,
        helper: Helper,
        limits: RequestLimits,
        say: Say,
        token: Token | None = None,
        guard: Guard | None = None,
    ) -> None:
        operations = dict.fromkeys(tool.gets, Operation("GET", at_once=True))
        operations |= {path: Operation("POST", form=route.form) for path, route in tool.posts.items()}
        super().__init__(operations, limits, say, token, guard)
        self._tool = tool
        self.worker = WorkerThreads(self._work, "sapo-assist", idle=helper.idle)

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request; tools may end its path with a slash."""
        await super().__call__({**scope, "path": scope["path"].rstrip("/") or "/"}, receive, send)

    def admit(self, request: Request) -> None:
        """Refuse a client without the token."""
        super().admit(replace(request, headers=with_bearer(request.headers)))

    async def handle(self, request: Request, form: Any) -> Reply:
        """Describe the model, or let the worker answer."""
        if request.path in self._tool.gets:
            return Reply(write_json(self._tool.gets[request.path]()))
        return Reply(await self.worker.answer(request.path, form), self._tool.posts[request.path].status)

    def _work(self, path: str, requests: Sequence[Any]) -> list[Result]:
        return [self._one(path, request) for request in requests]

    def _one(self, path: str, request: Any) -> Result:
        try:
            answer = self._tool.posts[path].answer(request)
            return b"" if answer is None else write_json(answer)
        except SapoError as error:
            self.say(f"sapo: {path}: {error}")
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


def assist(
    path: str | Path,
    tool: str,
    *,
    output: str | Path | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: RequestLimits | None = None,
    token: Token | None = None,
    say: Say = print,
) -> None:
    """Suggest marks to a tool, one of `TOOLS`, until SIGINT or SIGTERM, which then act as usual.

    With `output`, learn from what people mark, and save it there; if the file exists, go on with it. Raises SapoError
    if a model cannot be loaded or cannot learn, or the address cannot be used.
    """
    if tool == "inception":
        need_cassis()
    limits = limits or RequestLimits()
    source, target = Path(path), None if output is None else Path(output)
    if target is not None and target.exists() and target.resolve() != source.resolve():
        say(f"sapo: continuing with {target}")
        source = target
    if target is not None and not target.parent.is_dir():
        raise SapoError(f"{target}: there is no directory {target.parent}")
    with bind(host, port) as bound:  # before the model is loaded, so that a port in use is reported at once
        helper = Helper(load(source), Path(path).stem, target, say)
        app = AssistApp(TOOLS[tool](helper, limits), helper, limits, say, token, Guard.of(bound, host, token))
        learns = "suggests" if target is None else f"suggests, and learns into {target},"
        ready = f"sapo: {Path(path).stem} {learns} at {url_of(bound)} for {tool}"
        server = listening_server(app, limits, bound, ready=lambda: say(ready))
        warn_if_open(bound, token, say)
        try:
            server.run([bound])
        finally:
            app.worker.end()
            helper.save()
