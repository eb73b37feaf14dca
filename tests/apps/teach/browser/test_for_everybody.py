"""The page for people with a keyboard only, a screen reader, a small screen, or eyes that want contrast and calm."""

import itertools
from typing import Any

import pytest

from teach_screen import Screen, Teach, expect

LABELS = [f"LABEL{number}" for number in range(10)]
WORDS = dict(
    zip(["Anna", "Ben", "Clara", "London", "Oslo", "New", "York", "bank", "hired", "left"], LABELS, strict=True)
)
SIZES = {"wide": (1400, 900), "narrow": (360, 740)}


def violations(screen: Screen) -> list[str]:
    """Return what axe-core finds, as one line each."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = axe.Axe().run(screen.page).response["violations"]
    return [f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize(("scheme", "size"), [("light", "wide"), ("dark", "narrow")])
def test_axe_finds_nothing(teach: Teach, scheme: str, size: str) -> None:
    screen = teach(labels=LABELS, known=WORDS, media={"color_scheme": scheme}, size=SIZES[size])
    for at, word in enumerate(WORDS):  # from pale to strong
        screen.teacher.known[word] = (LABELS[at], 0.3 + 0.07 * at)
    screen.page.reload()
    screen.page.locator(".sentence.current").wait_for()
    screen.press("Enter")
    screen.page.locator(".sentence[data-state=accepted]").wait_for()
    screen.token(screen.current(), 0).click()
    screen.page.locator(".choice").first.wait_for()
    assert violations(screen) == []
    assert screen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    screen.press("l")
    assert violations(screen) == []


def test_axe_finds_nothing_where_words_have_tags(teach: Teach) -> None:
    screen = teach(kind="tags", labels=LABELS, known=WORDS)
    screen.press("?")
    assert violations(screen) == []


def contrast(screen: Screen, element: Any) -> float:
    """Return the contrast of an element's text with what is behind it, as WCAG counts it."""
    return float(
        element.evaluate("""element => {
          const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
          const behind = [];
          // A label hangs below the colored words.
          const start = element.matches(".tag") ? element.closest(".text") : element;
          for (let one = start; one; one = one.parentElement) behind.unshift(getComputedStyle(one).backgroundColor);
          const paint = colors => {
            canvas.clearRect(0, 0, 1, 1);
            for (const color of colors) { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); }
            const light = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map(part => part / 255)
              .map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
            return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
          };
          const [ground, text] = [paint(behind), paint([...behind, getComputedStyle(element).color])];
          return (Math.max(ground, text) + 0.05) / (Math.min(ground, text) + 0.05);
        }""")
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marked_words_and_their_labels_have_contrast_when_selected_too(teach: Teach, scheme: str) -> None:
    words = " ".join(WORDS)
    screen = teach(texts=[words, words], labels=LABELS, known=WORDS, media={"color_scheme": scheme})
    for word, (label, _) in screen.teacher.known.items():
        screen.teacher.known[word] = (label, 0.99)
    screen.page.reload()
    screen.drag(0, 0, len(WORDS) - 1)
    found = [contrast(screen, one) for one in screen.page.locator(".mark .word, .mark .tag").all()]
    assert len(found) == 4 * len(WORDS)
    assert min(found) >= 4.5


def test_a_screen_reader_finds_sentences_words_and_labels(teach: Teach) -> None:
    screen = teach(known={"London": "LOC"})
    sentence = screen.page.get_by_role("listbox", name="Anna met Ben in London., 70 % sure")
    expect()(sentence.get_by_role("group", name="LOC, 70 %")).to_have_count(1)
    expect()(sentence.get_by_role("option", name="London, LOC, 70 %")).to_have_count(1)
    screen.go(0, 4)
    expect()(sentence).to_have_attribute("aria-activedescendant", "t0-4")
    expect()(sentence.get_by_role("option", selected=True)).to_have_count(1)


def test_everything_is_reached_with_tab_and_the_list_is_one_stop(teach: Teach) -> None:
    screen = teach()
    reached = []
    screen.page.locator(".skip").focus()
    for _ in range(14):
        screen.press("Tab")
        reached.append(
            screen.page.evaluate("(({ id, className, tagName }) => id || className || tagName)(document.activeElement)")
        )
    assert reached == [
        "SUMMARY", "who", "show-help", "tab-open", "order", "s0", "accept", "more",
        "label hue-0", "label hue-1", "label hue-2", "new-label-name", "BUTTON", "BODY",
    ]  # fmt: skip


def test_enter_on_a_button_presses_it_and_accepts_nothing(teach: Teach) -> None:
    screen = teach()
    screen.page.locator("#show-help").focus()
    screen.press("Enter")
    expect()(screen.page.get_by_role("dialog", name="Keys")).to_be_visible()
    screen.press("Escape")
    assert screen.posted("accept") == []


def test_the_help_names_every_key(teach: Teach) -> None:
    screen = teach()
    screen.press("?")
    keys = screen.page.locator("#keys kbd").all_text_contents()
    assert {"j", "k", "↓", "↑", "←", "→", "1 – 9", "Enter", "u", "r", "n", "l", "0", "Backspace", "?"} <= set(keys)  # noqa: RUF001
    screen.page.get_by_role("button", name="Close").click()
    expect()(screen.page.get_by_role("dialog")).to_have_count(0)


def test_tabs_are_walked_with_the_arrows(teach: Teach) -> None:
    screen = teach()
    screen.page.get_by_role("tab", name="Open").focus()
    screen.press("ArrowRight")
    expect()(screen.page.get_by_role("tab", name="Accepted", selected=True)).to_be_focused()
    screen.press("ArrowLeft")
    expect()(screen.page.get_by_role("tab", name="Open", selected=True)).to_be_focused()


def test_a_finger_marks_words_and_taps_a_label(teach: Teach) -> None:
    screen = teach(has_touch=True, is_mobile=True, size=SIZES["narrow"])
    screen.token(0, 4).tap()
    screen.page.locator("#bar").get_by_role("button", name="LOC").tap()
    assert screen.labels(0) == ["London/LOC"]
    screen.row(0).get_by_role("button", name="Accept").tap()
    screen.reaches(0, "accepted")


def test_nothing_moves_for_those_who_want_no_motion(teach: Teach) -> None:
    screen = teach()
    screen.go(0, 4)
    screen.press("2")
    screen.press("Enter")
    word = screen.row(1).locator(".token.changed .word")
    word.wait_for()
    assert word.evaluate("element => getComputedStyle(element).animationName") == "none"
    assert word.evaluate("element => getComputedStyle(element).boxShadow") != "none"


@pytest.mark.parametrize("width", [1280, 900, 400])
def test_every_tab_is_seen_at_every_width(teach: Teach, width: int) -> None:
    screen = teach(size=(width, 800))
    screen.teacher.accepted[3] = {"ben": ["O"] * 7}
    screen.page.reload()
    screen.page.locator("#tab-second").wait_for()
    on_top = """tab => { const { left, right, top, bottom } = tab.getBoundingClientRect();
      return [left + 2, right - 2].every(at => tab.contains(document.elementFromPoint(at, (top + bottom) / 2))); }"""
    tabs = screen.page.get_by_role("tab").all()
    assert [tab.evaluate(on_top) for tab in tabs] == [True] * 5
    assert screen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    aside = "aside => [...aside.querySelectorAll('*')].every(one => one.getBoundingClientRect().right <= innerWidth)"
    assert width == 400 or screen.page.locator("aside").evaluate(aside)  # there the labels are a row to scroll


def test_the_name_of_a_label_makes_no_gap_in_its_span(teach: Teach) -> None:
    screen = teach(texts=["# 591823 is a ticket."], known={"#": "TICKET-NUMBER", "591823": "TICKET-NUMBER"})
    number, digits = (screen.token(0, at).bounding_box()["x"] for at in (0, 1))
    assert digits - number < 30  # "#" and a space


def test_the_names_of_neighbors_do_not_run_into_each_other_or_out_of_the_text(teach: Teach) -> None:
    known = {"a": "LONG-LABEL-OF-A", "b": "LONG-LABEL-OF-B", "c": "LONG-LABEL-OF-C"}
    screen = teach(texts=["and a b, then c"], known=known, size=(400, 800))
    names = [one.bounding_box() for one in screen.row(0).locator(".tag-name").all()]
    for one, other in itertools.pairwise(names):
        assert other["y"] > one["y"] + 10 or other["x"] >= one["x"] + one["width"]
    text = screen.row(0).locator(".text").bounding_box()
    assert all(one["x"] + one["width"] <= text["x"] + text["width"] + 1 for one in names)
