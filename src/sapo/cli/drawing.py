"""Draw a dependency tree: as text for a terminal, one word a line, and as SVG with arcs above the words."""

import unicodedata
from collections.abc import Sequence
from xml.sax.saxutils import escape

from sapo.corpus.treebank import UDSentence
from sapo.errors import harmless

LEVEL = 32  # pixels between arcs of different heights
LETTER = 8.5  # pixels of a letter
GAP = 24  # pixels between words
STYLE = (
    "text{font:14px sans-serif;text-anchor:middle}path{fill:none;stroke:#888}"
    ".r{font-size:11px;fill:#555}.t{font-size:11px;fill:#06c}"
)


def draw_text(sentence: UDSentence) -> str:
    """Return a tree as text: each word below its head and further right, with relation and UPOS.

    >>> from sapo.corpus.treebank import UDWord
    >>> words = UDWord("Dogs", upos="NOUN", head=2, deprel="nsubj"), UDWord("bark", upos="VERB", head=0, deprel="root")
    >>> print(draw_text(UDSentence((), words)), end="")
    ┌─ Dogs  nsubj  NOUN
    bark     root   VERB
    """
    heads = sentence.heads
    children: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, 1):
        children[head].append(word)
    fronts = _fronts(children)
    left = [front + harmless(word.form) for front, word in zip(fronts, sentence.words, strict=True)]
    names = [harmless(word.deprel) for word in sentence.words]
    widths = max(map(_width, left), default=0), max(map(_width, names), default=0)
    lines = [
        f"{_padded(one, widths[0])}  {_padded(name, widths[1])}  {harmless(word.upos)}\n"
        for one, name, word in zip(left, names, sentence.words, strict=True)
    ]
    return "".join(lines)


def _fronts(children: Sequence[Sequence[int]]) -> list[str]:
    """Return the lines before each word. A word's lines are those of its head, and a branch of its own.

    Where arcs cross, words stand in their order all the same, and a branch passes through other subtrees.
    """
    depth = [0] * len(children)
    order = list(children[0])
    for word in order:
        for child in children[word]:
            depth[child] = depth[word] + 1
            order.append(child)
    rows = [[" "] * (3 * max(depth, default=0)) for _ in range(len(children))]
    for head in order:
        if not children[head]:
            continue
        column = 3 * depth[head]
        first, last = min(head, *children[head]), max(head, *children[head])
        for row in range(first, last + 1):
            if row in children[head]:
                rows[row][column] = "┌" if row == first else "└" if row == last else "├"
                for at in (column + 1, column + 2):
                    rows[row][at] = "─" if at == column + 1 else " "
            elif row != head and rows[row][column] == " ":
                rows[row][column] = "│"
    return ["".join(rows[word][: 3 * depth[word]]) for word in range(1, len(children))]


def _width(text: str) -> int:
    return sum((unicodedata.east_asian_width(c) in "WF") + (not unicodedata.combining(c)) for c in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def draw_svg(sentence: UDSentence) -> str:
    """Return a tree as SVG: words with UPOS below them, and an arc from each head to its dependents."""
    heads = sentence.heads
    widths = [LETTER * max(_width(word.form), _width(word.upos), _width(word.deprel)) for word in sentence.words]
    middles, at = [], float(GAP)
    for width in widths:
        middles.append(at + width / 2)
        at += width + GAP
    heights = _heights(heads)
    top = LEVEL * (max(heights, default=0) + 1)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{at:.0f}" height="{top + 60}">',
        f"<style>{STYLE}</style>",
    ]
    for word, head, x, height in zip(sentence.words, heads, middles, heights, strict=True):
        lines.append(f'<text x="{x:.1f}" y="{top + 24}">{_xml(word.form)}</text>')
        lines.append(f'<text class="t" x="{x:.1f}" y="{top + 42}">{_xml(word.upos)}</text>')
        if head == 0:
            lines.append(f'<path d="M{x:.1f} 14V{top + 6}"/>')
            lines.append(f'<text class="r" x="{x:.1f}" y="11">{_xml(word.deprel)}</text>')
            continue
        start = middles[head - 1] + (5 if x > middles[head - 1] else -5)
        y = top - LEVEL * height
        lines.append(f'<path d="M{start:.1f} {top + 6}C{start:.1f} {y} {x:.1f} {y} {x:.1f} {top + 6}"/>')
        lines.append(
            f'<text class="r" x="{(start + x) / 2:.1f}" y="{y + LEVEL * height / 4:.1f}">{_xml(word.deprel)}</text>'
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _heights(heads: Sequence[int]) -> list[int]:
    """Return how high the arc to each word is: above all arcs between its ends; 0 for the root."""
    arcs = sorted(
        ((min(word, head), max(word, head), word) for word, head in enumerate(heads, 1) if head),
        key=lambda arc: arc[1] - arc[0],
    )
    heights = [0] * len(heads)
    done: list[tuple[int, int, int]] = []
    for first, last, word in arcs:
        inside = (height for a, b, height in done if first <= a and b <= last)
        heights[word - 1] = 1 + max(inside, default=0)
        done.append((first, last, heights[word - 1]))
    return heights


def _xml(text: str) -> str:
    """Return text for XML, which has no place for control characters."""
    return escape("".join(c if c.isprintable() else "\ufffd" for c in text))
