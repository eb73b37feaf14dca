"""Define the requests and answers of the page, their paths, and their description in OpenAPI."""

from typing import Annotated, Any, Literal

import msgspec

from sapo.apps.http import EVENT_STREAM, REFUSALS, Form, Operation, describe

MOST = 200  # sentences of one answer, or on one screen
Id = Annotated[int, msgspec.Meta(ge=1, le=1 << 53)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Tag = Annotated[str, msgspec.Meta(min_length=1, max_length=110)]
Place = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]  # a code point of the text
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
    cuts: Annotated[list[Place], msgspec.Meta(max_length=1000)] = msgspec.field(default_factory=list)  # inside tokens


class LabelForm(Form):
    """Add a label."""

    name: Name
    author: Name = "page"


class NameForm(LabelForm, kw_only=True):  # type: ignore[call-arg]
    """Add a name to a list, which is named by its kind."""

    list: Name


class UnlockForm(Form):
    """Give a sentence back."""

    id: Id
    author: Name


class LockForm(UnlockForm, kw_only=True):  # type: ignore[call-arg]
    """Lock a sentence, or renew the lock; with `take`, take it over from another person."""

    take: bool = False


class Whole(msgspec.Struct, kw_only=True):  # type: ignore[call-arg]
    """An answer, or a part of one, with all of its fields."""


class SpanView(Whole):
    """The tokens from, ..., to - 1 of a sentence, and their label."""

    start: int = msgspec.field(name="from")
    end: int = msgspec.field(name="to")
    label: str
    probability: float


class SentenceView(Whole):
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


class CountsView(Whole):
    """How much is done."""

    sentences: int
    accepted: int
    by_label: dict[str, int]


class ModelView(Whole):
    """The model: `learned` counts sentences since the server began; `training` says that it is being retrained."""

    version: int
    learned: int
    training: bool
    temperature: float
    problem: str | None


class PointView(Whole):
    """A point of the curve: the score of the last sentences, and the score that the model itself expected."""

    accepted: int
    score: float
    sure: float


class ProjectAnswer(Whole):
    """The project. `seq` is its last event."""

    name: str
    kind: str
    labels: list[str]
    lists: list[str]  # of names, by their kind
    people: list[str]
    counts: CountsView
    orders: list[str]
    formats: list[str]  # to export
    model: ModelView
    curve: list[PointView]
    seq: int


class SentenceViews(Whole):
    """Sentences, and how many there are in all of this state."""

    sentences: list[SentenceView]
    total: int


class ChangeAnswer(Whole):
    """What accept, undo and redo have changed; the sentence is null if there was nothing to take back."""

    sentence: SentenceView | None
    changed: list[SentenceView]
    curve_point: PointView | None
    counts: CountsView
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


class ExplanationView(Whole):
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

    sentence: SentenceView
    model_tags: tuple[str, ...]
    probability: float


class SlipsAnswer(Whole):
    """Likely slips, those that the model is surest of first."""

    slips: list[SlipView]


class DisagreementView(Whole):
    """A sentence that people tagged differently."""

    id: int
    text: str
    sentence: SentenceView
    by: dict[str, tuple[str, ...]]


class DisagreementsAnswer(Whole):
    """Where people disagree, and Cohen's kappa over all tokens of the `both` sentences that several accepted."""

    items: list[DisagreementView]
    kappa: float | None
    both: int


ACCEPT, EXPORT, EVENTS = "/api/accept", "/api/export", "/api/events"
NBEST, EXPLAIN = "/api/sentences/{id}/nbest", "/api/sentences/{id}/explain"
REFUSED = [status for status in REFUSALS if status not in (404, 409)]
OPERATIONS = {
    "/api/project": Operation("GET", "Describe the project", Asked, ProjectAnswer, REFUSED),
    "/api/sentences": Operation("GET", "Give the next sentences", SentencesForm, SentenceViews, REFUSED),
    NBEST: Operation("GET", "Find the n best taggings", NBestForm, NBestAnswer, REFUSED),
    EXPLAIN: Operation("GET", "Explain a tag", ExplainForm, ExplanationView, REFUSED),
    "/api/slips": Operation("GET", "List accepted sentences that the model contradicts", Asked, SlipsAnswer, REFUSED),
    "/api/disagreements": Operation("GET", "List where people disagree", Asked, DisagreementsAnswer, REFUSED),
    EXPORT: Operation("GET", "Export the accepted sentences", ExportForm, "application/octet-stream", REFUSED),
    EVENTS: Operation("GET", "Listen to events", EventsForm, EVENT_STREAM, REFUSED, at_once=True),
    ACCEPT: Operation("POST", "Accept a sentence", AcceptForm, ChangeAnswer, [*REFUSED, 409]),
    "/api/undo": Operation("POST", "Take back the last sentence", UndoForm, ChangeAnswer, [*REFUSED, 409]),
    "/api/redo": Operation("POST", "Bring back the last sentence", UndoForm, ChangeAnswer, [*REFUSED, 409]),
    "/api/labels": Operation("POST", "Add a label", LabelForm, ProjectAnswer, REFUSED),
    "/api/names": Operation("POST", "Add a name to a list", NameForm, ProjectAnswer, REFUSED),
    "/api/lock": Operation("POST", "Lock a sentence", LockForm, LockAnswer, REFUSED),
    "/api/unlock": Operation("POST", "Give a sentence back", UnlockForm, LockAnswer, REFUSED),
    "/openapi.json": Operation("GET", at_once=True),
}


def document() -> dict[str, Any]:
    """Return the description of the page's server."""
    number = {"type": "integer", "minimum": 1, "maximum": 10**15 - 1}
    return describe("sapo teach", "Teach a tagger.", OPERATIONS, number)
