"""Write blocks as Markdown."""

import re
from collections.abc import Iterable

from laboratory.report.blocks import Block, Bullets, Code, FigureBlock, Heading, Judged, Table, Text

SPECIAL = re.compile(r"([\\*_<>\[\]|#])")


def to_markdown(blocks: Iterable[Block]) -> str:
    return "\n\n".join(map(_block, blocks)) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {_inline(text)}"
        case Text(text):
            return _inline(text)
        case Bullets(items):
            return "\n".join(f"- {_inline(item)}" for item in items)
        case Code(text):
            fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
            return f"{fence}sh\n{text}\n{fence}"
        case Table():
            return _table(block)
        case FigureBlock(name, title, caption):
            return f"![{_inline(title)}](figures/{name}.svg)\n\n{_inline(f'{title}. {caption}'.strip())}"
        case Judged(verdict, where, text):
            return f"- **{_inline(where)}: {verdict}.** {_inline(text)}"


def _table(table: Table) -> str:
    rule = [":--" if at < table.words else "--:" for at in range(len(table.head))]
    return "\n".join(
        f"| {' | '.join(map(str, cells))} |" for cells in (_cells(table.head), rule, *map(_cells, table.rows))
    )


def _cells(cells: tuple[str, ...]) -> list[str]:
    return [_inline(cell) for cell in cells]


def _inline(text: str) -> str:
    """Escape the special characters of Markdown; code between backticks stays as it is.

    >>> _inline("a_b and `c_d`")
    'a\\\\_b and `c_d`'
    """
    parts = text.replace("\n", " ").split("`")
    if len(parts) % 2 == 0:  # a lone backtick is no code
        return SPECIAL.sub(r"\\\1", text.replace("\n", " ")).replace("`", "\\`")
    return "".join(f"`{part}`" if at % 2 else SPECIAL.sub(r"\\\1", part) for at, part in enumerate(parts))
