"""Blocks in, one page of HTML out that needs nothing else: no scripts, no fonts, no files."""

from collections.abc import Iterable
from html import escape

from laboratory.report.document import Block, Bullets, Code, FigureBlock, Heading, Judged, Table, Text
from laboratory.report.findings import Verdict
from sapo.render.page import whole_page
from sapo.render.plotting import inline_svg

SIGNS = {Verdict.AGREES: "✓", Verdict.IN_PART: "◐", Verdict.DISAGREES: "✗", Verdict.UNKNOWN: "?"}


def to_html(title: str, blocks: Iterable[Block]) -> str:
    return whole_page(title, "\n".join(map(_block, blocks)))


def _block(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{_inline(text)}</h{level}>"
        case Text(text):
            return f"<p>{_inline(text)}</p>"
        case Bullets(items):
            return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>"
        case Code(text):
            return f"<pre><code>{escape(text)}</code></pre>"
        case Table():
            return _table(block)
        case FigureBlock():
            return _figure(block)
        case Judged(verdict, where, text):
            kind = verdict.name.lower().replace("_", "-")
            return (
                f'<div class="finding {kind}"><p class="verdict"><span aria-hidden="true">{SIGNS[verdict]}</span> '
                f"<strong>{_inline(where)}</strong> {verdict}</p><p>{_inline(text)}</p></div>"
            )


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col"{_kind(table, at)}>{_inline(name)}</th>' for at, name in enumerate(table.head))
    rows = "".join(
        "<tr>" + "".join(f"<td{_kind(table, at)}>{_inline(cell)}</td>" for at, cell in enumerate(row)) + "</tr>\n"
        for row in table.rows
    )
    return f'<div class="table"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>'


def _kind(table: Table, at: int) -> str:
    kinds = [*(["number"] if at >= table.words else []), *(["wrapped"] if at in table.wrapped else [])]
    return f' class="{" ".join(kinds)}"' if kinds else ""


def _figure(figure: FigureBlock) -> str:
    label = escape(figure.title)
    wide = inline_svg(figure.svg, figure.name, label)
    narrow = inline_svg(figure.narrow_svg, f"{figure.name}-narrow", label)
    return (
        f'<figure>\n<div class="wide">{wide}</div>\n<div class="narrow">{narrow}</div>\n'
        f"<figcaption><strong>{label}.</strong> {_inline(figure.caption)}</figcaption>\n</figure>"
    )


def _inline(text: str) -> str:
    """
    >>> _inline("p < 0.05 in `a&b`")
    'p &lt; 0.05 in <code>a&amp;b</code>'
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a lone backtick is no code
        return escape(text)
    return "".join(f"<code>{escape(part)}</code>" if at % 2 else escape(part) for at, part in enumerate(parts))
