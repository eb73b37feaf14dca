"""Targets for the bodies of requests to `sapo serve`: what a worker does with them."""

import functools
import itertools
import json
from collections.abc import Callable
from typing import Any

import sapo
from fuzz.doors import room
from fuzz.target import JSON, TRAINING, Target, golden, small
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


CONFIG = (
    '<View><Labels name="label" toName="text"><Label value="PET"/></Labels><Text name="text" value="$text"/></View>'
)
REGION = {"start": 4, "end": 7, "text": "cat", "labels": ["PET"]}
LAYER = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
LAYERS = (*[LAYER] * 4, "uima.tcas.Annotation", "uima.cas.TOP", "uima.cas.Sofa")
FEATURES = (*["value"] * 7, "begin", "sofa", "inception_internal_predicted", "other")
DIVIDER = b"\n\n\n"  # between a document and its type system
STUDIO: list[Any] = [
    {"/predict": {"tasks": [{"id": 1, "data": {"text": "the cat sleeps"}}], "label_config": CONFIG}},
    {
        "/webhook": {
            "action": "ANNOTATION_CREATED",
            "task": {"id": 2, "data": {"text": "😀 the dog. A cat!"}},
            "annotation": {"result": [{"from_name": "label", "value": REGION}], "was_cancelled": False},
            "project": {"label_config": CONFIG},
        },
        "/predict": {"tasks": [{"data": {"text": "a dog"}}]},
    },
    {"/train": {"annotations": [{"data": {"text": "the dog"}, "annotations": [{"result": [{"value": REGION}]}]}]}},
    {"/setup": {"schema": CONFIG}},
]


@functools.cache
def _pets() -> sapo.Tagger:
    tags = [["O", "B-PET", "O"], ["O", "B-PET"]] * 2
    return sapo.train([(words, own) for (words, _), own in zip(TRAINING, tags, strict=True)], template="ner", epochs=2)


def _tool(kind: str, tagger: sapo.Tagger) -> Any:
    """Return a tool with a helper that learns: its model is new for each input."""
    from sapo.apps.assist.app import TOOLS
    from sapo.apps.assist.helper import Helper
    from sapo.apps.limits import RequestLimits

    return TOOLS[kind](Helper(tagger, "pets", room() / "learned.sapo", lambda line: None), RequestLimits())


def _ask(tool: Any, path: str, body: bytes) -> Any:
    from sapo.apps.http import read_form
    from sapo.apps.limits import RefusedError

    try:
        answer = tool.posts[path].answer(read_form(body, tool.posts[path].form))
    except RefusedError as error:
        raise SapoError(f"{error}") from None
    json.dumps(answer)
    return answer


def _studio(data: bytes) -> None:
    """Send messages of Label Studio, by their paths."""
    try:
        messages = json.loads(data)
    except (ValueError, RecursionError):
        messages = {"/predict": None}
    tool = _tool("label-studio", small() if len(data) % 5 == 0 else _pets())
    for path, message in messages.items() if isinstance(messages, dict) else ():
        if path in tool.posts:
            _ask(tool, path, data if message is None else json.dumps(message).encode())


def _inception(data: bytes) -> None:
    """Send a document and its type system as INCEpTION does, to be tagged and to be learned."""
    xmi, _, types = data.decode("utf-8", "replace").partition(DIVIDER.decode())
    document = {"xmi": xmi, "documentId": 1}
    metadata = {"layer": LAYERS[len(data) % len(LAYERS)], "feature": FEATURES[len(data) % len(FEATURES)]}
    message = {"metadata": metadata, "typeSystem": types}
    tool = _tool("inception", _pets())
    _ask(tool, "/train", json.dumps({**message, "documents": [document]}).encode())
    found = _ask(tool, "/predict", json.dumps({**message, "document": document}).encode())
    if not found["document"].startswith("<?xml"):
        raise AssertionError(found)


def _documents() -> list[bytes]:
    """Return documents with their type system, made by cassis."""
    from cassis import Cas, TypeSystem

    from sapo.apps.assist.inception import PREDICTED, SENTENCE, TOKEN

    types = TypeSystem()
    layer = types.create_type(LAYER)
    for name in (SENTENCE, TOKEN):
        types.create_type(name)
    for name, kind in (("value", "String"), (PREDICTED, "Boolean"), ("value_score", "Double")):
        types.create_feature(layer, name, f"uima.cas.{kind}")
    found = []
    for text in ("the cat sleeps", "😀 a dog"):
        cas = Cas(types)
        cas.sofa_string, cas.sofa_mime = text, "text"
        ends = list(itertools.accumulate(len(word) + 1 for word in text.split()))
        for word, end in zip(text.split(), ends, strict=True):
            cas.add(types.get_type(TOKEN)(begin=end - 1 - len(word), end=end - 1))
        cas.add(types.get_type(SENTENCE)(begin=0, end=len(text)))
        cas.add(layer(begin=ends[0], end=ends[1] - 1, value="PET"))
        found.append(cas.to_xmi().encode() + DIVIDER + types.to_xml().encode())
    return found


REQUESTS: dict[str, Target] = {
    **{f"http-{kind}": Target(_request(kind), _seeds(kind), JSON, needs="msgspec") for kind in SEEDS},
    "assist-studio": Target(_studio, lambda: [json.dumps(one).encode() for one in STUDIO], JSON, needs="msgspec"),
    "assist-inception": Target(_inception, _documents, needs="cassis"),
}
