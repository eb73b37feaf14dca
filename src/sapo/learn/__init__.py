"""Learn weights: one file per learner, and the loop over epochs that they share."""

from dataclasses import dataclass
from typing import Any

from sapo.learn.batch_crf import CRF_LBFGS
from sapo.learn.crf import crf_pass
from sapo.learn.loop import LearnerPass
from sapo.learn.mira import mira_nbest_pass, mira_pass
from sapo.learn.perceptron import perceptron_pass
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import MOST


@dataclass(frozen=True, slots=True)
class Learner:
    """How a learner passes over the samples, and which options it uses."""

    run: LearnerPass
    averaged: bool = False  # the result is the average of the weights over all steps
    regularized: bool = True  # it has a rate and a regularizer
    n_best: bool = False  # it searches for n taggings
    most_n: int = MOST  # of them
    all_labels: bool = False  # a step changes the weights of every label


# What is not given, where that differs from Settings: an iteration of L-BFGS does less than a pass of the others.
DEFAULTS: dict[str, dict[str, Any]] = {
    CRF_LBFGS: {"epochs": 500, "patience": 20, "tolerance": 1e-5},
}

LEARNERS = {
    "sapo": Learner(sapo_pass, n_best=True),
    "sapo-avg": Learner(sapo_pass, averaged=True, n_best=True),
    "crf": Learner(crf_pass, all_labels=True),
    "crf-avg": Learner(crf_pass, averaged=True, all_labels=True),
    "perceptron": Learner(perceptron_pass, regularized=False),
    "perceptron-avg": Learner(perceptron_pass, averaged=True, regularized=False),
    "mira": Learner(mira_pass, regularized=False),
    "mira-avg": Learner(mira_pass, averaged=True, regularized=False),
    "mira-nbest": Learner(mira_nbest_pass, regularized=False, n_best=True, most_n=100),
    "mira-nbest-avg": Learner(mira_nbest_pass, averaged=True, regularized=False, n_best=True, most_n=100),
}
