"""Define the requests and answers of the server, and describe them in OpenAPI."""

from typing import Annotated, Any, Literal

import msgspec

from sapo.apps.http import REFUSALS, Form, Operation, describe

Feature = str | bool | int | float | list[str]
Token = str | list[str] | dict[str, Feature]  # a word, its columns, or ready-made features
Number = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


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


class UDRequest(Form):
    """Ask for tokens, words, tags, lemmas and trees: of a text, of several, or of sentences that are cut into words."""

    text: str | None = None
    texts: list[str] | None = None
    sentences: list[list[str]] | None = None
    format: Literal["json", "conllu"] = "json"


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


class UDTokenAnswer(Answer):
    """A token, with the words `first` up to, but not including, `last`. In a text it is `text[start:end]`."""

    text: str
    first: int
    last: int
    start: int | None = None
    end: int | None = None


class UDWordAnswer(Answer):
    """A word; `head` is the number of another word, from 1, or 0 for the root. "_" stands for what it does not have."""

    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: int
    deprel: str


class UDSentenceAnswer(Answer):
    """A sentence; `index` counts the texts or sentences of the request, from 0."""

    index: int
    tokens: list[UDTokenAnswer]
    words: list[UDWordAnswer]


class UDAnswer(Answer):
    """The sentences of a request, in order. A text may have several."""

    model: str
    sentences: list[UDSentenceAnswer]


class ModelAnswer(Answer):
    """A model that is being served: a tagger, or a UD pipeline, whose labels are UPOS."""

    name: str
    kind: Literal["tagger", "ud"]
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


MODEL = "/models/{name}"
CONLLU = "text/plain"  # the content type of an answer in CoNLL-U
REQUESTS = {
    "tag": ("Tag text or tokens", TagRequest, SentencesAnswer),
    "nbest": ("Find the n best taggings", NBestRequest, SentencesAnswer),
    "marginals": ("Give the probability of each label", MarginalsRequest, SentencesAnswer),
    "explain": ("Explain a tag", ExplainRequest, ExplainAnswer),
    "ud": ("Annotate text with a UD pipeline", UDRequest, (UDAnswer, CONLLU)),
}
REFUSED = [status for status in REFUSALS if status != 409]  # which is for pages
OPERATIONS = {
    **{
        f"/{kind}": Operation("POST", f"{summary}, with the first model", form, answer, REFUSED)
        for kind, (summary, form, answer) in REQUESTS.items()
    },
    **{
        f"{MODEL}/{kind}": Operation("POST", summary, form, answer, REFUSED)
        for kind, (summary, form, answer) in REQUESTS.items()
    },
    "/models": Operation("GET", "List the models", None, ModelsAnswer, [401, 403], at_once=True),
    MODEL: Operation("GET", "Describe a model", None, ModelAnswer, [401, 403, 404], at_once=True),
    "/health": Operation("GET", "Say that the server runs", None, HealthAnswer, [403], at_once=True),
    "/ready": Operation("GET", "Say whether the server takes requests", None, ReadyAnswer, [403], at_once=True),
    "/metrics": Operation("GET", "Give counts for Prometheus", None, "text/plain", [401, 403], at_once=True),
    "/openapi.json": Operation("GET", at_once=True),
}


def document(names: list[str]) -> dict[str, Any]:
    """Return the description of a server with models of these names."""
    parameter = {"type": "string", "enum": names}
    return describe("sapo serve", "Tag text with trained models.", OPERATIONS, parameter)
