"""Marking words with the mouse and with the keyboard."""

import pytest

from teach_screen import Teach, expect


def test_dragging_over_words_and_pressing_a_number_marks_a_span(teach: Teach) -> None:
    screen = teach()
    screen.drag(2, 4, 5)
    screen.press("2")
    assert screen.labels(2) == ["NewYork/LOC"]
    assert screen.state(2) == "draft"


def test_dragging_backwards_marks_the_same_words(teach: Teach) -> None:
    screen = teach()
    screen.drag(2, 5, 4)
    screen.page.locator("#bar").get_by_role("button", name="LOC").click()
    assert screen.labels(2) == ["NewYork/LOC"]
    expect()(screen.page.locator("#bar")).to_be_hidden()


def test_the_keyboard_alone_marks_a_span(teach: Teach) -> None:
    screen = teach()
    screen.go(2, 4)
    screen.press("Shift+ArrowRight")
    screen.press("2")
    assert screen.labels(2) == ["NewYork/LOC"]
    screen.says("New York: LOC")


@pytest.mark.parametrize("key", ["Backspace", "Delete", "0"])
def test_a_label_is_taken_off_the_whole_span_at_the_cursor(teach: Teach, key: str) -> None:
    screen = teach(known={"New": "LOC", "York": "LOC"})
    screen.go(2, 5)
    screen.press(key)
    assert screen.labels(2) == []


def test_a_number_relabels_the_span_at_the_cursor(teach: Teach) -> None:
    screen = teach(known={"New": "LOC", "York": "LOC"})
    screen.go(2, 4)
    screen.press("3")
    assert screen.labels(2) == ["NewYork/ORG"]


def test_words_marked_exactly_are_cut_off_a_span(teach: Teach) -> None:
    screen = teach(known={"New": "LOC", "York": "LOC"})
    screen.token(2, 5).dblclick()
    screen.press("1")
    assert screen.labels(2) == ["New/LOC", "York/PER"]


def test_shift_and_a_click_mark_up_to_a_word(teach: Teach) -> None:
    screen = teach()
    screen.token(2, 4).click()
    screen.token(2, 5).click(modifiers=["Shift"])
    screen.press("2")
    assert screen.labels(2) == ["NewYork/LOC"]


def test_j_and_k_and_the_arrows_move_between_sentences(teach: Teach) -> None:
    screen = teach()
    places = []
    for key in ("j", "ArrowDown", "k", "ArrowUp", "ArrowUp"):
        screen.press(key)
        places.append(screen.current())
    assert places == [1, 2, 1, 0, 0]
    assert screen.page.evaluate("document.activeElement.id") == "s0"


def test_hovering_shows_how_sure_the_model_is(teach: Teach) -> None:
    screen = teach(known={"London": "LOC"})
    screen.token(0, 4).hover()
    expect()(screen.page.locator("#tip")).to_have_text("LOC · 70 %")


def test_the_less_sure_the_paler(teach: Teach) -> None:
    screen = teach(known={"London": "LOC", "Oslo": "LOC"})
    screen.teacher.known["Oslo"] = ("LOC", 0.4)
    screen.page.reload()
    color = "element => getComputedStyle(element).backgroundColor.match(/[\\d.]+(?=\\))/)[0]"
    pale, strong = (screen.row(1).locator(".mark").nth(at).evaluate(color) for at in (0, 1))
    assert float(pale) < float(strong)


def test_a_label_is_made_on_the_page_and_used(teach: Teach) -> None:
    screen = teach(labels=[])
    screen.page.get_by_label("Name of a new label").fill("CITY")
    screen.press("Enter")
    expect()(screen.page.locator("#labels .name")).to_have_text(["CITY"])
    screen.go(0, 4)
    screen.press("1")
    assert screen.labels(0) == ["London/CITY"]


def test_a_label_is_found_by_a_part_of_its_name_or_made(teach: Teach) -> None:
    screen = teach(labels=["PERSON", "PLACE"])
    screen.go(0, 4)
    screen.press("l")
    screen.type("lac")
    screen.press("Enter")
    assert screen.labels(0) == ["London/PLACE"]
    screen.press("l")
    screen.type("CITY")
    screen.press("Enter")
    expect()(screen.row(0).locator(".tag")).to_have_text("CITY")
    assert screen.teacher.labels == ["PERSON", "PLACE", "CITY"]


def test_each_word_has_a_tag_in_a_project_of_tags(teach: Teach) -> None:
    screen = teach(kind="tags", labels=["NOUN", "VERB", "PUNCT"], known={"met": "VERB", ".": "PUNCT"})
    tags = screen.row(0).locator(".tag")
    expect()(tags).to_have_text(["NOUN", "VERB", "NOUN", "NOUN", "NOUN", "PUNCT"])
    screen.drag(0, 2, 3)
    screen.press("2")
    expect()(tags).to_have_text(["NOUN", "VERB", "VERB", "VERB", "NOUN", "PUNCT"])


def test_a_word_without_a_tag_is_shown_before_the_sentence_is_accepted(teach: Teach) -> None:
    screen = teach(kind="tags", labels=["NOUN", "VERB", "PUNCT"])
    screen.go(0, 3)
    screen.press("0")
    screen.press("Home")
    screen.press("Enter")
    expect()(screen.page.get_by_role("alert")).to_contain_text("“in” has no label yet")
    expect()(screen.page.locator(".cursor .word")).to_have_text("in")
    assert screen.posted("accept") == []
