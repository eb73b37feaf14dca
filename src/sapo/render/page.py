"""The frame of a self-contained HTML page: no scripts, fonts or other files."""

from collections.abc import Collection, Iterable, Sequence
from html import escape
from importlib.resources import files


def whole_page(title: str, body: str, more_style: str = "") -> str:
    """Return a page with this title and body, in the style of all pages. The body is HTML already."""
    style = files("sapo.render").joinpath("page.css").read_text("utf-8") + more_style
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n"
        "</html>\n"
    )


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], numbers: Collection[int] = ()) -> str:
    """Return a table of texts, which are escaped; the columns `numbers` stand on the right.

    >>> table(["a"], [["<b>"]])
    '<div class="table"><table><tr><th>a</th></tr>\\n<tr><td>&lt;b&gt;</td></tr></table></div>'
    """

    def row(cells: Sequence[str], kind: str) -> str:
        styles = [' class="number"' if place in numbers else "" for place in range(len(cells))]
        made = (f"<{kind}{style}>{escape(cell)}</{kind}>" for cell, style in zip(cells, styles, strict=True))
        return f"<tr>{''.join(made)}</tr>"

    lines = [row(titles, "th"), *(row(cells, "td") for cells in rows)]
    return '<div class="table"><table>' + "\n".join(lines) + "</table></div>"


def bars(rows: Sequence[tuple[str, float, str]]) -> str:
    """Return a list of bars: the name, which is escaped, the length, and what is written at the end."""
    longest = max((length for _, length, _ in rows), default=0) or 1
    lines = [
        f'<li><span class="name">{escape(name)}</span><span class="value">{escape(shown)}</span>'
        f'<span class="track" aria-hidden="true"><span style="width:{100 * length / longest:.2f}%"></span></span></li>'
        for name, length, shown in rows
    ]
    return '<ul class="counts">\n' + "\n".join(lines) + "\n</ul>"
