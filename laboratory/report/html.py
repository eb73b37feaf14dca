"""Write blocks as one page of HTML that needs nothing else: no scripts, no fonts, no files."""

from collections.abc import Iterable
from html import escape
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from laboratory.report.blocks import Block
from laboratory.report.drawing import inline_svg
from laboratory.report.findings import Verdict
from sapo.cli.pages import whole_page

SIGNS = {Verdict.AGREES: "✓", Verdict.IN_PART: "◐", Verdict.DISAGREES: "✗", Verdict.UNKNOWN: "?"}
TEMPLATES = Path(__file__).parent / "templates"


def to_html(title: str, blocks: Iterable[Block]) -> str:
    """Return the whole page; templates/report.html says how each kind of block looks."""
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["code_spans"] = code_spans
    templates.filters["inline_svg"] = _inline_svg
    templates.filters["kind"] = lambda block: type(block).__name__
    return whole_page(title, templates.get_template("report.html").render(blocks=list(blocks), signs=SIGNS).strip())


def code_spans(text: str) -> list[tuple[str, bool]]:
    """Split a text at its backticks; say of each part whether it is code.

    >>> code_spans("p < 0.05 in `a&b`"), code_spans("a lone `")
    ([('p < 0.05 in ', False), ('a&b', True), ('', False)], [('a lone `', False)])
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a lone backtick is no code
        return [(text, False)]
    return [(part, at % 2 == 1) for at, part in enumerate(parts)]


def _inline_svg(svg: bytes, prefix: str, label: str) -> Markup:
    """Mark a figure as HTML already: matplotlib has drawn it here, and escaped all texts in it."""
    return Markup(inline_svg(svg, prefix, escape(label)))
