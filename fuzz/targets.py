"""What is tried: for each reader a function that takes bytes, and inputs to begin with.

A target may raise SapoError, for this is how a mistake is told. Anything else is a finding.
"""

import contextlib
import dataclasses
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sapo
from sapo.check import examine
from sapo.corpus import read
from sapo.corpus.sample import sample_path
from sapo.encode.presets import PRESETS, template_text
from sapo.encode.template import parse_templates
from sapo.errors import SapoError
from sapo.model import model_bytes, model_from_bytes
from sapo.model.diff import changes
from sapo.model.inspect import describe
from sapo.neural.vectors import read_vectors
from sapo.render.diff import changes_text
from sapo.render.inspection import describe_text
from sapo.tagger.explain import explain
from sapo.tags import Constraints, bans_of
from sapo.teach.events import ACCEPT, LABEL, UNDO, Draft
from sapo.teach.sentences import TaughtSentence
from sapo.teach.store import Beginning, Store, create
from sapo.training.plan import make_plan
from sapo.training.rules import read_rules
from sapo.training.run import start
from sapo.training.update import Trainer

GOLDEN = Path(__file__).parent.parent / "tests" / "golden"
LABELS = ["O", "B-NP", "I-NP", "B-VP", "NN"]
TRAINING = [(["the", "cat", "sleeps"], ["DT", "NN", "VB"]), (["a", "dog"], ["DT", "NN"])] * 2
LEARNERS = ("sapo", "sapo-avg", "crf", "crf-lbfgs", "crfsuite-l2sgd", "crfsuite-ap", "crfsuite-arow")
RUN: dict[str, Any] = {"template": "pos", "rate": 0.1, "strength": 1.0, "tolerance": 0.0, "seed": 1}


@dataclasses.dataclass(frozen=True)
class Target:
    """A reader, inputs to begin with, and whether inputs are files of arrays with a checksum."""

    use: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    arrays: bool = False


def _file(name: str, data: bytes) -> Path:
    path = Path(_room()) / name
    path.write_bytes(data)
    return path


_rooms: list[tempfile.TemporaryDirectory[str]] = []


def _room() -> str:
    if not _rooms:
        base = "/dev/shm" if Path("/dev/shm").is_dir() else None
        _rooms.append(tempfile.TemporaryDirectory(prefix="sapo-fuzz-", dir=base))
    return _rooms[0].name


def _corpus(format: str, name: str) -> Callable[[bytes], None]:
    def use(data: bytes) -> None:
        path = _file(name, data)
        for labelled in (True, False):
            try:
                for number, _ in enumerate(read(path, format=format, labelled=labelled)):
                    if number > 1000:
                        break
            except SapoError:
                pass

    return use


def _check(data: bytes) -> None:
    examine([_file("check.txt", data)])


def _tag_text(data: bytes) -> None:
    tagger = _golden("many-labels-2.sapo")
    for sentence in tagger.tag_text(data.decode("utf-8", "replace")[:5000]).sentences:
        assert len(sentence.tokens) == len(sentence.tags)


_taggers: dict[str, sapo.Tagger] = {}


def _golden(name: str) -> sapo.Tagger:
    if name not in _taggers:
        _taggers[name] = sapo.Tagger.load(GOLDEN / name)
    return _taggers[name]


def _template(data: bytes) -> None:
    parse_templates(data.decode("utf-8", "replace"), ["word", "pos", "chunk", "label"])
    template_text(_file("template.txt", data))


def _rules(data: bytes) -> None:
    bans_of(Constraints(rules=tuple(read_rules(_file("rules.txt", data)))), LABELS)


def _vectors(data: bytes) -> None:
    read_vectors(_file("vectors.txt", data))


def _model(data: bytes) -> None:
    """Load a model, and do with it what commands do."""
    tagger = sapo.Tagger(model_from_bytes(data))
    model = tagger.model
    describe_text({"file": "x", "megabytes": 0.0, **describe(model, top=2)})
    if model.encoder.linear:
        changes_text({"file": "x", "old_file": "x", **changes(model, model, top=2)})
        model_from_bytes(model_bytes(model))
    names = list(tagger.columns)
    sentences: list[list[Any]] = [[{"word": "cat", "length": 3.0}, {"word": "x"}]]
    if names:
        sentences = [["cat", "and", "unknown"], ["w3"]]
    if len(names) > 1:
        sentences = [[(word, *["NN"] * (len(names) - 1)) for word in sentence] for sentence in sentences]
    for sentence in sentences:
        assert len(tagger.tag(sentence)) == len(sentence)
        tagger.nbest(sentence, 3)
        tagger.marginals(sentence)
        _told(lambda sentence=sentence: tagger.tag(sentence, forced={0: tagger.labels[0]}))
        if len(model.labels) < 50:
            _told(lambda sentence=sentence: explain(tagger, sentence, 0))
    _told(lambda: tagger.tag_text("Mr. cat didn't pay. He left!"))
    if model.encoder.linear:
        _told(lambda: _go_on(tagger, sentences))


def _go_on(tagger: sapo.Tagger, sentences: list[list[Any]]) -> None:
    trainer = Trainer(tagger)
    trainer.update([(sentence, [tagger.labels[0]] * len(sentence)) for sentence in sentences], epochs=2)
    trainer.tagger.tag(sentences[0])
    model_bytes(trainer.snapshot().model)


def _project(data: bytes) -> None:
    """Open a project, and write to it."""
    path = _file("a.teach", data)
    try:
        store = Store(path)
        try:
            store.write(lambda state: [Draft(ACCEPT, "anna", 1, ("B-X", "O"))])
            store.snapshot()
        finally:
            store.close()
    finally:
        for end in ("-wal", "-shm", "-journal"):
            path.with_name(path.name + end).unlink(missing_ok=True)


def _project_seed() -> list[bytes]:
    path = Path(_room()) / "seed.teach"
    path.unlink(missing_ok=True)
    events = [Draft(LABEL, "anna", name="X"), Draft(ACCEPT, "anna", 1, ("B-X", "O")), Draft(UNDO, "anna", 1)]
    sentences = [TaughtSentence("Ann sees", ((0, 3), (4, 8)))] * 20
    create(path, Beginning("spans", sentences, events, (GOLDEN / "templates-2.sapo").read_bytes()[:500]))
    return [path.read_bytes()]


def _told(use: Callable[[], object]) -> None:
    with contextlib.suppress(SapoError):
        use()


def _checkpoint(learner: str) -> Callable[[bytes], None]:
    def use(data: bytes) -> None:
        path = _file("run.state", data)
        plan = make_plan(TRAINING, learner=learner, epochs=3, **_settings(learner))
        start(dataclasses.replace(plan, checkpoint=path, resume=True)).finish()

    return use


def _checkpoint_seed(learner: str) -> Callable[[], list[bytes]]:
    def make() -> list[bytes]:
        path = Path(_room()) / "seed.state"
        path.unlink(missing_ok=True)
        plan = make_plan(TRAINING, learner=learner, epochs=2, **_settings(learner))
        start(dataclasses.replace(plan, checkpoint=path)).finish()
        return [path.read_bytes()]

    return make


def _settings(learner: str) -> dict[str, Any]:
    return RUN if learner in ("sapo", "sapo-avg", "crf") else {"template": "pos", "seed": 1}


def _start(name: str) -> Callable[[], list[bytes]]:
    return lambda: [(GOLDEN / name).read_bytes()]


SAMPLE = sample_path("train").read_bytes()[:1500]
CONLLU = b"# text = Cats sing\n1\tCats\tcat\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\t_\n1-2\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
JSONL = (
    b'{"tokens": ["New", "York"], "tags": ["B-LOC", "I-LOC"], "pos": ["A", "B"]}\n{"tokens": ["a"], "tags": ["O"]}\n'
)
SPANS = '{"text": "Ann sees Köln", "label": [[0, 3, "PER"], [9, 13, "LOC"]], "spans": []}\n'.encode()
PRODIGY = (
    b'{"text": "Ann sees", "tokens": [{"text": "Ann", "start": 0, "end": 3, "id": 0}], '
    b'"spans": [{"start": 0, "end": 3, "label": "P"}]}\n'
)
STUDIO = (
    b'[{"data": {"text": "Ann sees"}, "annotations": [{"result": [{"type": "labels", '
    b'"value": {"start": 0, "end": 3, "labels": ["P"], "text": "Ann"}}]}]}]'
)
CRFSUITE = b"B-NP\tw[0]=the\tpos=DT:2.5\nI-NP\tw[0]=cat\t__EOS__\n\nO\ta\\:b=1\n"
TEXT = "Mr. Smith didn't pay $5.50. “No!” he said… www.x.org a@b.de 東京です。\n\nNew paragraph 's n't".encode()
RULES = b"forbid B-NP B-VP\nallow O I-*\nstart O B-*\nend * # comment\n"
VECTORS = b"3 2\nthe 0.1 0.2\ncat -1 2e3\nNew York 1 1\n"
BINARY = b"2 3\nthe " + bytes(range(12)) + b"\ncat " + bytes(12) + b"\n"

TARGETS: dict[str, Target] = {
    "columns": Target(_corpus("columns", "a.txt"), lambda: [SAMPLE, SAMPLE.replace(b" ", b"\t")]),
    "conllu": Target(_corpus("conllu", "a.conllu"), lambda: [CONLLU]),
    "jsonl": Target(_corpus("jsonl", "a.jsonl"), lambda: [JSONL, SPANS]),
    "crfsuite": Target(_corpus("crfsuite", "a.crfsuite"), lambda: [CRFSUITE]),
    "doccano": Target(_corpus("doccano", "d.jsonl"), lambda: [SPANS]),
    "prodigy": Target(_corpus("prodigy", "p.jsonl"), lambda: [PRODIGY]),
    "label-studio": Target(_corpus("label-studio", "s.json"), lambda: [STUDIO]),
    "text": Target(_corpus("text", "t.txt"), lambda: [TEXT]),
    "tag-text": Target(_tag_text, lambda: [TEXT]),
    "check": Target(_check, lambda: [SAMPLE]),
    "templates": Target(_template, lambda: [template_text(name)[0].encode() for name in PRESETS]),
    "rules": Target(_rules, lambda: [RULES]),
    "vectors": Target(_vectors, lambda: [VECTORS, BINARY]),
    **{
        f"model-{name.removesuffix('.sapo')}": Target(_model, _start(name), arrays=True)
        for name in ("templates-1.sapo", "templates-2.sapo", "features-1.sapo", "features-2.sapo")
    },
    "project": Target(_project, _project_seed),
    "model-many-labels-2": Target(_model, _start("many-labels-2.sapo"), arrays=True),
    "model-network-2": Target(_model, _start("network-2.sapo"), arrays=True),
    **{
        f"checkpoint-{learner}": Target(_checkpoint(learner), _checkpoint_seed(learner), arrays=True)
        for learner in LEARNERS
    },
}


def use(name: str, data: bytes) -> None:
    """Try an input on a target. Whatever is raised is a finding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _told(lambda: TARGETS[name].use(data))
