"""The reference of the site has every public name and every command."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import click
import pytest
import yaml

import sapo
from sapo.cli.main import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INSIDE = {"cli", "jit", "apps"}  # rooms without names for users
SHOWN = set(re.findall(r"^::: (\S+)", "".join(p.read_text("utf-8") for p in DOCS.rglob("*.md")), re.MULTILINE))


def public_modules() -> list[str]:
    found = [name for _, name, _ in iter_modules(sapo.__path__) if name not in INSIDE and not name.startswith("_")]
    return ["sapo", *(f"sapo.{name}" for name in found if name != "neural" or find_spec("torch"))]


@pytest.mark.parametrize("name", [name for name in public_modules() if hasattr(import_module(name), "__all__")])
def test_every_module_with_public_names_is_in_the_reference(name: str) -> None:
    assert name in SHOWN


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_what_the_reference_shows_exists(name: str) -> None:
    assert find_spec(name)


@pytest.fixture
def site_pages(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return import_module("site_pages")


def test_the_reference_has_every_command_and_option(site_pages: Any) -> None:
    text = "\n" + site_pages.command_line()
    for name, command in app.commands.items():
        section = text.split(f"\n## sapo {name}\n")[1].split("\n## ")[0]
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.opts[-1] in section, f"sapo {name} {parameter.opts[-1]}"


@pytest.mark.parametrize("page", ["reference/learners.md", "how-to/neural.md"])
def test_the_tables_of_options_are_made_from_the_declarations(site_pages: Any, page: str) -> None:
    text = (DOCS / page).read_text("utf-8")
    assert "<!-- options: " in text
    assert site_pages.with_options(text) == text, "run python tools/site_pages.py"


def test_the_navigation_has_every_page() -> None:
    listed = set(_pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]))
    assert listed == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}


def _pages(entry: object) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    values = entry.values() if isinstance(entry, dict) else entry
    return [page for value in values for page in _pages(value)]  # type: ignore[attr-defined]
