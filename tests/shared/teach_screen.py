"""The page of `sapo teach` as a person uses it, for tests in a browser."""

from collections.abc import Callable
from typing import Any

from teach_stand_in import Teacher

TEXTS = [
    "Anna met Ben in London.",
    "Ben lives in Oslo, not in London.",
    "Anna and Clara left New York.",
    "The bank of Oslo hired Clara.",
]
LABELS = ["PER", "LOC", "ORG"]
PATIENCE = 20_000  # milliseconds: much more than anything takes, for machines that are busy


class Screen:
    """A page as a person uses it."""

    def __init__(self, page: Any, teacher: Teacher) -> None:
        self.page, self.teacher = page, teacher
        self.press = page.keyboard.press
        self.type = page.keyboard.type

    def row(self, at: int) -> Any:
        """Return a sentence on the screen."""
        return self.page.locator(f".sentence[data-id='{at}']")

    def token(self, at: int, token: int) -> Any:
        """Return a word on the screen."""
        return self.page.locator(f"#t{at}-{token}")

    def labels(self, at: int) -> list[str]:
        """Return the marked spans of a sentence as `text/label`."""
        marks = self.row(at).locator(".mark").all()
        return [
            f"{''.join(mark.locator('.word').all_text_contents())}/{mark.locator('.tag').text_content()}"
            for mark in marks
        ]

    def go(self, at: int, token: int = 0) -> None:
        """Go to a word with the keyboard's cursor."""
        self.row(at).locator(".gutter").click()
        for _ in range(token):
            self.press("ArrowRight")

    def drag(self, at: int, start: int, end: int) -> None:
        """Drag the mouse from one word to another."""
        self.token(at, start).hover()
        self.page.mouse.down()
        self.token(at, end).hover()
        self.page.mouse.up()

    def state(self, at: int) -> str:
        """Return open, draft, waiting or accepted."""
        return str(self.row(at).get_attribute("data-state"))

    def current(self) -> int:
        """Return the sentence that a person is at."""
        return int(self.page.locator(".sentence.current").get_attribute("data-id"))

    def reaches(self, at: int, state: str) -> None:
        """Wait until a sentence has a state."""
        expect()(self.row(at)).to_have_attribute("data-state", state)

    def says(self, words: str) -> None:
        """Wait until a screen reader is told something."""
        expect()(self.page.locator("#announcer")).to_contain_text(words)

    def posted(self, name: str) -> list[dict[str, Any]]:
        """Return what the page sent to a path."""
        return [body for path, body in self.teacher.heard if path == name]


Teach = Callable[..., Screen]  # the fixture that opens a page


def expect() -> Any:
    """Return Playwright's `expect`, which waits; imported late, because it may not be installed."""
    from playwright.sync_api import expect as waiting

    waiting.set_options(timeout=PATIENCE)
    return waiting
