"""Define the requests and answers of the page, their paths, and their description in OpenAPI."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec

from sapo import __version__
from sapo.apps.serve.messages import REFERENCE, ErrorAnswer, F, Form
from sapo.errors import SapoError

MOST = 200  # sentences of one answer, or on one screen
Id = Annotated[int, msgspec.Meta(ge=1, le=1 << 53)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Tag = Annotated[str, msgspec.Meta(min_length=1, max_length=110)]
Ids = Annotated[list[Id], msgspec.Meta(max_length=MOST)]
Order = Literal["least-sure", "different", "random", "in-order"]
Format = Literal["columns", "conllu", "jsonl", "doccano", "prodigy", "label-studio"]
FORMATS: list[str] = list(Format.__args__)  # type: ignore[attr-defined]
ORDERS: list[str] = list(Order.__args__)  # type: ignore[attr-defined]


class Asked(Form):
    """A GET request without parameters."""


class SentencesForm(Form):
    """Ask for the next sentences. Only in-order goes through all of them, with `after` the last one of a page."""

    order: Order = "in-order"
    state: Literal["open", "accepted", "all"] = "open"
    count: Annotated[int, msgspec.Meta(ge=1, le=MOST)] = 50
    after: Annotated[int, msgspec.Meta(ge=0, le=1 << 53)] = 0
    author: Name | None = None  # sentences that others have locked are left out
    second: Annotated[int, msgspec.Meta(ge=0, le=1)] = 0  # 1: sentences that only others have accepted, without tags
    ids: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,15}(,[0-9]{1,15}){0,199}$")] | None = None  # only these


class NBestForm(Form):
    """Ask for the n best taggings of a sentence."""

    n: Annotated[int, msgspec.Meta(ge=1, le=50)] = 5


class ExplainForm(Form):
    """Ask why a token (the first is 0) has its tag."""

    token: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
    top: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10


class ExportForm(Form):
    """Ask for all accepted sentences as a file."""

    format: Format = "jsonl"


class EventsForm(Form):
    """Ask for what happens after an event."""

    after: Annotated[int, msgspec.Meta(ge=0, le=1 << 53)] | None = None


class UndoForm(Form):
    """Take back, or bring back, what this person accepted last."""

    author: Name
    visible: Ids = msgspec.field(default_factory=list)
    version: int | None = None  # of the model, on the screen


class AcceptForm(UndoForm, kw_only=True):  # type: ignore[call-arg]
    """Accept a sentence with these tags, and ask for what changed on the screen."""

    id: Id
    tags: Annotated[list[Tag], msgspec.Meta(max_length=1_000_000)]


class LabelForm(Form):
    """Add a label."""

    name: Name
    author: Name = "page"


class LockForm(Form):
    """Take, renew or give back a sentence."""

    id: Id
    author: Name


class Whole(msgspec.Struct, kw_only=True):  # type: ignore[call-arg]
    """An answer, or a part of one, with all of its fields."""


class SpanView(Whole):
    """The tokens from, ..., to - 1 of a sentence, and their label."""

    start: int = msgspec.field(name="from")
    end: int = msgspec.field(name="to")
    label: str
    probability: float


class View(Whole):
    """A sentence as the page shows it; tokens are (start, end) in code points of the text."""

    id: int
    text: str
    tokens: tuple[tuple[int, int], ...]
    tags: tuple[str, ...]
    spans: list[SpanView]
    probabilities: list[float]  # of the tags
    sure: float
    state: str
    by: str | None
    lock: str | None
    version: int


class Counts(Whole):
    """How much is done."""

    sentences: int
    accepted: int
    by_label: dict[str, int]


class ModelView(Whole):
    """The model: `learned` counts sentences since the server began; `training` says that it is trained anew."""

    version: int
    learned: int
    training: bool
    temperature: float
    problem: str | None


class PointView(Whole):
    """A point of the curve."""

    accepted: int
    score: float
    sure: float


class ProjectAnswer(Whole):
    """The project. `seq` is its last event."""

    name: str
    kind: str
    labels: list[str]
    people: list[str]
    counts: Counts
    orders: list[str]
    formats: list[str]  # to export
    model: ModelView
    curve: list[PointView]
    seq: int


class SentencesAnswer(Whole):
    """Sentences, and how many there are in all of this state."""

    sentences: list[View]
    total: int


class ChangeAnswer(Whole):
    """What accept, undo and redo have changed; the sentence is null if there was nothing to take back."""

    sentence: View | None
    changed: list[View]
    curve_point: PointView | None
    counts: Counts
    model: ModelView
    labels: list[str]
    seq: int


class TaggingView(Whole):
    """One of the n best taggings; its probability is over all taggings."""

    tags: tuple[str, ...]
    spans: list[SpanView]
    probability: float


class NBestAnswer(Whole):
    """The best taggings of a sentence, best first."""

    taggings: list[TaggingView]


class WeightView(Whole):
    """What a feature adds to the difference between two labels."""

    feature: str
    weight: float


class ExplainAnswer(Whole):
    """What speaks for the label of a token, and what for the next best one."""

    token: int
    label: str
    other: str
    speaks_for: list[WeightView] = msgspec.field(name="for")
    against: list[WeightView]


class LockAnswer(Whole):
    """Who holds a sentence now."""

    lock: str | None


class SlipView(Whole):
    """An accepted sentence that the model would tag in another way."""

    sentence: View
    model_tags: tuple[str, ...]
    probability: float


class SlipsAnswer(Whole):
    """Likely slips, those that the model is surest of first."""

    slips: list[SlipView]


class DisagreementView(Whole):
    """A sentence that people tagged differently."""

    id: int
    text: str
    sentence: View
    by: dict[str, tuple[str, ...]]


class DisagreementsAnswer(Whole):
    """Where people disagree, and Cohen's kappa over all tokens of the `both` sentences that several accepted."""

    items: list[DisagreementView]
    kappa: float | None
    both: int


def read_query(query: dict[str, Any], form: type[F]) -> F:
    """Read the parameters of a GET request. Raise SapoError if there is another one, or a value is wrong."""
    try:
        return msgspec.convert(query, form, strict=False)
    except msgspec.ValidationError as error:
        raise SapoError(f"the request does not have the expected form: {error}") from None


ID = "{id}"


@dataclass(frozen=True, slots=True)
class Path:
    """A path: what it does, the form of its request, and that of its answer."""

    summary: str
    form: type[Form]
    answer: Any


GETS = {
    "/api/project": Path("Describe the project", Asked, ProjectAnswer),
    "/api/sentences": Path("Give the next sentences", SentencesForm, SentencesAnswer),
    "/api/sentences/{id}/nbest": Path("Find the n best taggings", NBestForm, NBestAnswer),
    "/api/sentences/{id}/explain": Path("Explain a tag", ExplainForm, ExplainAnswer),
    "/api/slips": Path("List accepted sentences that the model contradicts", Asked, SlipsAnswer),
    "/api/disagreements": Path("List where people disagree", Asked, DisagreementsAnswer),
}
POSTS = {
    "/api/accept": Path("Accept a sentence", AcceptForm, ChangeAnswer),
    "/api/undo": Path("Take back the last sentence", UndoForm, ChangeAnswer),
    "/api/redo": Path("Bring back the last sentence", UndoForm, ChangeAnswer),
    "/api/labels": Path("Add a label", LabelForm, ProjectAnswer),
    "/api/lock": Path("Lock a sentence", LockForm, LockAnswer),
    "/api/unlock": Path("Give a sentence back", LockForm, LockAnswer),
}
EXPORT = "/api/export"
EVENTS = "/api/events"


def parse_path(path: str) -> tuple[str, int | None]:
    """Return a path with {id} for the number of the sentence, and this number.

    >>> parse_path("/api/sentences/12/nbest"), parse_path("/api/project")
    (('/api/sentences/{id}/nbest', 12), ('/api/project', None))
    """
    parts = path.split("/")
    if len(parts) == 5 and parts[1:3] == ["api", "sentences"] and parts[3].isdecimal() and len(parts[3]) < 16:
        return "/".join([*parts[:3], ID, parts[4]]), int(parts[3])
    return path, None


REFUSALS = {
    401: "The token is missing or wrong.",
    403: "The request comes from another site.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "The request has a mistake.",
    500: "The server has a mistake.",
    503: "The server has too many requests; try again.",
    504: "The answer took too long.",
}


def document() -> dict[str, Any]:
    """Return the description."""
    everything = [*GETS.values(), *POSTS.values()]
    forms = [one.form for one in POSTS.values()] + [one.answer for one in everything] + [ErrorAnswer]
    _, schemas = msgspec.json.schema_components(forms, ref_template=REFERENCE)
    paths: dict[str, Any] = {name: {"get": _get(name, path)} for name, path in GETS.items()}
    for name, path in POSTS.items():
        body = {"required": True, "content": {"application/json": {"schema": _schema(path.form)}}}
        paths[name] = {"post": {"summary": path.summary, "requestBody": body, "responses": _responses(path.answer)}}
    file = {"description": "The file.", "content": {"application/octet-stream": {"schema": {}}}}
    events = {"description": "Server-sent events.", "content": {"text/event-stream": {"schema": {}}}}
    for name, form, answer in ((EXPORT, ExportForm, file), (EVENTS, EventsForm, events)):
        refused = {str(status): _refusal(status) for status in REFUSALS}
        paths[name] = {"get": {"parameters": _parameters(form), "responses": {"200": answer, **refused}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "sapo teach", "version": __version__, "description": "Teach a tagger."},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],  # a token only where the server was started with one
    }


def _get(name: str, path: Path) -> dict[str, Any]:
    parameters = _parameters(path.form)
    if "{id}" in name:
        number = {"type": "integer", "minimum": 1, "maximum": 10**15 - 1}
        parameters.append({"name": "id", "in": "path", "required": True, "schema": number})
    return {"summary": path.summary, "parameters": parameters, "responses": _responses(path.answer)}


def _parameters(form: type) -> list[dict[str, Any]]:
    """Return the fields of a form as parameters of a query."""
    (reference,), schemas = msgspec.json.schema_components([form], ref_template=REFERENCE)
    schema = schemas[reference["$ref"].rpartition("/")[2]]
    required = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _plain(one)}
        for name, one in schema["properties"].items()
    ]


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter, which is left out rather than null."""
    kinds = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    return {**kinds[0]} if kinds else {key: value for key, value in schema.items() if key != "default" or value}


def _responses(answer: Any) -> dict[str, Any]:
    good = {"description": "The answer.", "content": {"application/json": {"schema": _schema(answer)}}}
    return {"200": good, **{str(status): _refusal(status) for status in REFUSALS}}


def _refusal(status: int) -> dict[str, Any]:
    content = {"application/json": {"schema": _schema(ErrorAnswer)}}
    return {"description": REFUSALS[status], "content": content}


def _schema(form: Any) -> dict[str, str]:
    return {"$ref": REFERENCE.format(name=form.__name__)}
