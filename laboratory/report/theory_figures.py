"""Draw the figures of the theory."""

from functools import partial
from typing import TYPE_CHECKING, Any

from laboratory.theory.line_figures import Line, LineFigure, LinePanel
from sapo.cli.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, Panel, Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY)
DASHES = ("-", "--", ":", "-.")


def theory_picture(name: str, title: str, figure: LineFigure) -> Picture:
    """Return the picture of a figure, with one legend for all its panels."""
    panels = tuple(Panel(_plain(panel.title), partial(_draw, panel=panel)) for panel in figure.panels)
    looks = {_plain(line.name): _look(line) for panel in figure.panels for line in panel.lines}
    columns = 3 if len(panels) % 3 == 0 else 2
    return Picture(name, title, f"{figure.caption}.", panels, columns, tuple(looks.items()))


def _draw(axes: "Axes", panel: LinePanel) -> None:
    for line in panel.lines:
        axes.plot(line.x, line.y, **_look(line))
    if panel.log_x:
        axes.set_xscale("log", nonpositive="mask")
        _count_ticks(axes)
    if panel.log_y:
        axes.set_yscale("log", nonpositive="mask")
    axes.set_xlabel(_plain(panel.x))
    axes.set_ylabel(_plain(panel.y))


def _count_ticks(axes: "Axes") -> None:
    """Label a logarithmic axis of counts in whole numbers, with some between the powers of ten if there is room."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_formatter(NullFormatter())


def _look(line: Line) -> dict[str, Any]:
    return {"color": COLOURS[line.color % len(COLOURS)], "linestyle": DASHES[line.dash % len(DASHES)]}


def _plain(text: str) -> str:
    """Keep matplotlib from reading a formula between two dollar signs."""
    return text.replace("$", r"\$")
