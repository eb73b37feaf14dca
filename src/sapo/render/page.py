"""The frame of a self-contained HTML page: no scripts, fonts or other files."""

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
