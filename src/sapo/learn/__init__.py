"""Learning: the shared loop, and one short file a learner."""

from sapo.learn.groups import Groups, Lasso
from sapo.learn.learners import LEARNERS, Learner
from sapo.learn.loop import DevSet, Observer, PassRecord, State, Stop, final_weights, learn
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import CHOICES, Settings
from sapo.learn.start_rate import start_rate
from sapo.learn.weights import Weights

__all__ = [
    "CHOICES",
    "LEARNERS",
    "DevSet",
    "Groups",
    "Lasso",
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
