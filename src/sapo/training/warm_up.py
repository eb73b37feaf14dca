"""Compile everything beforehand, and compile what a training run will call while it starts.

Small jobs call each kernel with the arguments that real jobs would give it. The jobs are real training and tagging, so
this list cannot ask for something unused.

`sapo.training.run` starts `python -m sapo.training.warm_up`, which reads settings as JSON from standard input.
"""

import json
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sapo import jit
from sapo.corpus.plain_text import read_text
from sapo.features.clustering import cluster_words
from sapo.learn import LEARNERS
from sapo.learn.batch_crf import CRF_LBFGS
from sapo.tagger.tagger import Tagger
from sapo.training.run import train
from sapo.training.update import Trainer

FEW, SOME, MANY = 3, 40, 320  # labels: one matrix of weights; lists of labels; few labels a token
EDGES = "U:%x[0,0]\nU:%x[-1,0]/%x[0,0]\nB\nB:%x[0,0]\n"


def warm_up() -> None:
    """Compile all kernels and keep them in the cache, so that no later run compiles.

    It takes some minutes. The cache is the directory `sapo` in NUMBA_CACHE_DIR, or else in XDG_CACHE_HOME, or else in
    ~/.cache. `sapo.jit.watch_compiling` shows how far it is.
    """
    jit.compile_kernels()
    with tempfile.TemporaryDirectory() as directory:
        for tagger in _taggers(Path(directory)):
            _use(tagger, Path(directory))
        (words := Path(directory) / "words.txt").write_text(LINES)
        cluster_words(read_text(words)[1], clusters=2, min_count=1)


def _taggers(directory: Path) -> Iterator[Tagger]:
    template = directory / "edges"
    template.write_text(EDGES)
    for labels in (FEW, SOME, MANY):
        whole, short = directory / f"{labels}.txt", directory / "dev.txt"
        _write(_sentences(labels), whole)
        _write([(words[:FEW], tags[:FEW]) for words, tags in _sentences(labels)[:1]], short)
        yield train(whole, dev=short, epochs=2)
    yield train(_sentences(FEW), template=template, epochs=2)
    (vectors := directory / "vectors.txt").write_text("w0 1 2\nw1 2 1\n")
    yield train(_sentences(FEW), template="pos", vectors=vectors, epochs=2)
    features = [([[f"w={word}", "bias"] for word in words], tags) for words, tags in _sentences(FEW)]
    yield train(features, epochs=2)
    for learner in [*LEARNERS, CRF_LBFGS]:
        train(_sentences(FEW), template="pos", learner=learner, epochs=2)
    for search in ("astar", "beam"):
        train(_sentences(FEW), template="pos", settings={"search": search}, epochs=2)
    train(_sentences(FEW), template="pos", settings={"regularizer": "l1"}, epochs=2)


def _sentences(labels: int) -> list[tuple[list[str], list[str]]]:
    words = [f"w{number}" for number in range(labels)]
    return [(words, [f"L{number}" for number in range(labels)]), (words[::-1], [f"L{n}" for n in range(labels)][::-1])]


def _write(sentences: list[tuple[list[str], list[str]]], path: Path) -> None:
    lines = ("".join(f"{word} {tag}\n" for word, tag in zip(*pair, strict=True)) for pair in sentences)
    path.write_text("\n".join(lines))


def _use(trained: Tagger, directory: Path) -> None:
    """Tag in all ways, as trained and as loaded, and go on learning."""
    path = directory / "model"
    trained.save(path)
    words: list[Any] = ["w0", "w1", "new"] if trained.columns else [["w=w0"], ["w=w1"], ["w=new"]]
    for tagger in (trained, Tagger.load(path)):
        tagger.tag(words)
        tagger.marginals(words)
        tagger.marginal_arrays([words])
        for search in ("topn", "astar", "beam"):
            tagger.nbest(words, 2, search=search)
    Trainer(trained).update([(words, list(trained.labels[:1]) * len(words))])


LINES = "the O\ncat B-X\nsleeps O\n\na O\ndog B-X\n\n"


def rehearse(settings: dict[str, Any]) -> None:
    """Do what a user does with a training file: train, evaluate, look at taggings."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "train.txt"
        path.write_text(LINES)
        tagger = train(path, dev=path, epochs=2, **settings)
        tagger.evaluate(path)
        tagger.nbest(["the", "bird"], 2)
        tagger.marginals(["the", "bird"])
        tagger.spans(["a", "cat"])


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the temporary directory is removed
    given = json.load(sys.stdin)
    jit.compile_what(lambda: rehearse(given["settings"]), given["parent"])
