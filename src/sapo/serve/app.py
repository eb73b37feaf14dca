"""The server as an ASGI application: a request in, an answer out, and nothing but JSON on the way."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from sapo.errors import SapoError
from sapo.serve import messages, metrics
from sapo.serve.asgi import Reply, Send, answered, check_json, check_method
from sapo.serve.batching import Worker
from sapo.serve.limits import Limits, Receive, RefusedError, Token
from sapo.serve.models import Models, Say
from sapo.serve.openapi import POSTS, document
from sapo.serve.work import Answers, Key

OPEN = ("/health", "/ready")  # without a token: who starts the server must be able to ask
MODEL = "/models/{name}"
LARGE = 10_000  # bytes of a request that would keep small ones waiting


class App:
    """Answers requests with the models.

    One thread tags small requests, many of them together. Large ones have threads of their own, so that no small one
    waits for them, and so have those that take longer than tagging.
    """

    def __init__(self, models: Models, limits: Limits, say: Say, token: Token | None = None) -> None:
        self.models, self.limits, self.token, self._say = models, limits, token, say
        self.metrics = metrics.Metrics()
        answers = Answers(limits)
        self._quick = Worker(answers, "sapo-tag", self.metrics.batch)
        self._large = Worker(answers, "sapo-batch", self.metrics.batch, threads=min(os.cpu_count() or 1, 4), most=1)
        self._slow = Worker(answers, "sapo-search", self.metrics.batch)
        self._openapi = json.dumps(document([model.name for model in models])).encode()
        self._gets: dict[str, Callable[[str | None], Reply]] = {
            "/health": lambda name: _reply(messages.HealthAnswer(status="ok")),
            "/ready": lambda name: _reply(messages.ReadyAnswer(ready=True, problems=models.problems())),
            "/models": lambda name: _reply(messages.ModelsAnswer(models=[model.describe() for model in models])),
            MODEL: lambda name: _reply(models.find(name).describe(record=True)),
            "/metrics": lambda name: Reply(self.metrics.text(models).encode(), type=metrics.TYPE),
            "/openapi.json": lambda name: Reply(self._openapi),
        }
        self._posts = {f"{start}/{kind}": kind for kind in POSTS for start in ("", MODEL)}

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        started = time.perf_counter()
        path, name = _parse_path(scope["path"])
        headers = dict(scope["headers"])
        reply = await answered(self._answer(scope["method"], path, name, headers, receive), self._say)
        if reply is None:
            return
        known = path if path in self._gets or path in self._posts else "other"
        self.metrics.request(known, reply.status, time.perf_counter() - started)
        await reply.send(scope["method"], send)

    async def _answer(
        self, method: str, path: str, name: str | None, headers: Mapping[bytes, bytes], receive: Receive
    ) -> Reply:
        if self.token is not None and path not in OPEN:
            self.token.check(headers)
        if path in self._gets:
            check_method(path, method, "GET")
            self._check_name(name)
            return self._gets[path](name)
        if path not in self._posts:
            raise RefusedError(404, f"there is no {path}; /openapi.json describes what there is")
        check_method(path, method, "POST")
        self._check_name(name)
        check_json(headers)
        if self.metrics.running >= self.limits.requests:
            more = {"retry-after": "1"}
            raise RefusedError(503, f"the server has {self.limits.requests} requests already; try again", **more)
        self.metrics.running += 1
        try:
            return await self._worked(self._posts[path], name, headers, receive)
        finally:
            self.metrics.running -= 1

    async def _worked(self, kind: str, name: str | None, headers: Mapping[bytes, bytes], receive: Receive) -> Reply:
        """Read a request, let a worker answer it, and watch the time."""
        late = RefusedError(408, f"the request did not arrive within {self.limits.seconds:g} s")
        try:
            async with asyncio.timeout(self.limits.seconds) as deadline:
                body = await self.limits.read_body(headers, receive)
                late = RefusedError(504, f"the answer took more than {self.limits.seconds:g} s; ask for less at once")
                request = messages.read_form(body, POSTS[kind][1])
                self.limits.check_n(getattr(request, "n", 0))
                served = self.models.find(name)
                key = Key.of(served.name, served.tagger, kind, request)
                worker = self._slow
                if kind == "tag" and not key.probabilities:
                    worker = self._quick if len(body) < LARGE else self._large
                return Reply(await worker.answer(key, request))
        except TimeoutError:
            if deadline.expired():
                raise late from None
            raise

    def _check_name(self, name: str | None) -> None:
        try:
            self.models.find(name)
        except SapoError as error:
            raise RefusedError(404, str(error)) from None


def _parse_path(path: str) -> tuple[str, str | None]:
    """Return a path with {name} for the name of the model, and this name.

    >>> _parse_path("/models/chunk/tag"), _parse_path("/tag")
    (('/models/{name}/tag', 'chunk'), ('/tag', None))
    """
    parts = path.split("/", 3)
    if len(parts) < 3 or parts[1] != "models" or not parts[2]:
        return path, None
    return "/".join(["", "models", "{name}", *parts[3:]]), parts[2]


def _reply(answer: messages.Answer) -> Reply:
    return Reply(messages.write_json(answer))
