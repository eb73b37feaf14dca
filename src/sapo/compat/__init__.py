"""The names of sklearn-crfsuite and python-crfsuite, so that code written for them runs with only the import changed.

from sapo.compat import CRF, metrics            # was: from sklearn_crfsuite import CRF, metrics
import sapo.compat as sklearn_crfsuite          # was: import sklearn_crfsuite
import sapo.compat.pycrfsuite as pycrfsuite     # was: import pycrfsuite
from sapo.compat.torchcrf import CRF            # was: from torchcrf import CRF

The estimator is loaded when it is first used: it imports scikit-learn, and programs that only tag need not wait for it.
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

from sapo.sklearn import metrics, pycrfsuite

if TYPE_CHECKING:
    from sapo.compat import estimator
    from sapo.sklearn.crf import CRF

__all__ = ["CRF", "estimator", "metrics", "pycrfsuite", "scorers", "trainer", "utils"]

# One module may have the names of several; once registered, `from sapo.compat.scorers import flat_accuracy` works, too.
scorers = utils = metrics
trainer = pycrfsuite
_MODULES = {"pycrfsuite": pycrfsuite, "trainer": pycrfsuite}
_MODULES |= dict.fromkeys(("metrics", "scorers", "utils"), metrics)
sys.modules.update({f"{__name__}.{name}": module for name, module in _MODULES.items()})


def __getattr__(name: str) -> Any:
    if name not in ("CRF", "estimator"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = importlib.import_module(f"{__name__}.estimator")
    return found if name == "estimator" else found.CRF
