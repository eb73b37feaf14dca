"""sapo errors: text, JSON and a page."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def test_the_text_has_all_parts(run: Run, house: Any) -> None:
    text = run("errors", house.model, house.test, "--top", 2).stdout
    assert text.startswith(f"{house.test}: 10 sentences,")
    assert "F1" in text
    assert "the least sure" in text


def test_json_holds_every_mistake(run: Run, house: Any) -> None:
    report = json.loads(run("errors", house.model, house.test, "--json").stdout)
    assert sum(report["kinds"].values()) == len(report["mistakes"])
    assert report["scores"]["sentences"] == 10
    assert len(report["least_sure"]) == 10


def test_the_page_is_whole_and_escaped(run: Run, house: Any, tmp_path: Path) -> None:
    data, page = tmp_path / "test.txt", tmp_path / "page.html"
    data.write_text("<script> NN B-NP\n& NN O\nruns VBZ B-<b>\n\n")
    done = run("errors", house.model, data, "--html", page)
    text = page.read_text("utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "<b>" not in text
    assert text.endswith("</html>\n")
    assert done.stdout.startswith(f"{data}: 1 sentence")


@pytest.mark.parametrize(
    "args", [("{test}", "{test}"), ("{model}", "missing.txt"), ("{model}", "{test}", "--top", "0")]
)
def test_mistakes_are_one_line(run: Run, house: Any, args: tuple[str, ...]) -> None:
    done = run("errors", *(arg.format(test=house.test, model=house.model) for arg in args), ends=2)
    assert len(done.stderr.splitlines()) == 1
