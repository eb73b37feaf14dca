"""Learners: the shared loop over passes, and one short file for each learner."""

from sapo.learn.batch_crf import CRF_LBFGS, BatchOptions
from sapo.learn.dev_set import DevSet
from sapo.learn.learners import DEFAULTS, LEARNERS, Learner
from sapo.learn.loop import final_weights, learn
from sapo.learn.records import PassRecord
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import CHOICES, Settings
from sapo.learn.start_rate import start_rate
from sapo.learn.state import Observer, State
from sapo.learn.stopping import Stop
from sapo.learn.weights import Weights

__all__ = [
    "CHOICES",
    "CRF_LBFGS",
    "DEFAULTS",
    "LEARNERS",
    "BatchOptions",
    "DevSet",
    "Learner",
    "Observer",
    "PassRecord",
    "Settings",
    "State",
    "Stop",
    "Weights",
    "final_weights",
    "learn",
    "sapo_pass",
    "start_rate",
]
