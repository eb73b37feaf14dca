"""`SequenceLabeler` under the name it always had; it lives in `sapo.sklearn`."""

from sapo.sklearn.labeler import SequenceLabeler

__all__ = ["SequenceLabeler"]
