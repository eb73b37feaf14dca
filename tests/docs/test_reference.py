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
from browser import FLAGS, find_browser
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


def test_the_how_to_pages_stand_in_the_same_groups_on_the_index_and_in_the_navigation() -> None:
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    (entries,) = (entry["How-to"] for entry in nav if "How-to" in entry)
    groups = {heading: pages for entry in entries[1:] for heading, pages in entry.items() if heading != "Move to sapo"}
    index: dict[str, list[dict[str, str]]] = {}
    for line in (DOCS / "how-to" / "index.md").read_text("utf-8").splitlines():
        if line.startswith("## "):
            index[line[3:]] = []
        elif found := re.fullmatch(r"- \[(.+)\]\((.+\.md)\)", line):
            list(index.values())[-1].append({found[1]: f"how-to/{found[2]}"})
    assert {heading: pages for heading, pages in index.items() if heading != "Move to sapo"} == groups


def test_every_page_that_the_source_names_exists() -> None:
    named = {
        page
        for path in (ROOT / "src").rglob("*.*")
        if path.suffix in (".py", ".txt", ".js", ".html")
        for page in re.findall(r"\bdocs/[\w/-]+\.md", path.read_text("utf-8"))
    }
    assert len(named) > 5
    assert [page for page in named if not (ROOT / page).exists()] == []


def test_an_extra_is_installed_in_a_clone_too() -> None:
    pages = [*DOCS.rglob("*.md"), ROOT / "README.md", *(ROOT / "examples").glob("*.py")]
    for page in pages:
        text = page.read_text("utf-8")
        for extra in re.findall(r"sapo-nlp\[([\w,]+)\]", text):
            assert re.search(rf"pip install '(\.|/\S+)\[{extra}\]'", text), (
                f"{page}: how is {extra} installed in a clone?"
            )
    for path in (ROOT / "src").rglob("*.py"):
        assert path.name == "errors.py" or "pip install" not in path.read_text("utf-8"), f"{path}: use pip_install"


def test_the_search_of_the_site_works_when_it_is_opened_as_a_file(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    browser = find_browser()
    if browser is None:
        pytest.skip("no Chromium here: the search is not tested")
    (tmp_path / "worker.js").write_text("self.addEventListener('message', ({data}) => postMessage(data.toUpperCase()))")
    shim = (DOCS / "pictures" / "iframe-worker.js").as_uri()
    (tmp_path / "page.html").write_text(f"<body><script src='{shim}'></script></body>")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=browser, args=FLAGS)
        page = chromium.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        ask = """() => new Promise(answer => { const worker = new Worker("worker.js");
          worker.addEventListener("message", ({ data }) => answer(data)); worker.postMessage("tag"); })"""
        assert page.evaluate(ask) == "TAG"
        chromium.close()


def test_the_python_reference_begins_with_train_and_tagger_and_has_every_name() -> None:
    options = (DOCS / "reference" / "python" / "index.md").read_text("utf-8").split("members:\n")[1]
    names = re.findall(r"^        - (\w+)$", options, re.MULTILINE)
    assert names[:2] == ["train", "Tagger"]
    assert sorted(names) == sorted(set(sapo.__all__) - {"__version__"})
