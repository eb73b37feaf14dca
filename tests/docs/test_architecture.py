"""The page about the architecture names the rooms and files that there are."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "sapo"
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")
PLACES = sorted(set(re.findall(r"`([\w.-]+/[\w./-]*|[\w-]+\.(?:py|toml))`", PAGE)))


def rooms_of_the_page() -> list[str]:
    _, section = PAGE.split("\n## Rooms\n")
    return re.findall(r"^\| `(\w+)` \|", section.split("\n## ")[0], re.MULTILINE)


def rooms_of_the_contract() -> list[str]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    return [room.strip() for layer in layers for room in layer.split("|")]


def rooms_of_the_package() -> set[str]:
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    return modules | {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


def test_the_rooms_are_those_of_the_contract_in_its_order() -> None:
    assert rooms_of_the_page() == rooms_of_the_contract()


def test_the_rooms_are_those_of_the_package() -> None:
    found = rooms_of_the_page()
    assert len(set(found)) == len(found)
    assert set(found) == rooms_of_the_package()


@pytest.mark.parametrize("place", PLACES)
def test_what_the_page_names_exists(place: str) -> None:
    assert any((directory / place).exists() for directory in (ROOT, PACKAGE, PACKAGE.parent)), place


def test_the_page_names_many_files() -> None:
    assert len(PLACES) > 60


def test_the_tree_has_every_file_with_its_docstring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from house import with_tree

    assert with_tree(PAGE, PACKAGE) == PAGE, "run python tools/house.py --tree"
