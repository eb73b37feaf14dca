"""The names of sklearn-crfsuite, so that code written for it runs here with only the import changed.

from sapo.compat import CRF, metrics        # was: from sklearn_crfsuite import CRF, metrics
import sapo.compat as sklearn_crfsuite      # was: import sklearn_crfsuite
"""

import sys

from sapo.sklearn import metrics, scorers, utils
from sapo.sklearn.crf import CRF

__all__ = ["CRF", "metrics", "scorers", "utils"]

# so that `from sapo.compat.metrics import flat_f1_score` works as with sklearn_crfsuite
sys.modules.update({f"{__name__}.{module.__name__.rpartition('.')[2]}": module for module in (metrics, scorers, utils)})
