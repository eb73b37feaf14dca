"""The names of sklearn-crfsuite, so that code written for it runs here with only the import changed.

from sapo.compat import CRF, metrics        # was: from sklearn_crfsuite import CRF, metrics
import sapo.compat as sklearn_crfsuite      # was: import sklearn_crfsuite
"""

from sapo.compat import metrics, scorers
from sapo.compat.crf import CRF

__all__ = ["CRF", "metrics", "scorers"]
