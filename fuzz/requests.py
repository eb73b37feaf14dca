"""Targets for the bodies of requests to `sapo serve`: what a worker does with them, without the network."""

import functools
import json
from collections.abc import Callable
from typing import Any

from fuzz.target import JSON, Target, golden, small
from sapo.errors import SapoError

WORDS = ["the", "cat", "sleeps"]
SEEDS: dict[str, list[Any]] = {
    "tag": [
        {"tokens": WORDS, "probabilities": True},
        {"text": "The cat's here. No!"},
        {"texts": ["a b", ""]},
        {"sentences": [WORDS, [["a"], {"w": 1.5, "x": ["y"]}], []]},
    ],
    "nbest": [{"tokens": WORDS, "n": 3}, {"text": "cat", "n": 1}],
    "marginals": [{"tokens": WORDS}, {"sentences": [["a"], ["b", "c"]]}],
    "explain": [{"tokens": WORDS, "token": 1, "top": 3}, {"text": "a cat", "token": 0, "tag": "NN", "against": "DT"}],
}


@functools.cache
def _answers() -> Any:
    from sapo.apps.limits import RequestLimits
    from sapo.apps.serve.work import TaggingWork

    return TaggingWork(RequestLimits())


def _request(kind: str) -> Callable[[bytes], None]:
    def use(data: bytes) -> None:
        from sapo.apps.http import read_form
        from sapo.apps.limits import RefusedError
        from sapo.apps.serve.messages import REQUESTS
        from sapo.apps.serve.work import Key

        tagger = golden("features-2.sapo") if len(data) % 5 == 0 else small()
        request: Any = read_form(data, REQUESTS[kind][1])
        try:
            _answers().limits.check_n(getattr(request, "n", 0))
            (result,) = _answers()(Key.of("model", tagger, kind, request), [request])
        except RefusedError as error:
            raise SapoError(f"{error}") from None
        if isinstance(result, RefusedError):
            raise SapoError(f"{result}")
        if isinstance(result, Exception):
            raise result
        json.loads(result)

    return use


def _seeds(kind: str) -> Callable[[], list[bytes]]:
    return lambda: [json.dumps(one).encode() for one in SEEDS[kind]]


REQUESTS: dict[str, Target] = {
    f"http-{kind}": Target(_request(kind), _seeds(kind), JSON, needs="msgspec") for kind in SEEDS
}
