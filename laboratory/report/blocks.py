"""The blocks a report is made of; `html` and `markdown` write the same blocks in their own ways.

In texts, `code` stands between backticks and everything else is plain.
"""

from dataclasses import dataclass

from laboratory.report.findings import Verdict


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Code:
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """The first `words` columns hold words, the others numbers; of those in `wrapped` the words may break."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    wrapped: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FigureBlock:
    """A figure by its name in `figures/`; its SVG for wide and for narrow pages."""

    name: str
    title: str
    caption: str
    svg: bytes
    narrow_svg: bytes


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding: the verdict, where, and the numbers in words."""

    verdict: Verdict
    where: str
    text: str


Block = Heading | Text | Bullets | Code | Table | FigureBlock | Judged
