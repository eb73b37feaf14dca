"""The paper's theoretical analysis, measured: SAPO's update beside the gradient, and what Theorem 1 promises."""

from laboratory.theory.parts import PARTS, forget, left, make_parts

__all__ = ["PARTS", "forget", "left", "make_parts"]
