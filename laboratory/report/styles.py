"""How systems are drawn: the same look in all figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from laboratory.report.system_names import CRF, SAPO
from sapo.cli.plots import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Style:
    """How a system is drawn, the same in all figures."""

    color: str
    line: str
    marker: str
    hatch: str = ""


# A family has one color, and its naive version a broken line: averaging leaves the weights that are trained as they
# are, so that the two often lie on one another.
STYLES = {
    SAPO: Style(VERMILLION, "-", "o"),
    CRF: Style(BLUE, "--", "s"),
    "Perc-Naive": Style(ORANGE, ":", "v", "////"),
    "Perc-Avg": Style(ORANGE, "-", "^"),
    "MIRA-Naive": Style(SKY, ":", "D", "////"),
    "MIRA-Avg": Style(SKY, "-", "d"),
    "MIRA-Nbest-Naive": Style(GREEN, ":", "P", "////"),
    "MIRA-Nbest-Avg": Style(GREEN, "-", "X"),
    "Bi-LSTM": Style(PURPLE, "-.", "<"),
    "Bi-LSTM-CRF": Style(BLACK, "--", ">"),
    "Bi-LSTM-SAPO": Style(GREY, "-", "*"),
    "Bi-LSTM-b1": Style(PURPLE, "-.", "<", "////"),
    "Bi-LSTM-CRF-b1": Style(BLACK, "--", ">", "////"),
    "Bi-LSTM-SAPO-b1": Style(GREY, "-", "*", "////"),
}
PLAIN = Style(GREY, "-", "o")


def style_of(system: str) -> Style:
    return STYLES.get(system, PLAIN)


def line_look(system: str) -> dict[str, Any]:
    style = style_of(system)
    return {
        "color": style.color,
        "linestyle": style.line,
        "marker": style.marker,
        "markerfacecolor": "white" if style.line == ":" else style.color,
        "markeredgewidth": 1.0,
    }


def whole_numbers(axes: "Axes", axis: str = "x") -> None:
    """Put ticks at whole numbers only, as passes have."""
    from matplotlib.ticker import MaxNLocator

    getattr(axes, f"{axis}axis").set_major_locator(MaxNLocator(integer=True, nbins=6))


def mark_every(points: int) -> int:
    """Return the distance between markers that leaves the line visible."""
    return max(1, points // 10)


def legend_order(systems: Sequence[str], present: set[str]) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Return the legend of the systems that are present."""
    return tuple((system, line_look(system)) for system in systems if system in present)
