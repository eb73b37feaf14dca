"""Lines in, a figure as SVG text out. Small on purpose: an experiment must not need matplotlib."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555")
DASHES = ("", "6 3", "2 2", "8 3 2 3")
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, ROW = 300, 230, 52, 26, 40, 18
FONT = 'font-family="DejaVu Sans, sans-serif"'


@dataclass(frozen=True, slots=True)
class Line:
    """A name for the legend, points, a colour and a dash by number. Points that an axis cannot show are left out."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: int = 0
    dash: int = 0


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    x: str
    y: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False


def figure(panels: Sequence[Panel], title: str) -> str:
    """Panels side by side, and one legend for all below."""
    legend = list({line.name: line for panel in panels for line in panel.lines}.values())
    columns = max(1, (WIDTH * len(panels) - LEFT) // 150)
    rows = -(-len(legend) // columns)
    width, height = WIDTH * len(panels), HEIGHT + ROW * rows + 8
    size = f'width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" {FONT} font-size="10">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *(_panel(panel, WIDTH * at) for at, panel in enumerate(panels)),
    ]
    for at, line in enumerate(legend):
        x, y = LEFT + 150 * (at % columns), HEIGHT + ROW * (at // columns) + 10
        parts.append(f'<line x1="{x}" y1="{y - 3}" x2="{x + 24}" y2="{y - 3}" {_stroke(line)}/>')
        parts.append(f'<text x="{x + 29}" y="{y}">{escape(line.name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(panel: Panel, x: int) -> str:
    shown = [[(a, b) for a, b in zip(line.x, line.y, strict=True) if _fits(a, b, panel)] for line in panel.lines]
    points = [point for line in shown for point in line] or [(1.0, 1.0)]
    left, right, top, bottom = x + LEFT, x + WIDTH - 12, TOP, HEIGHT - BOTTOM
    across, x_ticks = _axis([a for a, _ in points], panel.log_x, left, right)
    up, y_ticks = _axis([b for _, b in points], panel.log_y, bottom, top)
    parts = [f'<text x="{left}" y="15" font-weight="bold">{escape(panel.title)}</text>']
    for value, text in x_ticks:
        at = f"{across(value):.1f}"
        parts.append(f'<line x1="{at}" y1="{top}" x2="{at}" y2="{bottom}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{at}" y="{bottom + 13}" text-anchor="middle">{text}</text>')
    for value, text in y_ticks:
        at = f"{up(value):.1f}"
        parts.append(f'<line x1="{left}" y1="{at}" x2="{right}" y2="{at}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{left - 4}" y="{at}" dy="3" text-anchor="end">{text}</text>')
    parts.append(f'<line x1="{left}" y1="{bottom}" x2="{right}" y2="{bottom}" stroke="#555555"/>')
    parts.append(f'<text x="{(left + right) / 2}" y="{bottom + 28}" text-anchor="middle">{escape(panel.x)}</text>')
    middle = (top + bottom) / 2
    turned = f'transform="rotate(-90 {x + 10} {middle})"'
    parts.append(f'<text x="{x + 10}" y="{middle}" text-anchor="middle" {turned}>{escape(panel.y)}</text>')
    for line, some in zip(panel.lines, shown, strict=True):
        path = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in some)
        parts.append(f'<polyline points="{path}" fill="none" {_stroke(line)}/>')
    return "\n".join(parts)


def _stroke(line: Line) -> str:
    dash = f' stroke-dasharray="{DASHES[line.dash % len(DASHES)]}"' if line.dash % len(DASHES) else ""
    return f'stroke="{COLOURS[line.colour % len(COLOURS)]}" stroke-width="1.6"{dash}'


def _fits(a: float, b: float, panel: Panel) -> bool:
    return math.isfinite(a) and math.isfinite(b) and (a > 0 or not panel.log_x) and (b > 0 or not panel.log_y)


def _axis(
    values: Sequence[float], log: bool, begin: float, end: float
) -> tuple[Callable[[float], float], list[tuple[float, str]]]:
    """Where a value stands between begin and end, and the ticks."""
    scale: Callable[[float], float] = math.log10 if log else float
    low, high = scale(min(values)), scale(max(values))
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    room = 0.04 * (high - low)
    low, high = low - room, high + room

    def place(value: float) -> float:
        return begin + (scale(value) - low) / (high - low) * (end - begin)

    if log:
        every = max(1, math.ceil((high - low) / 6))
        powers = range(math.ceil(low), math.floor(high) + 1, every)
        ticks = [10.0**power for power in powers]
        if len(ticks) < 2:
            ticks = [10**low, 10 ** ((low + high) / 2), 10**high]
    else:
        step = 10 ** math.floor(math.log10((high - low) / 2))
        step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 6)
        ticks = [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return place, [(tick, f"{tick:,.0f}" if tick >= 1000 else f"{tick:.3g}") for tick in ticks]
