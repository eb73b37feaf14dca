"""The frame of a page of HTML that needs nothing else: no scripts, no fonts, no files."""

from html import escape
from importlib.resources import files


def whole_page(title: str, body: str, more_style: str = "") -> str:
    """The body, which is HTML already, in the look of all pages."""
    style = files("sapo.render").joinpath("page.css").read_text("utf-8") + more_style
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n"
        "</html>\n"
    )
