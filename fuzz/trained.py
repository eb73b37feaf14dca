"""Targets that load models and checkpoints, and do with them what commands do."""

import contextlib
import dataclasses
import struct
from collections.abc import Callable
from typing import Any

import sapo
from fuzz.doors import file, room
from fuzz.target import ARRAYS, GOLDEN, RUN, TEMPLATE, TRAINING, Target
from sapo.cli.inspect import describe_text
from sapo.errors import SapoError
from sapo.tagger.crfpp import model_from
from sapo.tagger.explain import explain
from sapo.tagger.file import model_bytes, model_from_bytes
from sapo.tagger.foreign import crfsuite_bytes, crfsuite_from_bytes
from sapo.tagger.inspect import describe
from sapo.training.plan import make_plan
from sapo.training.run import start
from sapo.training.update import Trainer

MANY = [([f"w{number}" for number in range(at, at + 4)], [f"L{number}" for number in range(at, at + 4)])
        for at in range(0, 36, 4)]  # fmt: skip
LEARNERS = ("sapo", "sapo-avg", "crf", "crf-lbfgs")


def _model(data: bytes) -> None:
    _use(sapo.Tagger(model_from_bytes(data)))


def _foreign(data: bytes) -> None:
    model = crfsuite_from_bytes(data)
    crfsuite_from_bytes(crfsuite_bytes(model))
    _use(sapo.Tagger(model))


def _foreign_seeds() -> list[bytes]:
    features = [([[f"word={word}", "bias"] for word in words], tags) for words, tags in TRAINING]
    return [crfsuite_bytes(sapo.train(features, epochs=2, seed=1, **RUN).model)]


WAPITI = """#mdl#2#6
#rdr#3/0/0
9:u:%x[0,0],
20:*:s=%m[-1,0,".?.?$"],
1:*,
#qrk#2
1:A,
1:B,
#qrk#3
5:u:cat,
6:*:s=-1,
1:*,
0=0x1p+0
2=-0x1p+1
5=0x1p-1
8=0x1p+0
9=-0x1p+0
13=0x1p+1
"""
CRFPP = """version: 100
cost-factor: 1
maxid: 10
xsize: 1

A
B

U0:%x[0,0]/%x[1,0]
U1
B

0 U0:cat/and
2 U0:w3/_B+1
4 U1
6 B

1
-1
.5
0
1
0
.25
-2
1
0
"""
CRFPP_BINARY = b"".join(
    [
        struct.pack("<IidIII", 100, 0, 1.0, 6, 1, 8 * 70),  # weights of "B" alone, in a double array of 70 units
        struct.pack("<I", 4) + b"A\0B\0",
        struct.pack("<I", 16) + b"U0:%x[0,0]\0B\0\0\0\0",
        b"".join(struct.pack("<iI", {0: 1, 68: 2, 2: -1}.get(at, 0), {68: 1, 2: 2}.get(at, 0)) for at in range(70)),
        struct.pack("<6f", 1, 0, 0, 1, 0.5, 0.5),
    ]
)


def _other_tool(tool: str) -> Callable[[bytes], None]:
    return lambda data: _use(sapo.Tagger(model_from(data, tool)))


def _use(tagger: sapo.Tagger) -> None:
    model = tagger.model
    describe_text({"file": "x", "megabytes": 0.0, **describe(model, top=2)})
    if model.encoder.linear:
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


def _told(use: Callable[[], object]) -> None:
    with contextlib.suppress(SapoError):
        use()


def _plan(learner: str, epochs: int) -> Any:
    more = RUN if learner in ("sapo", "sapo-avg", "crf") else {}
    return make_plan(TRAINING, learner=learner, epochs=epochs, seed=1, template=file("t.txt", TEMPLATE), **more)


def _checkpoint(learner: str) -> Callable[[bytes], None]:
    plans: list[Any] = []

    def use(data: bytes) -> None:
        if not plans:
            plans.append(_plan(learner, 3))
        path = file("run.state", data)
        start(dataclasses.replace(plans[0], checkpoint=path, resume=True)).finish()

    return use


def _checkpoint_seed(learner: str) -> Callable[[], list[bytes]]:
    def make() -> list[bytes]:
        path = room() / "seed.state"
        path.unlink(missing_ok=True)
        start(dataclasses.replace(_plan(learner, 2), checkpoint=path)).finish()
        return [path.read_bytes()]

    return make


def _many_labels() -> list[bytes]:
    """Return a model of 36 labels: its weights are lists, as with hundreds, but it is small."""
    tagger = sapo.train(MANY, template=file("t.txt", TEMPLATE), epochs=2, seed=1, rate=0.1, strength=1.0)
    return [model_bytes(tagger.model)]


def _start(name: str) -> Callable[[], list[bytes]]:
    return lambda: [(GOLDEN / name).read_bytes()]


GOLDEN_MODELS = ("templates-2", "templates-half-2", "features-2")
TRAINED: dict[str, Target] = {
    **{f"model-{name}": Target(_model, _start(f"{name}.sapo"), ARRAYS) for name in GOLDEN_MODELS},
    "model-crfsuite": Target(_foreign, _foreign_seeds),
    "model-wapiti": Target(_other_tool("Wapiti"), lambda: [WAPITI.encode()]),
    "model-crfpp-text": Target(_other_tool("CRF++ text"), lambda: [CRFPP.encode()]),
    "model-crfpp-binary": Target(_other_tool("CRF++ binary"), lambda: [CRFPP_BINARY]),
    "model-lists-2": Target(_model, _many_labels, ARRAYS),
    "model-many-labels-2": Target(_model, _start("many-labels-2.sapo"), ARRAYS),
    "model-network-2": Target(_model, _start("network-2.sapo"), ARRAYS, needs="torch"),
    **{f"checkpoint-{name}": Target(_checkpoint(name), _checkpoint_seed(name), ARRAYS) for name in LEARNERS},
}
