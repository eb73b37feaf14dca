"""Define the requests and answers of the server, and describe them in OpenAPI."""

from typing import Annotated, Any, TypeVar

import msgspec

from sapo import __version__
from sapo.errors import SapoError

Feature = str | bool | int | float | list[str]
Token = str | list[str] | dict[str, Feature]  # a word, its columns, or ready-made features
Number = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
F = TypeVar("F", bound="Form")


class Form(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):  # type: ignore[call-arg]
    """A request. An unknown field is refused: it is likely misspelled."""


class Input(Form):
    """What to tag: exactly one of the four fields."""

    text: str | None = None
    texts: list[str] | None = None
    tokens: list[Token] | None = None  # one sentence
    sentences: list[list[Token]] | None = None


class TagRequest(Input):
    """Ask for the best tagging of each sentence."""

    probabilities: bool = False


class NBestRequest(Input):
    """Ask for the n best taggings of each sentence."""

    n: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 5


class MarginalsRequest(Input):
    """Ask for the probability of every label, for each token."""


class ExplainRequest(Form):
    """Ask why a token (the first is 0) has its tag. The text, or the list of tokens, is one sentence."""

    token: Number
    text: str | None = None
    tokens: list[Token] | None = None
    tag: str | None = None
    against: str | None = None
    top: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 15


class Answer(msgspec.Struct, kw_only=True, omit_defaults=True):  # type: ignore[call-arg]
    """An answer, or a part of one. A field that was not asked for is left out."""


class TokenAnswer(Answer):
    """A token of a text, which is `text[start:end]`."""

    text: str
    start: int
    end: int


class SpanAnswer(Answer):
    """A span: tokens of its sentence, from `token_start` up to, but not including, `token_end`.

    In a text it is `text[start:end]`.
    """

    type: str
    token_start: int
    token_end: int
    text: str | None = None
    start: int | None = None
    end: int | None = None
    probability: float | None = None


class TaggingAnswer(Answer):
    """One of the n best taggings; `probability` is among all taggings, `p_k` among these n."""

    tags: list[str]
    probability: float
    p_k: float
    score: float


class SentenceAnswer(Answer):
    """What was found in a sentence; `index` counts the texts or sentences of the request, from 0."""

    index: int | None = None
    tokens: list[TokenAnswer] | None = None  # of a text
    tags: list[str] | None = None
    probabilities: list[float] | None = None  # of the tags
    spans: list[SpanAnswer] | None = None
    taggings: list[TaggingAnswer] | None = None
    marginals: list[dict[str, float]] | None = None


class SentencesAnswer(Answer):
    """The sentences of a request, in order. A text may have several."""

    model: str
    sentences: list[SentenceAnswer]


class ExplainAnswer(Answer):
    """Why a token has its tag: what `sapo explain --json` prints."""

    model: str
    explanation: dict[str, Any]


class ModelAnswer(Answer):
    """A model that is being served."""

    name: str
    labels: list[str]
    columns: list[str]  # what a token consists of; none for ready-made features
    marks_spans: bool
    features: int
    loaded: str  # when, in UTC
    reloads: int
    problem: str | None = None  # why a changed file was not loaded
    record: dict[str, Any] | None = None  # how it was trained; in the answer about one model


class ModelsAnswer(Answer):
    """All models; the first also answers requests that name none."""

    models: list[ModelAnswer]


class HealthAnswer(Answer):
    """The server runs."""

    status: str


class ReadyAnswer(Answer):
    """The server takes requests. `problems` has the models whose changed file could not be loaded."""

    ready: bool
    problems: dict[str, str]


class ErrorAnswer(Answer):
    """What is wrong, in one line."""

    error: str


def read_form(body: bytes, form: type[F]) -> F:
    """Read a request. Raise SapoError if it is not JSON, or has another form."""
    try:
        return msgspec.json.decode(body, type=form)
    except msgspec.ValidationError as error:
        raise SapoError(f"the request does not have the expected form: {error}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise SapoError(f"the request is not JSON: {error}") from None


def write_json(answer: Answer | str) -> bytes:
    """Return an answer as JSON."""
    return msgspec.json.encode(answer)


REFERENCE = "#/components/schemas/{name}"
POSTS = {
    "tag": ("Tag text or tokens", TagRequest, SentencesAnswer),
    "nbest": ("Find the n best taggings", NBestRequest, SentencesAnswer),
    "marginals": ("Give the probability of each label", MarginalsRequest, SentencesAnswer),
    "explain": ("Explain a tag", ExplainRequest, ExplainAnswer),
}
GETS = {
    "/models": ("List the models", ModelsAnswer),
    "/models/{name}": ("Describe a model", ModelAnswer),
    "/health": ("Say that the server runs", HealthAnswer),
    "/ready": ("Say whether the server takes requests", ReadyAnswer),
}
REFUSALS = {
    401: "The token is missing or wrong.",
    404: "There is no such model.",
    408: "The request did not arrive in time.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "The request has a mistake, or asks for too much.",
    500: "The server has a mistake.",
    503: "The server has too many requests; try again.",
    504: "The answer took too long.",
}


def document(names: list[str]) -> dict[str, Any]:
    """Return the description of a server with models of these names."""
    forms = [form for _, *both in POSTS.values() for form in both] + [form for _, form in GETS.values()]
    _, schemas = msgspec.json.schema_components([*forms, ErrorAnswer], ref_template=REFERENCE)
    paths: dict[str, Any] = {}
    for kind, (summary, form, answer) in POSTS.items():
        paths[f"/{kind}"] = {"post": _post(f"{summary}, with the first model", form, answer)}
        paths[f"/models/{{name}}/{kind}"] = {"post": _post(summary, form, answer), "parameters": [_name(names)]}
    for path, (summary, answer) in GETS.items():
        refused = (401, 404) if "{" in path else (401,) if path == "/models" else ()
        paths[path] = {"get": {"summary": summary, "responses": _responses(answer, refused)}}
        if "{" in path:
            paths[path]["parameters"] = [_name(names)]
    text = {"description": "Counts in the text format of Prometheus.", "content": {"text/plain": {"schema": {}}}}
    paths["/metrics"] = {"get": {"summary": "Give the metrics", "responses": {"200": text, "401": _refusal(401)}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "sapo serve", "version": __version__, "description": "Tag text with trained models."},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],  # a token only where the server was started with one
    }


def _post(summary: str, form: type, answer: type) -> dict[str, Any]:
    body = {"required": True, "content": {"application/json": {"schema": _schema(form)}}}
    return {"summary": summary, "requestBody": body, "responses": _responses(answer, tuple(REFUSALS))}


def _responses(answer: type, refused: tuple[int, ...]) -> dict[str, Any]:
    good = {"description": "The answer.", "content": {"application/json": {"schema": _schema(answer)}}}
    return {"200": good, **{str(status): _refusal(status) for status in refused}}


def _refusal(status: int) -> dict[str, Any]:
    content = {"application/json": {"schema": _schema(ErrorAnswer)}}
    return {"description": REFUSALS[status], "content": content}


def _schema(form: type) -> dict[str, str]:
    return {"$ref": REFERENCE.format(name=form.__name__)}


def _name(names: list[str]) -> dict[str, Any]:
    return {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "enum": names}}
