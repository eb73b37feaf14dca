"""The README: its pictures show what the commands print, and its first commands exist. Its blocks run in test_pages."""

import re
import sys
from html import unescape
from pathlib import Path

from click.testing import CliRunner

from sapo.cli.main import app

ROOT = Path(__file__).parents[2]


def test_the_commands_at_the_top_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    first = (ROOT / "README.md").read_text("utf-8").split("```")[1]
    targets = re.findall(r"^make (\w+)", first, re.MULTILINE)
    assert targets == ["demo", "test"]
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_the_picture_shows_what_the_demo_prints() -> None:
    """Words only: the last digits of scores and times are those of a machine."""
    drawn = re.findall(r"<text[^>]*>([^<]*)</text>", (ROOT / "docs/pictures/demo.svg").read_text("utf-8"))
    printed = CliRunner().invoke(app, ["demo"], catch_exceptions=False).stdout
    words = [re.sub(r"\d+\.\d+", "#", unescape(word)) for word in drawn]
    assert words == ["$", "sapo", "demo", *re.sub(r"\d+\.\d+", "#", printed).split()]


def test_pictures_load_nothing() -> None:
    for picture in (ROOT / "docs" / "pictures").glob("*.svg"):
        text = picture.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|url\(|<script|@import", text), picture.name


def test_the_scripts_of_the_pictures_can_be_imported() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import pictures
    finally:
        sys.path.pop(0)
    assert "<svg" in pictures.terminal("sapo", "B-NP O")
