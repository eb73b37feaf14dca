"""Counts of what the server did, as Prometheus reads them."""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator

from sapo.serve.models import ServedModel

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
