"""Every code block of the documentation runs, and prints what the page shows."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from doc_pages import Page, all_pages, comparable, page_comments, read_blocks
from sapo.corpus.sample import sample_files

ROOT = Path(__file__).parents[2]
PAGES = {path.relative_to(ROOT).as_posix(): path for path in all_pages(ROOT)}
RUN = [name for name, path in PAGES.items() if any(block.runs for block in read_blocks(path.read_text("utf-8")))]


@pytest.fixture(scope="module")
def sample() -> dict[str, str]:
    return sample_files()


@pytest.mark.parametrize("name", RUN)
def test_the_blocks_of_a_page_run_and_print_what_it_shows(name: str, sample: dict[str, str], tmp_path: Path) -> None:
    text = PAGES[name].read_text("utf-8")
    for module in page_comments(text, "needs"):
        if not find_spec(module):
            pytest.skip(f"{module} is not installed")
    for file, content in sample.items():
        (tmp_path / file).write_text(content, "utf-8")
    for block, printed, shown in Page(text, tmp_path).run():
        told, wanted = comparable(printed), comparable(shown)
        if wanted[-1] == "...":
            wanted.pop()
            told = told[: len(wanted)]
        assert told == wanted, f"{name}:{block.line} shows something else than is printed:\n{printed}"


@pytest.mark.parametrize("name", PAGES)
def test_a_block_has_a_language_and_a_reason_if_it_is_not_run(name: str) -> None:
    text = PAGES[name].read_text("utf-8")
    fences = re.findall(r"^ *```(\w*)", text, re.MULTILINE)
    assert all(fences[::2]), "a block without a language"
    for block in read_blocks(text):
        assert len(block.comments.get("not run", "a reason")) > 7, f"{name}:{block.line}"


def test_most_pages_run() -> None:
    assert len(RUN) > 25


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    for place in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", PAGES[name].read_text("utf-8")):
        assert (PAGES[name].parent / place).exists(), place
