"""Draw figures as SVG or PNG in a common style; the same numbers always give the same bytes."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sapo.errors import SapoError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, which colour-blind readers can distinguish.
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
        raise SapoError("figures need matplotlib; pip install 'sapo-nlp[report]'") from None


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
