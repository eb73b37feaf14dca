"""The estimator of sklearn-crfsuite: `from sapo.compat.estimator import CRF`."""

from sapo.sklearn.crf import CRF

__all__ = ["CRF"]
