"""The names of sklearn-crfsuite, so that code written for it runs here with only the import changed.

from sapo.compat import CRF, metrics        # was: from sklearn_crfsuite import CRF, metrics
import sapo.compat as sklearn_crfsuite      # was: import sklearn_crfsuite
"""

import sys

from sapo.sklearn import metrics
from sapo.sklearn.crf import CRF

__all__ = ["CRF", "metrics", "scorers", "utils"]

# One module has them all. Registering it lets `from sapo.compat.scorers import flat_accuracy` work, too.
scorers = utils = metrics
sys.modules.update({f"{__name__}.{name}": metrics for name in ("metrics", "scorers", "utils")})
