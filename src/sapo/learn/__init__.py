"""Learning: the shared loop, and one short file a learner."""

from sapo.learn.calibrate import calibrate
from sapo.learn.groups import Groups
from sapo.learn.learners import LEARNERS, Learner
from sapo.learn.loop import DevSet, Observer, PassRecord, State, final_weights, learn
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import CHOICES, Settings
from sapo.learn.weights import Weights

__all__ = [
    "CHOICES",
    "LEARNERS",
    "DevSet",
    "Groups",
    "Learner",
    "Observer",
    "PassRecord",
    "Settings",
    "State",
    "Weights",
    "calibrate",
    "final_weights",
    "learn",
    "sapo_pass",
]
