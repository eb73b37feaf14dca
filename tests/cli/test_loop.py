"""The commands of docs/errors.md can be followed with the sample, and show what the page shows."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sapo
from sapo.check import examine
from sapo.review import find_errors

Run = Callable[..., Any]
DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "errors.md").read_text("utf-8")
FIRST, LOOP = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[list[str]]:
    return [shlex.split(line, comments=True)[1:] for line in text.splitlines()]


def test_the_first_example_shows_what_the_page_shows(run: Run, tmp_path: Path) -> None:
    for command in commands(FIRST):
        told = run(*command, cwd=tmp_path).stdout
    (shown,) = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    without_numbers = [re.sub(r"\d\.\d+|\d+\.\d+", "#", text) for text in (told, shown)]
    assert without_numbers[0].startswith(without_numbers[1])
    report = find_errors(sapo.Tagger.load(tmp_path / "ner.sapo"), tmp_path / "ner-test.txt")
    assert len(report.mistakes) == sum(report.by_kind.values())
    assert examine([tmp_path / "ner-train.txt"]).clean


def test_the_whole_loop_runs(run: Run, house: Any, tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_bytes(house.train.read_bytes())
    (tmp_path / "old.sapo").write_bytes(house.model.read_bytes())
    for command in commands(LOOP):
        run(*command, cwd=tmp_path)
    assert (tmp_path / "errors.html").exists()


def test_the_page_about_checking_shows_what_comes_out(run: Run, tmp_path: Path) -> None:
    run("sample", tmp_path, "-q")
    path = tmp_path / "ner-train.txt"
    lines = path.read_text("utf-8").split("\n")
    lines[14] = lines[14].replace("\tO", "\t0")
    path.write_text("\n".join(lines), "utf-8")
    page = (DOCS / "check.md").read_text("utf-8")
    (shown,) = re.findall(r"^```text\n\$ sapo (.*?)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert run(*shown[0].split(), cwd=tmp_path, ends=1).stdout == shown[1]
