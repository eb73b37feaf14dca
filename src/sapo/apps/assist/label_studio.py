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

from sapo.apps.assist.helper import Foreign, Helper, Route, Suggestion, document_of
from sapo.apps.limits import RequestLimits
from sapo.corpus.annotations import CharSpan
from sapo.corpus.exchange.documents import Document
from sapo.corpus.exchange.label_studio import label_of, make_results, read_span
from sapo.errors import SapoError

LEARN = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_CREATED")
SAVE = "START_TRAINING"


class Annotation(Foreign):
    """What a person marked in a task."""

    result: list[dict[str, Any]] | None = None
    was_cancelled: bool | None = None


class Task(Foreign):
    """A text, under some key of `data`."""

    data: dict[str, Any]
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
                f"no label of the project is one of the model, {', '.join(self._helper.labels)[:200]}; "
                "use these in the labeling interface"
            )
        return {"model_version": self._helper.version}

    def _versions(self) -> dict[str, Any]:
        return {"versions": [self._helper.version], "message": "done"}

    def _predict(self, request: PredictRequest) -> dict[str, Any]:
        names = read_config(request.label_config)
        texts = [text_of(task, names) for task in request.tasks]
        self._limits.check_tokens(sum(len(text.split()) for text in texts))
        version = self._helper.version
        found = zip(texts, self._helper.suggest(texts), strict=True)
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
        documents = [_document(task, one, names) for task, one in pairs if not one.was_cancelled]
        learned = self._helper.learn(documents)
        return {"status": "ok", "learned": learned, "model_version": self._helper.version}


def read_config(config: str | None) -> Names:
    """Return the names of the first labels for a text in a labeling configuration. Raise SapoError if there are none.

    >>> names = read_config('<View><Labels name="ner" toName="t"><Label value="PER"/></Labels>'
    ...                     '<Text name="t" value="$body"/></View>')
    >>> names.labels, names.text, names.key, sorted(names.known)
    ('ner', 't', 'body', ['PER'])
    """
    if not config or not config.strip():
        return Names()
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
    text = task.data.get(names.key)
    if not isinstance(text, str):
        raise SapoError(f"task {task.id}: expected a text under '{names.key}', found {text!r:.60}")
    return text


def _prediction(text: str, found: Suggestion, names: Names, version: str) -> dict[str, Any]:
    marks = [one for one in found.marks if names.known is None or one.label in names.known]
    spans = [CharSpan(one.start, one.end, one.label) for one in marks]
    results = make_results(text, spans, [one.probability for one in marks], (names.labels, names.text))
    return {"result": results, "score": round(found.sure, 6), "model_version": version}


def _document(task: Task, annotation: Annotation, names: Names) -> Document:
    text, place = text_of(task, names), f"task {task.id}"
    spans = []
    for region in annotation.result or ():
        value = region.get("value")
        if region.get("from_name", names.labels) == names.labels and isinstance(value, dict) and label_of(value):
            spans.append(read_span(text, value, place))
    return document_of(place, text, [(span.start, span.end, span.type) for span in spans])


def _listed(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]
