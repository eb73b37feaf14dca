"""Build HTML pages: one style, tables, bars and charts for all of them."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files


class Html(str):
    """Text that is HTML already: it is not escaped again."""

    __slots__ = ()


def whole_page(title: str, body: str, more_style: str = "") -> str:
    """Return a page with this title and body, which is HTML already, in the style of all pages."""
    style = files("sapo.cli").joinpath("page.css").read_text("utf-8") + more_style
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n"
        "</html>\n"
    )


def write_page(path: str, page: str) -> None:
    """Write a page to a file."""
    from sapo.corpus.files import write_file

    with write_file(path) as stream:
        stream.write(page.encode("utf-8", "replace"))


def element(name: str, content: str, style: str = "") -> str:
    """Return an element, with this class if it has one. The content is escaped unless it is `Html`.

    >>> element("p", "a < b"), element("p", Html("<b>a</b>"), "soft")
    ('<p>a &lt; b</p>', '<p class="soft"><b>a</b></p>')
    """
    inner = content if isinstance(content, Html) else escape(content)
    return f'<{name} class="{style}">{inner}</{name}>' if style else f"<{name}>{inner}</{name}>"


def table(
    titles: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Collection[int] = (),
    wrapped: Collection[int] = (),
) -> str:
    """Return a table. The columns `numbers` are aligned to the right, the columns `wrapped` have long texts.

    >>> table(["a"], [["<b>"]])
    '<div class="table"><table><tr><th>a</th></tr>\\n<tr><td>&lt;b&gt;</td></tr></table></div>'
    """
    styles = ["number" if at in numbers else "wrapped" if at in wrapped else "" for at in range(len(titles))]

    def row(kind: str, cells: Sequence[str]) -> str:
        return element("tr", Html("".join(element(kind, *pair) for pair in zip(cells, styles, strict=True))))

    lines = [row("th", titles), *(row("td", cells) for cells in rows)]
    return '<div class="table"><table>' + "\n".join(lines) + "</table></div>"


def bars(rows: Sequence[tuple[str, float, str]]) -> str:
    """Return a list of bars, each with its name, its length, and the text at its end."""
    longest = max((length for _, length, _ in rows), default=0) or 1
    lines = [
        f"<li>{element('span', name, 'name')}{element('span', shown, 'value')}"
        f'<span class="track" aria-hidden="true"><span style="width:{100 * length / longest:.2f}%"></span></span></li>'
        for name, length, shown in rows
    ]
    return '<ul class="counts">\n' + "\n".join(lines) + "\n</ul>"


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a chart: what it shows, its range, and the values with a label."""

    title: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]


WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 440, 300, 66, 14, 46, 18  # of a chart, in units of its own
Place = Callable[[float], float]


def chart(x: Axis, y: Axis, draw: Callable[[Place, Place], Iterable[str]], caption: str) -> str:
    """Return a figure with an inline SVG, which needs no other package and follows the colors of the page.

    `draw` returns the elements inside the axes; it gets the functions that turn values into places.
    """

    def across(value: float) -> float:
        return LEFT + (value - x.low) / ((x.high - x.low) or 1) * (WIDTH - LEFT - RIGHT)

    def down(value: float) -> float:
        return HEIGHT - BOTTOM - (value - y.low) / ((y.high - y.low) or 1) * (HEIGHT - TOP - BOTTOM)

    bottom = HEIGHT - BOTTOM
    lines = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(caption, quote=True)}">']
    for value, label in y.ticks:
        at = down(value)
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{escape(label)}</text>')
    for value, label in x.ticks:
        lines.append(f'<text x="{across(value):.1f}" y="{bottom + 18}" text-anchor="middle">{escape(label)}</text>')
    lines.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    lines.append(f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x.title)}</text>')
    lines.append(
        f'<text transform="translate(13 {bottom / 2 + TOP}) rotate(-90)" text-anchor="middle">{y.title}</text>'
    )
    return "\n".join(
        ['<figure class="chart">', *lines, *draw(across, down), "</svg>", element("figcaption", caption), "</figure>"]
    )
