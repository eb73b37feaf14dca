"""Texts are shown as text, whatever they hold, and marked at the right place."""

import pytest

from teach_screen import Teach, expect

HOSTILE = [
    "<script>window.broken = 1</script> met Ben",
    "<img src=x onerror='window.broken = 1'> & &amp; <b>Ben</b>",
    "javascript:alert(1) {{7*7}} ${window.broken=1} Ben",
    "\u202eneB tem annA\u202c then Ben",
    "שלום Ben מתל אביב",
    "e\u0301te\u0301 cafe\u0301 Ben",
    "🙂 👩‍👩‍👧 \U0001d49cnna met Ben 🏳️‍🌈 too",
    "a\u0000b\u200b\ufeff Ben\ttab\nline",
    "x" * 3000 + " Ben",
    "我在北京见到 Ben 了。",
]


def test_nothing_in_a_text_becomes_markup_and_labels_and_names_neither(teach: Teach) -> None:
    label = "<img src=x onerror=window.broken=1>"
    screen = teach(texts=HOSTILE, labels=[label], known={"Ben": label}, author="<script>window.broken=1</script>")
    screen.token(0, 1).click()
    screen.press("n")
    screen.press("Escape")
    screen.press("Enter")
    screen.reaches(0, "accepted")
    for tab in ("Accepted", "Likely slips", "Disagreements", "Open"):
        screen.page.get_by_role("tab", name=tab).click()
    assert screen.page.evaluate("window.broken") is None
    assert screen.page.locator("main img, main script, main b").count() == 0


@pytest.mark.parametrize("at", range(len(HOSTILE)))
def test_the_words_shown_are_those_of_the_offsets(teach: Teach, at: int) -> None:
    screen = teach(texts=[HOSTILE[at]], known={"Ben": "PER"})
    words = screen.row(0).locator(".word").all_text_contents()
    assert words == screen.teacher.words(0)
    assert screen.row(0).locator(".mark .word").all_text_contents() == [word for word in words if word == "Ben"]
    shown = screen.row(0).locator(".text").evaluate(
        "text => { const copy = text.cloneNode(true); copy.querySelectorAll('.tag').forEach(tag => tag.remove());"
        " return copy.textContent; }"
    )  # fmt: skip
    assert shown == HOSTILE[at]
    assert screen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_marks_beyond_the_basic_plane_are_sent_at_the_right_tokens(teach: Teach) -> None:
    screen = teach(texts=["🙂🙂 Anna met \U0001d49cnna 👩‍👩‍👧 Ben"])
    words = screen.teacher.words(0)
    screen.token(0, words.index("Anna")).click()
    screen.press("1")
    screen.press("Enter")
    screen.reaches(0, "accepted")
    tags = screen.teacher.accepted[0]["anna"]
    assert [word for word, tag in zip(words, tags, strict=True) if tag != "O"] == ["Anna"]


def test_right_to_left_sentences_run_from_right_to_left(teach: Teach) -> None:
    screen = teach(texts=["שלום מתל אביב", "Anna met Ben"])
    boxes = [screen.token(0, at).bounding_box() for at in (0, 2)]
    assert boxes[0]["x"] > boxes[1]["x"]


@pytest.mark.parametrize("kind", ["spans", "tags"])
def test_no_comma_begins_a_line(teach: Teach, kind: str) -> None:
    words = ["Anna", "Ben", "Clara", "New York", "Dora"]
    text = " ".join(f"({word}), and" for word in words * 4)
    screen = teach(texts=[text], kind=kind, known=dict.fromkeys(" ".join(words).split(), "LOC"), size=(500, 700))
    # The distance of each word from the beginning of its line, in boxes of every width.
    wrong = (
        screen.row(0)
        .locator(".text")
        .evaluate("""text => {
      const wrong = [];
      for (let width = 120; width < 420; width += 3) {
        text.style.width = `${width}px`;
        const left = text.getBoundingClientRect().left;
        for (const word of text.querySelectorAll(".word")) {
          if (/[),]/.test(word.textContent) && word.getBoundingClientRect().left < left + 5) wrong.push(width);
        }
      }
      return wrong;
    }""")
    )
    assert wrong == []


def test_an_empty_sentence_can_be_accepted(teach: Teach) -> None:
    screen = teach(texts=["", "Anna"])
    screen.go(0)
    screen.press("1")
    screen.press("ArrowRight")
    screen.press("Enter")
    expect()(screen.row(0)).to_have_attribute("data-state", "accepted")
