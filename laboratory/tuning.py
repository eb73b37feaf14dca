"""Tune the strength of the regularizer on CRF alone; SAPO uses the same, as in the paper.

The paper's values are tried on the dev set if there is one, else by 4-fold cross-validation on the training set.
"""

import dataclasses
import statistics
from pathlib import Path

import numpy as np

from laboratory.encoded import TaskData, evaluate, main_score
from laboratory.runfiles import Line, is_finished, read_lines, write_lines
from laboratory.setup import Setup
from laboratory.sources import has_dev
from laboratory.tasks import Task
from sapo.errors import SapoError
from sapo.features.encoded import subset
from sapo.learn.records import DevSet, Observer, PassRecord, State
from sapo.learn.settings import Settings
from sapo.training.run import train_on

STRENGTHS = (0.1, 0.5, 1.0, 2.0, 5.0)
FOLDS = 4
LEARNER = "crf"


@dataclasses.dataclass(frozen=True, slots=True)
class Trial:
    """One training: a strength and, in cross-validation, the fold that is held out."""

    strength: float
    fold: int


class Tuning:
    """The file tuning.jsonl of a task: what was tried, and the strength when all is tried. Nothing is tried twice."""

    def __init__(self, task: Task, setup: Setup) -> None:
        self.by_dev = has_dev(task, setup)
        self.path: Path = setup.directory(task) / "tuning.jsonl"
        # a tuning of another kind must not pass for this one
        self.mark: Line = {"passes": setup.tuning_passes, "small": setup.small}
        lines = read_lines(self.path)
        for line in lines:
            if any(line.get(key) != value for key, value in self.mark.items()):
                raise SapoError(
                    f"{self.path}: was tuned in another way ({line.get('passes')} passes"
                    f"{', small' if line.get('small') else ''}); give another --runs, or delete the file"
                )
        self.scores = {Trial(line["strength"], line["fold"]): line["score"] for line in lines if "fold" in line}
        self.strength: float | None = lines[-1]["strength"] if is_finished(lines) else None

    @property
    def how(self) -> str:
        return "dev set" if self.by_dev else f"{FOLDS}-fold cross-validation"

    def trials(self) -> list[Trial]:
        """Return what is left to try."""
        if self.strength is not None:
            return []
        folds = range(1 if self.by_dev else FOLDS)
        every = [Trial(strength, fold) for fold in folds for strength in STRENGTHS]
        return [trial for trial in every if trial not in self.scores]

    def add(self, trial: Trial, score: float) -> None:
        """Write a score down; the last one decides."""
        self.scores[trial] = score
        lines: list[Line] = [
            {"kind": "tuning", "strength": trial.strength, "fold": trial.fold, "score": score, **self.mark}
            for trial, score in self.scores.items()
        ]
        if not self.trials():
            self.strength = best_strength(self.scores)
            lines.append({"kind": "end", "strength": self.strength, "how": self.how, **self.mark})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_lines(self.path, lines)


def best_strength(scores: dict[Trial, float]) -> float:
    """Return the strength with the best mean score; of equals the smaller.

    >>> best_strength({Trial(1.0, 0): 93.0, Trial(1.0, 1): 94.0, Trial(2.0, 0): 93.9, Trial(2.0, 1): 93.5})
    2.0
    """
    strengths = sorted({trial.strength for trial in scores})
    return max(strengths, key=lambda value: statistics.fmean(s for t, s in scores.items() if t.strength == value))


def try_strength(task: Task, setup: Setup, data: TaskData, trial: Trial) -> float:
    """Return the score of CRF with this strength on unseen sentences, after some passes."""
    prepared = data.prepared
    if data.dev is None:
        train, held_out = fold_of(prepared.corpus.sentences, trial.fold)
        unseen = DevSet(subset(prepared.corpus, held_out), prepared.labels)
        prepared = prepared.with_corpus(subset(prepared.corpus, train))
    else:
        unseen = data.dev
    settings = Settings(strength=trial.strength, rate=data.rate, epochs=setup.tuning_passes, tolerance=0.0)
    last = _Last()
    train_on(dataclasses.replace(prepared, dev=None), settings, learner=LEARNER, observers=[last])
    assert last.state is not None  # there is at least one pass
    return main_score(task, evaluate(unseen, last.state)[1])


def fold_of(sentences: int, fold: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sentences to train on and those held out, in the order of the corpus; always the same.

    >>> train, held_out = fold_of(8, 0)
    >>> len(train), len(held_out), sorted({*train.tolist(), *held_out.tolist()}) == list(range(8))
    (6, 2, True)
    """
    if sentences < FOLDS:
        raise SapoError(f"{FOLDS}-fold cross-validation needs at least {FOLDS} sentences, not {sentences}")
    owner = np.random.default_rng(0).permutation(sentences) % FOLDS
    return np.flatnonzero(owner != fold), np.flatnonzero(owner == fold)


class _Last(Observer):
    """Remembers where training stands."""

    state: State | None = None

    def passed(self, record: PassRecord, state: State) -> None:
        self.state = state
