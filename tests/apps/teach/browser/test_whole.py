"""The page with the real server: from nothing to a model that tags, over a kill and with two people."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from teach_screen import PATIENCE, Screen, expect

NAMES = ["Anna", "Ben", "Clara", "David", "Emil", "Frida", "Greta", "Hugo", "Ida", "Jonas"]
LABELS = ["PER", "LOC"]
CITIES = ["Lyon", "Oslo", "Riga", "Turin"]
TEXTS = [f"{name} lives in {CITIES[at % 4]}." for at, name in enumerate(NAMES)] + [
    f"In {city} we met {name} again." for city in CITIES for name in NAMES[:3]
]


class Server:
    """`sapo teach` as a process, which can be killed and started again at the same address."""

    def __init__(self, room: Path) -> None:
        self.project, self.port = room / "notes.teach", "0"
        text = room / "notes.txt"
        text.write_text("\n".join(TEXTS), "utf-8")
        self.start(str(text), "-o", str(self.project), "--labels", ",".join(LABELS))

    def start(self, *arguments: str) -> None:
        """Start, and wait until it listens."""
        command = [sys.executable, "-m", "sapo", "teach", *arguments, "--no-browser", "--port", self.port]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        assert self.process.stderr is not None
        places = (re.search(r"http://127\.0\.0\.1:(\d+)/", line) for line in self.process.stderr)
        found = next(filter(None, places), None)
        if found is None:
            self.kill()
            pytest.fail("sapo teach did not start")
        self.address, self.port = found[0], found[1]

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it, however roughly."""
        self.process.send_signal(how)
        assert self.process.stderr is not None
        self.process.stderr.close()
        self.process.wait()


@pytest.fixture
def server(chromium: Any, tmp_path: Path) -> Iterator[Server]:
    """Return a running server of a new project."""
    pytest.importorskip("msgspec", reason="the extra 'serve' is not installed")
    started = Server(tmp_path)
    yield started
    started.kill(signal.SIGTERM)


@pytest.fixture
def person(chromium: Any, server: Server) -> Iterator[Callable[[str, int], Screen]]:
    """Return a function that opens the page for a person."""
    contexts: list[Any] = []

    def opened(name: str, first: int) -> Screen:
        contexts.append(chromium.new_context(reduced_motion="reduce"))
        contexts[-1].set_default_timeout(PATIENCE)
        page = contexts[-1].new_page()
        page.goto(server.address)
        page.locator("#author-name").fill(name)
        page.keyboard.press("Enter")
        page.locator(".sentence.current").wait_for()
        page.get_by_label("Order").select_option("in-order")
        # The order before may begin with the same sentence: wait for the answer, which would undo a selection.
        expect()(page.locator("#list")).not_to_have_attribute("aria-busy", "true")
        expect()(page.locator(".sentence").first).to_have_attribute("data-id", str(first))
        return Screen(page, None)  # type: ignore[arg-type]

    yield opened
    for context in contexts:
        context.close()


def mark(screen: Screen, at: int, names: str, cities: str) -> None:
    """Mark a sentence as it should be, and accept it.

    With the keyboard: fresh tags of the model may move a word away from under the mouse.
    """
    words = screen.row(at).locator(".word").all_text_contents()
    wanted = []
    for token, word in enumerate(words):
        if word in (*NAMES, *CITIES):
            key = names if word in NAMES else cities
            screen.go(at, token)
            screen.press(key)
            wanted.append(f"{word}/{LABELS[int(key) - 1]}")
    assert screen.labels(at) == wanted
    screen.press("Enter")
    screen.reaches(at, "accepted")


def test_people_teach_from_nothing_and_lose_nothing_by_a_kill(
    server: Server, person: Callable[[str, int], Screen]
) -> None:
    anna = person("anna", 1)
    learns(anna)
    survives(anna, server)
    exports(anna)
    disagree(person("ben", 7), anna)


def learns(anna: Screen) -> None:
    """Accepted sentences teach the model, and the page shows what it has learned."""
    expect()(anna.page.locator(".sentence")).to_have_count(len(TEXTS))
    for at in range(1, 7):
        mark(anna, at, "1", "2")
    # The model has learned: sentences that nobody has looked at are tagged.
    expect()(anna.row(8).locator(".tag")).to_have_text(["PER", "LOC"])
    expect()(anna.page.locator("#done")).to_have_text(f"6 of {len(TEXTS)} sentences accepted")
    expect()(anna.page.locator("#curve")).to_have_attribute("aria-label", re.compile("right on"))
    anna.token(8, 0).click()
    expect()(anna.row(8).locator(".choice")).to_have_count(5)
    expect()(anna.row(8).locator(".why th").first).to_be_visible()
    anna.row(8).locator(".choice").nth(1).click()
    anna.reaches(8, "draft")


def survives(anna: Screen, server: Server) -> None:
    """A server that is killed loses nothing, and the page keeps what it could not send."""
    server.kill()
    anna.press("u")  # the chosen tagging
    anna.reaches(8, "open")
    anna.press("Enter")
    expect()(anna.page.get_by_role("alert")).to_contain_text("1 accepted sentence not saved yet")
    server.start(str(server.project))
    anna.page.get_by_role("button", name="Try now").click()
    anna.reaches(8, "accepted")
    anna.press("u")
    anna.reaches(8, "open")
    anna.press("r")
    anna.reaches(8, "accepted")


def exports(anna: Screen) -> None:
    """What was accepted can be downloaded."""
    with anna.page.expect_download() as download:
        anna.page.get_by_text("Export").click()
        anna.page.get_by_role("link", name="jsonl").click()
    lines = [json.loads(line) for line in download.value.path().read_text("utf-8").splitlines()]
    assert [line["tokens"][0] for line in lines] == ["Anna", "Ben", "Clara", "David", "Emil", "Frida", "Hugo"]


def disagree(ben: Screen, anna: Screen) -> None:
    """Two people see each other, and where they disagree."""
    ben.row(9).locator(".gutter").click()
    expect()(anna.row(9)).to_contain_text("ben is working on this sentence")
    mark(ben, 9, "1", "2")
    anna.reaches(9, "accepted")
    expect()(anna.row(9)).to_contain_text("accepted by ben")
    anna.page.get_by_role("tab", name="Second look").click()
    expect()(anna.page.locator(".sentence")).to_have_count(1)
    assert anna.labels(9) == []  # anna is not shown what ben said
    mark(anna, 9, "2", "2")
    anna.page.get_by_role("tab", name="Disagreements").click()
    expect()(anna.page.locator("#about")).to_contain_text("1 sentence accepted by two people or more")
    expect()(anna.row(9).locator(".option-title")).to_have_text(["ben", "anna"])
