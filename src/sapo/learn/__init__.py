"""Learn weights: one file per learner, and the loop over epochs that they share."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from sapo.learn.crf import crf_pass
from sapo.learn.loop import LearnerPass
from sapo.learn.mira import mira_nbest_pass, mira_pass
from sapo.learn.perceptron import perceptron_pass
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import CHOSEN, MOST


@dataclass(frozen=True, slots=True)
class Learner:
    """How a learner passes over the samples, which options it uses, and which values they have if none are given."""

    run: LearnerPass
    averaged: bool = False  # the result is the average of the weights over all steps
    regularized: bool = True  # it has a rate and a regularizer
    n_best: bool = False  # it searches for n taggings
    most_n: int = MOST  # of them
    searches: bool = True  # by the setting `search`; others sum over all taggings, or take the best one
    all_labels: bool = False  # a step changes the weights of every label
    scaled: bool = True  # numeric features are scaled to about 1
    automatic: Collection[str] = ("rate",)  # options chosen from the data
    defaults: Mapping[str, Any] = field(default_factory=dict)  # other options that differ from the usual ones
    rehearsed: bool = False  # its kernels are compiled while the data is read


# An iteration of L-BFGS does less than a pass of the others.
BATCH_DEFAULTS: Mapping[str, Any] = {"epochs": 500, "patience": 20, "tolerance": 1e-5}

LEARNERS = {
    "sapo": Learner(sapo_pass, n_best=True, automatic=(*CHOSEN, "scheme"), rehearsed=True),
    # Algorithm 1 of the paper, and nothing else: all labels of a token, all taggings, even those that break the scheme.
    "sapo-plain": Learner(sapo_pass, n_best=True, scaled=False, defaults={"constraints": False, "exact": True}),
    "sapo-avg": Learner(sapo_pass, averaged=True, n_best=True),
    "crf": Learner(crf_pass, searches=False, all_labels=True),
    "crf-avg": Learner(crf_pass, searches=False, averaged=True, all_labels=True),
    "perceptron": Learner(perceptron_pass, searches=False, regularized=False),
    "perceptron-avg": Learner(perceptron_pass, searches=False, averaged=True, regularized=False),
    "mira": Learner(mira_pass, regularized=False),
    "mira-avg": Learner(mira_pass, averaged=True, regularized=False),
    "mira-nbest": Learner(mira_nbest_pass, regularized=False, n_best=True, most_n=100),
    "mira-nbest-avg": Learner(mira_nbest_pass, averaged=True, regularized=False, n_best=True, most_n=100),
}
