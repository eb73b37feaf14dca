"""The figures of the theory as numbers, to be kept in a file of JSON; the report draws them."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """A name for the legend, points, a color and a dash by number. Points that an axis cannot show are left out."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    color: int = 0
    dash: int = 0


@dataclass(frozen=True, slots=True)
class LinePanel:
    """Lines over one pair of axes; x and y are their labels."""

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, slots=True)
class LineFigure:
    caption: str
    panels: Sequence[LinePanel]
