"""A task in, its encoded corpora and its start rate out: all that the runs of a task share."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from laboratory.setup import Setup
from laboratory.sources import read_task
from laboratory.tasks import Task
from sapo.corpus.blocks import Block, Sentence, block_from_sentences
from sapo.evaluate.scores import Scores
from sapo.features.encoder import TemplateEncoder
from sapo.jit.arrays import Ints
from sapo.learn.records import DevSet, State
from sapo.learn.settings import Settings
from sapo.training.data import TrainingData, encoded_dev_set
from sapo.training.plan import Options
from sapo.training.run import read_data, with_start_rate


@dataclass(frozen=True, slots=True)
class TaskData:
    prepared: TrainingData
    dev: DevSet | None
    test: DevSet
    rate: float  # the start rate of CRF and SAPO alike
    test_text: Block  # networks read the words themselves


def load_task(task: Task, setup: Setup, template: str) -> TaskData:
    """Read and encode; the same on every call, so that workers need not talk about it."""
    sentences = read_task(task, setup)
    prepared = read_data(sentences.train, template=template, keep_texts=True, **label_options(task, template))
    settings = with_start_rate(prepared, Settings(), "crf")
    dev = None if sentences.dev is None else held_out(prepared, sentences.dev)
    test = block_from_sentences(sentences.test)
    return TaskData(prepared, dev, held_out(prepared, sentences.test), settings.rate, test)


def label_options(task: Task, template: str) -> Options:
    """The paper knows of no constraints; with our best features spans are learned as BIOES."""
    if template != task.best_template:
        return {"constraints": False}
    return {"scheme": "bioes" if task.metric == "F1" else None}


def held_out(data: TrainingData, sentences: Sequence[Sentence]) -> DevSet:
    """Sentences encoded with the features of training."""
    encoder = data.encoder
    assert isinstance(encoder, TemplateEncoder)  # the tasks have words, not ready-made features
    return encoded_dev_set(encoder, [block_from_sentences(sentences)], data.gold)


def evaluate(corpora: DevSet, state: State, text: Block | None = None) -> tuple[Ints, Scores]:
    """The tags that the weights of the last pass give, and how good they are. A network needs the text."""
    weights = state.weights
    if hasattr(weights, "encode") and text is not None:
        corpora = dataclasses.replace(corpora, look=partial(weights.encode, [text]))
    return corpora.tag(weights.true_weights())


def main_score(task: Task, scores: Scores) -> float:
    """The task's metric, in per cent."""
    if task.metric == "F1":
        return 100 * scores.overall.f1 if scores.overall is not None else 0.0
    return 100 * scores.accuracy
