"""Answer the ML backend protocol of Label Studio: predictions of tasks, and annotations to learn from.

    POST /predict   {"tasks": [{"id": 1, "data": {"text": "…"}}], "label_config": "<View>…</View>", …}
                    → {"results": [{"result": [region, …], "score": 0.9, "model_version": "ner-812"}]}
    POST /webhook   {"action": "ANNOTATION_CREATED", "task": {…}, "annotation": {"result": [region, …]}, …}
    POST /setup, /train; GET /, /health, /versions

A region is what corpus/exchange/label_studio.py reads and writes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import msgspec

from sapo.apps.assist.helper import Foreign, Helper, Route, Suggestion, document_of
from sapo.apps.limits import RequestLimits, TokenCount
from sapo.corpus.annotations import CharSpan
from sapo.corpus.exchange.documents import Document
from sapo.corpus.exchange.format import from_browser, has_wide
from sapo.corpus.exchange.label_studio import label_of, make_results, read_span
from sapo.errors import SapoError

LEARN = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_CREATED")
SAVE = "START_TRAINING"
LONGEST_CONFIG = 1_000_000  # characters


class Region(Foreign):
    """A part of an annotation: spans of a text have a value with labels."""

    value: msgspec.Raw = msgspec.Raw(b"null")  # read when it is needed: anything may be in it
    from_name: str | None = None


class Annotation(Foreign):
    """What a person marked in a task."""

    result: list[Region] | None = None
    was_cancelled: bool | None = None


class Task(Foreign):
    """A text, under some key of `data`."""

    data: dict[str, msgspec.Raw]
    id: int | str | None = None
    annotations: list[Annotation] | None = None


class Project(Foreign):
    """What events say about the project."""

    label_config: str | None = None


class SetupRequest(Foreign):
    """Sent when somebody connects the backend, or looks at its state."""

    schema: str | None = None


class PredictRequest(Foreign):
    """Ask for predictions of tasks."""

    tasks: list[Task]
    label_config: str | None = None


class WebhookEvent(Foreign):
    """Something happened in the project."""

    action: str
    task: Task | list[Task] | None = None
    annotation: Annotation | list[Annotation] | None = None
    project: Project | None = None


class TrainRequest(Foreign):
    """All tasks that have annotations, as older versions send them."""

    annotations: list[Task]
    label_config: str | None = None


@dataclass(frozen=True, slots=True)
class Names:
    """What things are called in a project: the labels, the text, its key in the data of a task."""

    labels: str = "label"
    text: str = "text"
    key: str = "text"
    known: frozenset[str] | None = None  # labels that can be chosen, or None if they come with the task


class LabelStudio:
    """Answers Label Studio with a helper."""

    def __init__(self, helper: Helper, limits: RequestLimits) -> None:
        self._helper, self._limits = helper, limits
        self.gets: Mapping[str, Callable[[], Any]] = {
            "/": self._health,
            "/health": self._health,
            "/versions": self._versions,
        }
        self.posts: Mapping[str, Route] = {
            "/setup": Route(SetupRequest, self._setup),
            "/predict": Route(PredictRequest, self._predict),
            "/webhook": Route(WebhookEvent, self._event, 201),
            "/train": Route(TrainRequest, self._train, 201),
        }

    def _health(self) -> dict[str, Any]:
        return {"status": "UP", "model_class": "sapo"}

    def _setup(self, request: SetupRequest) -> dict[str, Any]:
        names = read_config(request.schema)
        shared = self._helper.labels if names.known is None else names.known.intersection(self._helper.labels)
        if not shared:
            raise SapoError(
                "the project and the model have no label in common; use labels of the model in the labeling interface: "
                f"{', '.join(self._helper.labels)[:200]}"
            )
        return {"model_version": self._helper.version}

    def _versions(self) -> dict[str, Any]:
        return {"versions": [self._helper.version], "message": "done"}

    def _predict(self, request: PredictRequest) -> dict[str, Any]:
        names = read_config(request.label_config)
        self._limits.check_tokens(len(request.tasks))
        texts = [text_of(task, names) for task in request.tasks]
        version = self._helper.version
        found = zip(texts, self._helper.suggest(texts, TokenCount(self._limits)), strict=True)
        return {"results": [_prediction(text, one, names, version) for text, one in found], "model_version": version}

    def _event(self, event: WebhookEvent) -> dict[str, Any]:
        if event.action == SAVE:
            self._helper.save()
            return {"status": "ok"}
        if event.action not in LEARN:
            return {"status": "ok", "learned": 0}
        tasks, annotations = _listed(event.task), _listed(event.annotation)
        names = read_config(event.project.label_config if event.project else None)
        pairs = zip(tasks, annotations, strict=True) if len(tasks) == len(annotations) else ()
        return self._learn([(task, one) for task, one in pairs], names)

    def _train(self, request: TrainRequest) -> dict[str, Any]:
        pairs = [(task, one) for task in request.annotations for one in (task.annotations or ())[:1]]
        return self._learn(pairs, read_config(request.label_config))

    def _learn(self, pairs: Sequence[tuple[Task, Annotation]], names: Names) -> dict[str, Any]:
        count = TokenCount(self._limits.for_training())
        documents = [self._document(task, one, names, count) for task, one in pairs if not one.was_cancelled]
        learned = self._helper.learn(documents)
        return {"status": "ok", "learned": learned, "model_version": self._helper.version}

    def _document(self, task: Task, annotation: Annotation, names: Names, count: TokenCount) -> Document:
        text, place = text_of(task, names), f"task {task.id}"
        sentences = list(count(self._helper.cut(text)))
        return document_of(place, text, _spans(text, annotation.result or (), names.labels, place), sentences)


def read_config(config: str | None) -> Names:
    """Return the names of the first labels for a text in a labeling configuration. Raise SapoError if there are none.

    >>> names = read_config('<View><Labels name="ner" toName="t"><Label value="PER"/></Labels>'
    ...                     '<Text name="t" value="$body"/></View>')
    >>> names.labels, names.text, names.key, sorted(names.known)
    ('ner', 't', 'body', ['PER'])
    """
    if not config or not config.strip():
        return Names()
    if len(config) > LONGEST_CONFIG:
        raise SapoError(f"the labeling configuration may have {LONGEST_CONFIG:,} characters, not {len(config):,}")
    if "<!" in config.replace("<!--", ""):  # a declaration could define entities that grow without end
        raise SapoError("the labeling configuration must not have declarations such as <!DOCTYPE>")
    try:
        root = ElementTree.fromstring(config)
    except (ElementTree.ParseError, ValueError) as error:
        raise SapoError(f"the labeling configuration is not XML: {error}") from None
    texts = {one.get("name"): one.get("value", "$text") for one in root.iter() if one.tag in ("Text", "HyperText")}
    for labels in root.iter():
        target = labels.get("toName", "")
        if labels.tag in ("Labels", "HyperTextLabels") and target in texts:
            known = frozenset(one.get("value", "") for one in labels.iter("Label"))
            key = texts[target].removeprefix("$")
            return Names(labels.get("name", "label"), target, key, None if labels.get("value") else known)
    raise SapoError("the labeling configuration has no <Labels> for a <Text>; sapo marks spans of text")


def text_of(task: Task, names: Names) -> str:
    """Return the text of a task. Raise SapoError if it has none."""
    place = f"task {task.id}"
    text = _decoded(task.data[names.key], place) if names.key in task.data else None
    if not isinstance(text, str):
        raise SapoError(f"{place}: expected a text under '{names.key}', found {text!r:.60}")
    return text


def _prediction(text: str, found: Suggestion, names: Names, version: str) -> dict[str, Any]:
    marks = [one for one in found.marks if names.known is None or one.label in names.known]
    spans = [CharSpan(one.start, one.end, one.label) for one in marks]
    results = make_results(text, spans, [one.probability for one in marks], (names.labels, names.text))
    return {"result": results, "score": round(found.sure, 6), "model_version": version}


def _spans(text: str, regions: Sequence[Region], labels: str, place: str) -> list[CharSpan]:
    """Return the spans of regions with labels of this name."""
    spans: list[CharSpan] = []
    marked: dict[int, str] = {}  # the texts of spans that are not there
    wide = has_wide(text)
    for region in regions:
        value = None if region.from_name not in (None, labels) else _decoded(region.value, place)
        if isinstance(value, dict) and label_of(value):
            own = value.pop("text", None)
            spans.append(read_span(text, value, place))
            if wide and isinstance(own, str) and not _is_at(text, spans[-1], own):
                marked[len(spans) - 1] = own
    moved = from_browser(text, [spans[at] for at in marked])  # as versions before 1.5 counted; once for all of them
    for (at, own), span in zip(marked.items(), moved, strict=True):
        if _is_at(text, span, own):
            spans[at] = span
    return spans


def _is_at(text: str, span: CharSpan, marked: str) -> bool:
    return len(marked) == span.end - span.start and text.startswith(marked, span.start)


def _decoded(given: msgspec.Raw, place: str) -> Any:
    try:
        return msgspec.json.decode(given)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise SapoError(f"{place}: not JSON: {error}") from None


def _listed(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]
