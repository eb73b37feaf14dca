"""Answer requests as an ASGI application, and count them for Prometheus."""

import asyncio
import json
import os
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sapo.apps.http import Reply, Send, Worker, answered, check_json, check_method
from sapo.apps.limits import Limits, Receive, RefusedError, Token
from sapo.apps.serve import messages
from sapo.apps.serve.messages import POSTS, document
from sapo.apps.serve.models import Models, Say, ServedModel
from sapo.apps.serve.work import Answers, Key
from sapo.errors import SapoError

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts requests and batches. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()  # by path and status
        self._slower: dict[str, list[int]] = {}  # by path: how many took so long, in the classes of SECONDS
        self._seconds: Counter[str] = Counter()
        self._batches = self._batched = 0
        self.running = 0  # requests that are being answered; only the event loop changes it

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        with self._lock:
            self._requests[path, status] += 1
            self._slower.setdefault(path, [0] * (len(SECONDS) + 1))[bisect_left(SECONDS, seconds)] += 1
            self._seconds[path] += seconds  # type: ignore[assignment]

    def batch(self, size: int) -> None:
        """Count a batch of requests."""
        with self._lock:
            self._batches += 1
            self._batched += size

    def text(self, models: Iterable[ServedModel]) -> str:
        """Return all counts in the text format of Prometheus."""
        with self._lock:
            return "\n".join([*self._counts(), *_model_lines(list(models))]) + "\n"

    def _counts(self) -> Iterator[str]:
        yield from _head("sapo_requests_total", "counter", "Requests answered, by path and status.")
        for (path, status), count in sorted(self._requests.items()):
            yield f'sapo_requests_total{{path="{path}",status="{status}"}} {count}'
        yield from _head("sapo_request_seconds", "histogram", "Time from the head of a request to its answer.")
        for path, classes in sorted(self._slower.items()):
            total = 0
            for bound, count in zip((*SECONDS, "+Inf"), classes, strict=True):
                total += count
                yield f'sapo_request_seconds_bucket{{path="{path}",le="{bound}"}} {total}'
            yield f'sapo_request_seconds_sum{{path="{path}"}} {self._seconds[path]:.6f}'
            yield f'sapo_request_seconds_count{{path="{path}"}} {total}'
        yield from _head("sapo_requests_running", "gauge", "Requests that are being answered.")
        yield f"sapo_requests_running {self.running}"
        yield from _head("sapo_batches_total", "counter", "Batches of requests that were answered together.")
        yield f"sapo_batches_total {self._batches}"
        yield from _head("sapo_batched_requests_total", "counter", "Requests in these batches.")
        yield f"sapo_batched_requests_total {self._batched}"


def _model_lines(models: list[ServedModel]) -> Iterator[str]:
    yield from _head("sapo_model_loaded_timestamp_seconds", "gauge", "When the model was loaded.")
    yield from (f"sapo_model_loaded_timestamp_seconds{_label(one)} {one.loaded:.3f}" for one in models)
    yield from _head("sapo_model_reloads_total", "counter", "Changed files that were loaded.")
    yield from (f"sapo_model_reloads_total{_label(one)} {one.reloads}" for one in models)
    yield from _head("sapo_model_failures_total", "counter", "Changed files that could not be loaded.")
    yield from (f"sapo_model_failures_total{_label(one)} {one.failures}" for one in models)


def _head(name: str, type: str, help: str) -> Iterator[str]:
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} {type}"


def _label(model: ServedModel) -> str:
    name = model.name.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'{{model="{name}"}}'


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
        self.metrics = Metrics()
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
            "/metrics": lambda name: Reply(self.metrics.text(models).encode(), type=TYPE),
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
