"""The pictures show what commands and pages print, and the first commands of the README exist."""

import re
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner

from sapo.cli.main import app
from sapo.corpus.sample import sample_files

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


def test_the_scripts_of_the_pictures_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import pictures

    assert "<svg" in pictures.terminal("sapo", "B-NP O")


def test_the_lattice_and_the_beam_are_those_that_the_code_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words only: the last digits of probabilities are those of a machine."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import pictures

    for name, content in sample_files().items():
        (tmp_path / name).write_text(content, "utf-8")
    page = pictures.page_names(tmp_path)
    drawn = pictures.lattice(page["x"], page["oracle"], [y.tags for y in page["found"]], page["P"])
    assert drawn_words(drawn) == drawn_words((ROOT / "docs/pictures/lattice.svg").read_text("utf-8"))
    assert drawn_words(pictures.beam_of(tmp_path)) == drawn_words((ROOT / "docs/pictures/beam.svg").read_text("utf-8"))


def drawn_words(picture: str) -> list[str]:
    return [re.sub(r"-?\d+\.\d+", "#", word) for word in re.findall(r">([^<]+)<", picture)]
