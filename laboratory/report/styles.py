"""How systems are drawn: the same look in all figures."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from laboratory.report.systems import STYLES, Style
from sapo.render.plotting import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLAIN = Style(GREY, "-", "o")


def style_of(system: str) -> Style:
    return STYLES.get(system, PLAIN)


def line_look(system: str) -> dict[str, Any]:
    style = style_of(system)
    return {
        "color": style.colour,
        "linestyle": style.line,
        "marker": style.marker,
        "markerfacecolor": "white" if style.line == ":" else style.colour,
        "markeredgewidth": 1.0,
    }


def whole_numbers(axes: "Axes", axis: str = "x") -> None:
    """A pass has a whole number."""
    from matplotlib.ticker import MaxNLocator

    getattr(axes, f"{axis}axis").set_major_locator(MaxNLocator(integer=True, nbins=6))


def mark_every(points: int) -> int:
    """So many points that markers do not hide the line."""
    return max(1, points // 10)


def legend_order(systems: Sequence[str], present: set[str]) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """The legend of those systems that are there, with their looks."""
    return tuple((system, line_look(system)) for system in systems if system in present)
