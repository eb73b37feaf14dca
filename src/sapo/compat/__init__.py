"""The names of sklearn-crfsuite and python-crfsuite, so that code written for them runs with only the import changed.

from sapo.compat import CRF, metrics            # was: from sklearn_crfsuite import CRF, metrics
import sapo.compat as sklearn_crfsuite          # was: import sklearn_crfsuite
import sapo.compat.pycrfsuite as pycrfsuite     # was: import pycrfsuite
from sapo.compat.torchcrf import CRF            # was: from torchcrf import CRF
"""

import sys

from sapo.sklearn import crf as estimator
from sapo.sklearn import metrics, pycrfsuite
from sapo.sklearn.crf import CRF

__all__ = ["CRF", "estimator", "metrics", "pycrfsuite", "scorers", "trainer", "utils"]

# One module may have the names of several; once registered, `from sapo.compat.scorers import flat_accuracy` works, too.
scorers = utils = metrics
trainer = pycrfsuite
_MODULES = {"estimator": estimator, "pycrfsuite": pycrfsuite, "trainer": pycrfsuite}
_MODULES |= dict.fromkeys(("metrics", "scorers", "utils"), metrics)
sys.modules.update({f"{__name__}.{name}": module for name, module in _MODULES.items()})
