"""Serve models over HTTP until a signal comes, and count requests for Prometheus."""

import itertools
import json
import os
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sapo.apps.http import (
    Guard,
    HttpApp,
    Reply,
    Request,
    Say,
    WorkerThreads,
    bind,
    listening_server,
    url_of,
    warn_if_open,
    write_json,
)
from sapo.apps.limits import RefusedError, RequestLimits, Token
from sapo.apps.serve import messages
from sapo.apps.serve.messages import CONLLU, MODEL, OPERATIONS, document
from sapo.apps.serve.models import Models, ServedModel
from sapo.apps.serve.work import Key, TaggingWork, UDKey
from sapo.errors import SapoError
from sapo.training.ud import UD

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

    def text(self, running: int, models: Iterable[ServedModel]) -> str:
        """Return all counts in the text format of Prometheus; `running` requests are being answered."""
        with self._lock:
            return "\n".join(self._lines(running, list(models))) + "\n"

    def _lines(self, running: int, models: Sequence[ServedModel]) -> Iterator[str]:
        requests = {f'path="{path}",status="{status}"': count for (path, status), count in self._requests.items()}
        yield from _metric("sapo_requests_total", "counter", "Requests answered, by path and status.", requests)
        yield from _metric("sapo_request_seconds", "histogram", "Time from the head of a request to its answer.", {})
        for path, classes in sorted(self._slower.items()):
            totals = list(itertools.accumulate(classes))
            for bound, total in zip((*SECONDS, "+Inf"), totals, strict=True):
                yield f'sapo_request_seconds_bucket{{path="{path}",le="{bound}"}} {total}'
            yield f'sapo_request_seconds_sum{{path="{path}"}} {self._seconds[path]:.6f}'
            yield f'sapo_request_seconds_count{{path="{path}"}} {totals[-1]}'
        for name, type, help, value in (
            ("sapo_requests_running", "gauge", "Requests that are being answered.", running),
            ("sapo_batches_total", "counter", "Batches of requests that were answered together.", self._batches),
            ("sapo_batched_requests_total", "counter", "Requests in these batches.", self._batched),
        ):
            yield from _metric(name, type, help, {"": value})
        for name, type, help, field in (
            ("sapo_model_loaded_timestamp_seconds", "gauge", "When the model was loaded.", "loaded"),
            ("sapo_model_reloads_total", "counter", "Changed files that were loaded.", "reloads"),
            ("sapo_model_failures_total", "counter", "Changed files that could not be loaded.", "failures"),
        ):
            yield from _metric(name, type, help, {_label(one): round(getattr(one, field), 3) for one in models})


def _metric(name: str, type: str, help: str, values: Mapping[str, float]) -> Iterator[str]:
    """Yield the lines of a metric; `values` are by their labels."""
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} {type}"
    for labels, value in sorted(values.items()):
        yield f"{name}{{{labels}}} {value}" if labels else f"{name} {value}"


def _label(model: ServedModel) -> str:
    name = model.name.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'model="{name}"'


LARGE = 10_000  # bytes of a request that would keep small ones waiting


class ServeApp(HttpApp):
    """Answers requests with the models.

    One thread tags small requests, many of them together. Large ones have threads of their own, so that no small one
    waits for them, and so have those that take longer than tagging.
    """

    open_paths = ("/health", "/ready")  # who starts the server must be able to ask

    def __init__(
        self, models: Models, limits: RequestLimits, say: Say, token: Token | None = None, guard: Guard | None = None
    ) -> None:
        super().__init__(OPERATIONS, limits, say, token, guard)
        self.models = models
        self.metrics = Metrics()
        work, count = TaggingWork(limits), self.metrics.batch
        self._quick = WorkerThreads(work, "sapo-tag", count)
        self._large = WorkerThreads(work, "sapo-batch", count, threads=min(os.cpu_count() or 1, 4), most=1)
        self._slow = WorkerThreads(work, "sapo-search", count)
        described = Reply(json.dumps(document([model.name for model in models])).encode())
        self._gets: dict[str, Callable[[str], Reply]] = {
            "/health": lambda name: _reply(messages.HealthAnswer(status="ok")),
            "/ready": lambda name: _reply(messages.ReadyAnswer(ready=True, problems=models.problems())),
            "/models": lambda name: _reply(messages.ModelsAnswer(models=[model.describe() for model in models])),
            MODEL: lambda name: _reply(self._find(name).describe(record=True)),
            "/metrics": lambda name: Reply(self.metrics.text(self.running, models).encode(), type=TYPE),
            "/openapi.json": lambda name: described,
        }

    async def handle(self, request: Request, form: Any) -> Reply:
        """Describe the server, or let a worker answer."""
        if request.path in self._gets:
            return self._gets[request.path](request.parameter)
        served = self._find(request.parameter)
        self.limits.check_n(getattr(form, "n", 0))
        kind = request.path.rpartition("/")[2]
        if isinstance(served.model, UD) != (kind == "ud"):
            way = "ud" if isinstance(served.model, UD) else "tag"
            raise RefusedError(422, f"the model '{served.name}' does not answer {kind}; ask for {way}")
        if isinstance(served.model, UD):
            answer = await self._large.answer(UDKey(served.name, served.model), form)
            return Reply(answer, type=f"{CONLLU}; charset=utf-8") if form.format == "conllu" else Reply(answer)
        key = Key.of(served.name, served.model, kind, form)
        worker = self._slow
        if kind == "tag" and not key.probabilities:
            worker = self._quick if request.size < LARGE else self._large
        return Reply(await worker.answer(key, form))

    def finish(self, request: Request, reply: Reply, seconds: float) -> Reply:
        """Count a request."""
        self.metrics.request(request.path if request.path in self.operations else "other", reply.status, seconds)
        return reply

    def _find(self, name: str) -> ServedModel:
        try:
            return self.models.find(name or None)
        except SapoError as error:
            raise RefusedError(404, str(error)) from None


def _reply(answer: messages.Answer) -> Reply:
    return Reply(write_json(answer))


def serve(
    paths: Sequence[str | Path],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: RequestLimits | None = None,
    token: Token | None = None,
    say: Say = print,
) -> None:
    """Serve models until SIGINT or SIGTERM, which then act as usual. `say` gets the lines for the log.

    Raises SapoError if a model cannot be loaded, or the address cannot be used.
    """
    limits = limits or RequestLimits()
    with bind(host, port) as bound:  # before the models are loaded: a port in use is reported at once
        models = Models(paths, say)
        names = ", ".join(model.name for model in models)
        server = listening_server(
            ServeApp(models, limits, say, token, Guard.of(bound, host, token)),
            limits,
            bound,
            ready=lambda: say(f"sapo: serving {names} at {url_of(bound)}"),
        )
        warn_if_open(bound, token, say)
        models.watch()
        try:
            server.run([bound])
        finally:
            models.end()
