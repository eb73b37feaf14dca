"""Draw figures of panels with matplotlib: precision and recall by bias, and reliability."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sapo.errors import DataError, OptionError, pip_install

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sapo.cli.evaluate import OperatingPoint
    from sapo.evaluate.calibration import Reliability
    from sapo.training.calibration import Calibration

# Okabe and Ito's palette, which color-blind readers can distinguish.
VERMILLION, BLUE, ORANGE, SKY, GREEN, PURPLE = "#D55E00", "#0072B2", "#E69F00", "#56B4E9", "#009E73", "#CC79A7"
BLACK, GREY = "#000000", "#7F7F7F"
LOOK: Any = {  # settings of matplotlib
    "font.family": "DejaVu Sans",  # comes with matplotlib, so it is the same on every machine
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "hatch.linewidth": 0.8,
    "figure.facecolor": "white",
    "savefig.dpi": 160,
    "svg.fonttype": "path",  # the figure does not depend on the reader's fonts
    "path.simplify": False,
}
PANEL_WIDTH, LEGEND_HEIGHT = 3.4, 0.25


@dataclass(frozen=True, slots=True)
class Panel:
    """One set of axes, with its title and the function that draws it."""

    title: str
    draw: Callable[["Axes"], None]


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure: panels side by side, and below them a legend with the name and style of each line."""

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    columns: int  # maximum number of panels in a row
    legend: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    panel_height: float = 2.5


def check_matplotlib() -> None:
    """Raise SapoError if matplotlib is not installed."""
    try:
        import matplotlib as _  # noqa: F401
    except ImportError:
        raise OptionError(f"figures need matplotlib: {pip_install('report')}") from None


def check_plot(path: str) -> None:
    """Raise SapoError if no plot can be written to this file."""
    from sapo.corpus.files import check_writable

    if not path.lower().endswith((".svg", ".png")):
        raise DataError(f"{path}: a figure must be an .svg or .png file; give it such a name")
    check_writable(path)
    check_matplotlib()


def write_plot(picture: Picture, path: str) -> None:
    """Draw a picture in the format that the name of the file ends with."""
    from sapo.corpus.files import write_file

    with write_file(path) as stream:
        stream.write(save(picture, picture.columns, path.lower().rpartition(".")[2]))


def save(picture: Picture, most_columns: int, format: str) -> bytes:
    """Return the figure, with at most this many panels in a row, as svg or png."""
    from matplotlib import rc_context

    with rc_context({**LOOK, "svg.hashsalt": f"{picture.name}-{most_columns}"}):
        stream = io.BytesIO()
        metadata = {"Date": None, "Creator": None} if format == "svg" else {"Software": None}
        _figure(picture, most_columns).savefig(stream, format=format, metadata=metadata)
    return stream.getvalue()


def _figure(picture: Picture, most_columns: int) -> "Figure":
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    columns = min(most_columns, len(picture.panels))
    rows = -(-len(picture.panels) // columns)
    per_row = max(2 * columns, 1)  # names in a row of the legend
    legend_rows = -(-len(picture.legend) // per_row)
    size = (PANEL_WIDTH * columns + 0.3, picture.panel_height * rows + LEGEND_HEIGHT * legend_rows + 0.1)
    figure = Figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)  # type: ignore[union-attr, call-arg]
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, panel in zip(grid.flat, picture.panels, strict=False):
        axes.set_title(panel.title)
        panel.draw(axes)
    for axes in grid.flat[len(picture.panels) :]:
        axes.set_axis_off()
    if picture.legend:
        figure.legend(
            handles=[Line2D([], [], label=name, **look) for name, look in picture.legend],
            loc="outside lower center",
            ncols=per_row,
            handlelength=3.2,
        )
    return figure


def curve_picture(points: "Sequence[OperatingPoint]") -> Picture:
    """Return a figure of precision by recall, and of precision, recall and F1 by bias."""
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
        for name, line, color in (("precision", "--", "#1f5fa8"), ("recall", ":", "#b5541c"), ("f1", "-", "#222222")):
            values = [100 * getattr(p.spans, name) for p in points]
            axes.plot([p.bias for p in points], values, line, color=color, label="F1" if name == "f1" else name)
        axes.axvline(best.bias, color="#999999", linewidth=0.8)
        axes.set_xlabel("bias on O")
        axes.legend(loc="lower center")

    panels = (Panel("Precision by recall, with the bias on O", by_recall), Panel("By bias", by_bias))
    return Picture("operating-curve", "Precision and recall", "", panels, columns=2)


def reliability_picture(calibration: "Calibration") -> Picture:
    """Return a figure with a panel each for tokens, spans and sentences."""
    panels = []
    for kind, exact in calibration.exact.items():
        lines = {"all taggings": exact, f"top {calibration.n}": calibration.top_n[kind]}
        panels.append(Panel(f"{kind} ({exact.count:,})", partial(_draw_reliability, lines=lines)))
    return Picture(
        "reliability",
        "Reliability",
        "Accuracy of the answers of each bin by their mean confidence; bars show the share of the answers.",
        tuple(panels),
        columns=3,
        panel_height=3.2,
    )


def _draw_reliability(axes: "Axes", lines: "dict[str, Reliability]") -> None:
    axes.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1.0)
    for (name, found), color, marker in zip(lines.items(), (BLUE, ORANGE), ("o", "s"), strict=True):
        axes.plot(
            [one.confidence for one in found.bins],
            [one.accuracy for one in found.bins],
            color=color,
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
