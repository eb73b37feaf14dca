"""Draw reliability diagrams: how often answers of a given confidence are correct, compared with the diagonal."""

from functools import partial
from typing import TYPE_CHECKING

from sapo.evaluate import Reliability
from sapo.render.plotting import BLUE, GREY, ORANGE, Panel, Picture, save
from sapo.training.temperature import Calibration

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_reliability(calibration: Calibration, format: str) -> bytes:
    """Return a figure, as svg or png, with a panel each for tokens, spans and sentences."""
    panels = []
    for kind, exact in calibration.exact.items():
        lines = {"all taggings": exact, f"top {calibration.n}": calibration.top_n[kind]}
        panels.append(Panel(f"{kind} ({exact.count:,})", partial(_draw, lines=lines)))
    picture = Picture(
        "reliability",
        "Reliability",
        "Accuracy of the answers of each bin by their mean confidence; bars show the share of the answers.",
        tuple(panels),
        columns=3,
        panel_height=3.2,
    )
    return save(picture, picture.columns, format)


def _draw(axes: "Axes", lines: dict[str, Reliability]) -> None:
    axes.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1.0)
    for (name, found), colour, marker in zip(lines.items(), (BLUE, ORANGE), ("o", "s"), strict=True):
        axes.plot(
            [one.confidence for one in found.bins],
            [one.accuracy for one in found.bins],
            color=colour,
            marker=marker,
            label=f"{name}: ECE {found.ece:.3f}",
        )
    exact = next(iter(lines.values()))
    axes.bar(
        [(one.low + one.high) / 2 for one in exact.bins],
        [one.count / exact.count for one in exact.bins],
        width=[one.high - one.low for one in exact.bins],
        color=BLUE,
        alpha=0.15,
        zorder=1,
    )
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", ylabel="accuracy")
    axes.legend(loc="upper left")
