"""Learning: the shared loop, and one short file a learner."""

from sapo.learn.loop import DevSet, Observer, PassRecord, State, final_weights, learn, tag
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights

LEARNERS = {"sapo": sapo_pass}

__all__ = [
    "LEARNERS",
    "DevSet",
    "Observer",
    "PassRecord",
    "Settings",
    "State",
    "Weights",
    "final_weights",
    "learn",
    "sapo_pass",
    "tag",
]
