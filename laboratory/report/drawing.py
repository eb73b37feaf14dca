"""Draw the figures of the report, as files and for the inside of its page."""

import re
from dataclasses import dataclass

from sapo.cli.plots import Picture, save


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure as files, and once more with one panel a row, for a narrow screen."""

    picture: Picture
    svg: bytes
    png: bytes
    narrow_svg: bytes


def draw(picture: Picture) -> Drawn:
    return Drawn(
        picture,
        svg=save(picture, picture.columns, "svg"),
        png=save(picture, picture.columns, "png"),
        narrow_svg=save(picture, 1, "svg"),
    )


def inline_svg(svg: bytes, prefix: str, label: str) -> str:
    """Return the SVG for the inside of a page: no header, no foreign addresses, ids that no other figure has."""
    text = svg[svg.index(b"<svg") :].decode("utf-8")
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\s(?:xmlns(?::\w+)?|version)="[^"]*"', "", text)
    text = text.replace("xlink:href=", "href=")
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'href="#', f'href="#{prefix}-', text)
    text = re.sub(r"url\(#", f"url(#{prefix}-", text)
    # as wide as the page allows, but a single panel is not blown up
    text = re.sub(r'<svg\b([^>]*?)\swidth="([^"]*)"', r'<svg\1 style="max-width: calc(1.35 * \2)"', text, count=1)
    text = re.sub(r'<svg\b([^>]*?)\sheight="[^"]*"', r"<svg\1", text, count=1)
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1).strip()
