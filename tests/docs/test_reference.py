"""The reference of the site has every public name and every command."""

import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

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


def test_the_reference_has_every_command_and_option() -> None:
    tools = str(ROOT / "tools")
    sys.path.insert(0, tools)
    try:
        import site_pages
    finally:
        sys.path.remove(tools)
    text = "\n" + site_pages.command_line()
    for name, command in app.commands.items():
        section = text.split(f"\n## sapo {name}\n")[1].split("\n## ")[0]
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.opts[-1] in section, f"sapo {name} {parameter.opts[-1]}"


def test_the_navigation_has_every_page() -> None:
    listed = set(_pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]))
    assert listed == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}


def _pages(entry: object) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    values = entry.values() if isinstance(entry, dict) else entry
    return [page for value in values for page in _pages(value)]  # type: ignore[attr-defined]
