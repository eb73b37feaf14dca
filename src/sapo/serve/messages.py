"""The forms of requests and answers. msgspec reads them from JSON, checks them and describes them for OpenAPI."""

from typing import Annotated, Any, TypeVar

import msgspec

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
    """One of the n best taggings; `probability` is among these n, `exact_probability` among all taggings."""

    tags: list[str]
    probability: float
    exact_probability: float
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
