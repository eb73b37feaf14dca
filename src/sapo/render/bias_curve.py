"""Show precision and recall by bias, as a table or as a figure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sapo.render.plotting import Panel, Picture, check_matplotlib, save
from sapo.tagger.bias_curve import OperatingPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["check_matplotlib", "curve_table", "draw_curve"]


def curve_table(points: Sequence[OperatingPoint]) -> str:
    """Return the points as a table in which the best F1 is marked.

    >>> from sapo.evaluate import SpanCounts
    >>> print(curve_table([OperatingPoint(0.0, SpanCounts(4, 2, 1)), OperatingPoint(0.5, SpanCounts(4, 1, 1))]))
     bias  precision  recall     F1  found
    +0.00      50.00   25.00  33.33      2
    +0.50     100.00   25.00  40.00      1  best F1
    """
    best = max(points, key=lambda point: point.spans.f1)
    lines = [" bias  precision  recall     F1  found"]
    for point in points:
        spans = point.spans
        numbers = f"{100 * spans.precision:9.2f}  {100 * spans.recall:6.2f}  {100 * spans.f1:5.2f}  {spans.found:5d}"
        lines.append(f"{point.bias:+5.2f}  {numbers}{'  best F1' * (point is best)}")
    return "\n".join(lines)


def draw_curve(points: Sequence[OperatingPoint], format: str = "svg") -> bytes:
    """Return a figure, as svg or png: precision by recall, and precision, recall and F1 by bias."""
    best = max(points, key=lambda point: point.spans.f1)

    def by_recall(axes: "Axes") -> None:
        axes.plot(
            [100 * p.spans.recall for p in points], [100 * p.spans.precision for p in points], "o-", color="#1f5fa8"
        )
        for p in points:
            if p.bias == int(p.bias):
                place = (100 * p.spans.recall, 100 * p.spans.precision)
                axes.annotate(f"{p.bias:+g}", place, xytext=(4, 4), textcoords="offset points", fontsize=7)
        axes.set_xlabel("recall")
        axes.set_ylabel("precision")

    def by_bias(axes: "Axes") -> None:
        for name, line, colour in (("precision", "--", "#1f5fa8"), ("recall", ":", "#b5541c"), ("f1", "-", "#222222")):
            values = [100 * getattr(p.spans, name) for p in points]
            axes.plot([p.bias for p in points], values, line, color=colour, label="F1" if name == "f1" else name)
        axes.axvline(best.bias, color="#999999", linewidth=0.8)
        axes.set_xlabel("bias on O")
        axes.legend(loc="lower center")

    panels = (Panel("Precision by recall, with the bias on O", by_recall), Panel("By bias", by_bias))
    picture = Picture("operating-curve", "Precision and recall", "", panels, columns=2)
    return save(picture, picture.columns, "png" if format == "png" else "svg")
