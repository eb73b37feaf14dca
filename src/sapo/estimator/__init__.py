"""The face for scikit-learn: sequences and their labels in, an estimator that fits, predicts and is searched over out.

Works without scikit-learn too; where it is installed, the estimators are its own kind.
"""

from sapo.estimator.labeler import SequenceLabeler

__all__ = ["SequenceLabeler"]
