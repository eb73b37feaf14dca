"""A browser, and the page of `sapo teach` in it with the stand-in for the server."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from browser import FLAGS, find_browser
from teach_screen import LABELS, PATIENCE, TEXTS, Screen, Teach
from teach_stand_in import Stage, Teacher, stage


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """Chromium, once for all tests here. Its event loop must end before other tests: they run loops of their own."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium here: the page of sapo teach is not tested")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def server(chromium: Any) -> Iterator[Stage]:
    """Return the stand-in for the server; one for all tests, so that the browser keeps the files of the page."""
    with stage() as started:
        yield started


@contextmanager
def new_page(chromium: Any, **settings: Any) -> Iterator[Any]:
    """Open an empty page of a person who has nothing in common with others."""
    context = chromium.new_context(**settings)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda line: page.complaints.append(line.text) if line.type == "error" else None)
    yield page
    context.close()


@pytest.fixture(scope="package")
def shared_page(chromium: Any) -> Iterator[Any]:
    """Return a page that the tests use one after the other."""
    with new_page(chromium) as page:
        yield page


def begin(page: Any, address: str, author: str, media: dict[str, str]) -> None:
    """Show the page to a person whose name is known and of whom nothing else is kept."""
    page.complaints.clear()
    page.emulate_media(**{"reduced_motion": "reduce", "color_scheme": "light", **media})
    page.goto(f"{address}/icon.svg")
    page.evaluate("localStorage.clear()")
    if author:
        page.evaluate("name => localStorage.setItem('sapo-teach:person:name', name)", json.dumps(author))
    page.goto(address)
    if author:
        page.locator(".sentence.current").wait_for()


@pytest.fixture
def teach(chromium: Any, server: Stage, shared_page: Any) -> Iterator[Teach]:
    """Return a function that opens the page for a new project, or, with `teacher`, as another person."""
    pages: list[Any] = []
    with ExitStack() as stack:

        def start(
            *, teacher: Teacher | None = None, texts: list[str] = TEXTS, labels: list[str] = LABELS,
            kind: str = "spans", known: dict[str, str] | None = None, author: str = "anna",
            media: dict[str, str] | None = None, size: tuple[int, int] = (1200, 800), **settings: Any,
        ) -> Screen:  # fmt: skip
            if teacher is None:
                teacher = Teacher(texts, labels, kind=kind, known=known)
                server.show(teacher)
            fresh = bool(pages or settings)
            page = stack.enter_context(new_page(chromium, **settings)) if fresh else shared_page
            pages.append(page)
            page.set_viewport_size({"width": size[0], "height": size[1]})
            begin(page, server.address, author, media or {})
            return Screen(page, teacher)

        yield start
        # Whatever the browser complains about fails the test; a server that a test takes down is no fault of the page.
        complaints = [words for page in pages for words in page.complaints if "Failed to load resource" not in words]
        shared_page.goto("about:blank")
        server.hush()
        assert complaints == []
