"""One task, one system, one seed in; a file with a line for each pass, and the tags of the test set, out."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from laboratory.encoded import TaskData, evaluate, main_score
from laboratory.runfiles import Line, append_line, is_finished, read_lines, run_path, write_tags
from laboratory.setup import Setup
from laboratory.systems import System
from laboratory.tasks import Task
from sapo import __version__
from sapo.errors import SapoError
from sapo.jit.arrays import Ints
from sapo.learn import LEARNERS
from sapo.learn.records import Observer, PassRecord, State
from sapo.learn.settings import Settings
from sapo.neural.options import LAYERS, RATE
from sapo.training.plan import network_options
from sapo.training.run import train_on

Watcher = Callable[[int, float], None]  # gets the pass and its score


def run_done(task: Task, system: System, seed: int, setup: Setup) -> bool:
    """Whether this run is finished. One that was made in another way must not pass for it: raise."""
    path = run_path(setup.directory(task), system.name, seed)
    lines = read_lines(path)
    if not is_finished(lines):
        return False
    made_by, command = lines[0].get("command"), setup.command(task, system, seed)
    if made_by != command:
        raise SapoError(
            f"{path}: was made by '{made_by}', not by '{command}'; give another --runs, or --force to make it anew"
        )
    return True


def run_settings(system: System, seed: int, setup: Setup, *, strength: float, rate: float) -> Settings:
    """Every pass is made: neither the test set nor the objective may stop a run early."""
    values = {"epochs": setup.passes, "patience": setup.passes, "tolerance": 0.0, "seed": seed, **system.settings}
    if system.learner in LAYERS:
        return Settings(**{"rate": RATE, **values}, strength=0.0, regularizer="none")
    if LEARNERS[system.learner].regularized:
        return Settings(**{"strength": strength, "rate": rate, **values})
    return Settings(**values, strength=0.0, regularizer="none")


def make_run(
    task: Task,
    system: System,
    seed: int,
    setup: Setup,
    data: TaskData,
    *,
    strength: float,
    watch: Watcher = lambda epoch, score: None,
) -> Path:
    """Train and write the files of the run; what an earlier run has left is written over."""
    directory = setup.directory(task)
    directory.mkdir(parents=True, exist_ok=True)
    path = run_path(directory, system.name, seed)
    path.unlink(missing_ok=True)
    settings = run_settings(system, seed, setup, strength=strength, rate=data.rate)
    test = data.test
    write_tags(directory / "gold.tags", test.labels, test.corpus.gold, test.corpus.offsets)
    append_line(path, _first_line(task, system, settings, setup, data))
    log = _Log(task, data, path, watch)
    # no dev set: the test set is only looked at, and the weights of the last pass count
    prepared = dataclasses.replace(data.prepared, dev=None)
    options = network_options(system.learner, dict(system.options))
    train_on(prepared, settings, learner=system.learner, network=options, observers=[log])
    assert log.tags is not None  # there is at least one pass
    write_tags(path.with_suffix(".tags"), test.labels, log.tags, test.corpus.offsets)
    append_line(path, {"kind": "end", "passes": log.passes, "seconds": log.seconds, "interrupted": False})
    return path


def pass_line(record: PassRecord, score: float, token_accuracy: float) -> Line:
    """What a file of runs keeps of a pass; scores are per cent."""
    values = record.as_json()
    del values["dev"]
    epoch = values.pop("epoch")
    return {"kind": "pass", "epoch": epoch, "score": score, "token_accuracy": token_accuracy, **values}


class _Log(Observer):
    """Evaluates every pass on the test set, and writes it down."""

    def __init__(self, task: Task, data: TaskData, path: Path, watch: Watcher) -> None:
        self.task, self.data, self.path, self.watch = task, data, path, watch
        self.passes, self.seconds = 0, 0.0
        self.tags: Ints | None = None  # of the last pass

    def passed(self, record: PassRecord, state: State) -> None:
        self.tags, scores = evaluate(self.data.test, state, self.data.test_text)
        score = main_score(self.task, scores)
        append_line(self.path, pass_line(record, score, 100 * scores.accuracy))
        self.passes = record.epoch
        self.seconds += record.seconds
        self.watch(record.epoch, score)


def _network_settings(system: System, sentences: int) -> Line:
    if system.learner not in LAYERS:
        return {}
    options = network_options(system.learner, dict(system.options))
    assert options is not None
    return options.settled(system.learner, sentences).as_json()


def _first_line(task: Task, system: System, settings: Settings, setup: Setup, data: TaskData) -> Line:
    prepared, test = data.prepared, data.test.corpus
    return {
        "kind": "run",
        "task": task.name,
        "title": task.title,
        "metric": task.metric,
        "system": system.name,
        "learner": system.learner,
        "seed": settings.seed,
        "command": setup.command(task, system, settings.seed),
        "template": prepared.template,
        "settings": {**settings.as_json(), **_network_settings(system, prepared.corpus.sentences)},
        "features": prepared.encoder.features,
        "paper_features": task.paper_features,
        "labels": len(prepared.labels),
        "train_sentences": prepared.corpus.sentences,
        "train_tokens": prepared.corpus.tokens,
        "test_sentences": test.sentences,
        "test_tokens": test.tokens,
        "version": __version__,
    }
