"""Accepting sentences, seeing fresh tags, undoing and redoing."""

from teach_screen import Teach, expect


def test_an_accepted_sentence_is_learned_and_others_are_tagged_anew(teach: Teach) -> None:
    screen = teach()
    screen.go(0, 4)
    screen.press("2")
    screen.press("Enter")
    screen.reaches(0, "accepted")
    expect()(screen.row(1).locator(".mark")).to_have_count(1)
    assert screen.labels(1) == ["London/LOC"]
    assert screen.posted("accept")[0]["tags"] == ["O", "O", "O", "O", "B-LOC", "O"]
    screen.says("1 tag changed")
    assert screen.current() == 1


def test_changed_tags_flash(teach: Teach) -> None:
    screen = teach(media={"reduced_motion": "no-preference"})
    screen.go(0, 4)
    screen.press("2")
    screen.press("Enter")
    changed = screen.row(1).locator(".token.changed")
    changed.wait_for()
    assert changed.locator(".word").text_content() == "London"
    assert changed.locator(".word").evaluate("element => getComputedStyle(element).animationName") == "flash"
    expect()(changed).to_have_count(0)


def test_a_draft_is_not_overwritten_by_what_the_model_learns(teach: Teach) -> None:
    screen = teach()
    screen.go(1, 7)
    screen.press("3")
    screen.go(0, 4)
    screen.press("2")
    screen.press("Enter")
    screen.reaches(0, "accepted")
    assert screen.labels(1) == ["London/ORG"]
    assert screen.state(1) == "draft"


def test_counts_curve_and_model_follow(teach: Teach) -> None:
    screen = teach()
    screen.go(0, 4)
    screen.press("2")
    screen.press("Enter")
    expect()(screen.page.locator("#done")).to_have_text("1 of 4 sentences accepted")
    expect()(screen.page.locator("#labels .count").nth(1)).to_have_text("1")
    assert "right on 40 %" in screen.page.locator("#curve").get_attribute("aria-label")
    expect()(screen.page.locator("#model")).to_have_text("up to date")
    screen.teacher.tell("model")
    expect()(screen.page.locator("#model")).to_have_text("retrained")


def test_undo_goes_back_over_accepts_and_edits_and_redo_forth(teach: Teach) -> None:
    screen = teach()
    screen.go(0, 4)
    screen.press("2")
    screen.press("Enter")
    screen.reaches(0, "accepted")
    screen.press("u")
    screen.reaches(0, "draft")
    assert screen.labels(0) == ["London/LOC"]
    assert screen.current() == 0
    screen.press("u")
    screen.reaches(0, "open")
    assert screen.labels(0) == []
    screen.press("r")
    screen.reaches(0, "draft")
    screen.press("r")
    screen.reaches(0, "accepted")
    assert screen.teacher.accepted[0]["anna"] == ["O", "O", "O", "O", "B-LOC", "O"]


def test_undo_on_a_fresh_page_undoes_what_was_accepted_before(teach: Teach) -> None:
    screen = teach()
    screen.press("Enter")
    screen.reaches(0, "accepted")
    screen.page.reload()
    screen.page.locator(".sentence.current").wait_for()
    screen.press("u")
    screen.reaches(0, "open")
    screen.press("u")
    screen.says("There is nothing to undo.")


def test_one_of_the_best_taggings_is_chosen_by_keyboard(teach: Teach) -> None:
    screen = teach(known={"London": "LOC"})
    screen.go(0)
    screen.press("n")
    expect()(screen.page.locator(".choice").first).to_be_focused()
    screen.press("ArrowDown")
    screen.press("ArrowDown")
    screen.press("Enter")
    assert screen.labels(0) == ["Anna/PER"]
    assert screen.page.evaluate("document.activeElement.id") == "s0"
    screen.press("Enter")
    screen.reaches(0, "accepted")


def test_a_click_on_a_span_shows_its_taggings_and_why(teach: Teach) -> None:
    screen = teach(known={"London": "LOC"})
    screen.token(0, 4).click()
    panel = screen.row(0).locator(".panel")
    expect()(panel.locator(".choice")).to_have_count(3)
    expect()(panel.locator(".choice").first).to_contain_text("62 %")
    expect()(panel.locator(".why h3")).to_have_text("Why “London” is LOC")
    expect()(panel.locator("th").first).to_have_text("word=London")
    panel.locator(".choice").nth(1).click()
    assert screen.labels(0) == []
    expect()(panel).to_have_count(0)


def test_accepted_sentences_and_likely_slips_have_their_lists(teach: Teach) -> None:
    screen = teach()
    screen.go(0, 4)
    screen.press("2")
    screen.press("Enter")
    expect()(screen.row(1).locator(".mark")).to_have_count(1)
    screen.press("1")  # Ben
    screen.press("Enter")
    screen.reaches(1, "accepted")
    screen.page.get_by_role("tab", name="Accepted").click()
    expect()(screen.page.locator(".sentence")).to_have_count(2)
    screen.page.get_by_role("tab", name="Likely slips").click()
    expect()(screen.row(0).locator(".option")).to_contain_text("The model, 97 % sure")
    screen.row(0).get_by_role("button", name="Take these tags").click()
    assert screen.labels(0) == ["Ben/PER", "London/LOC"]
    screen.press("Enter")
    screen.reaches(0, "accepted")
    assert screen.teacher.accepted[0]["anna"] == ["O", "O", "B-PER", "O", "B-LOC", "O"]


def test_the_order_of_the_next_sentences_is_chosen(teach: Teach) -> None:
    screen = teach(known={"bank": "ORG"})
    rows = screen.page.locator(".sentence")
    expect()(rows.first).to_have_attribute("data-id", "3")
    screen.page.get_by_label("Order").select_option("in-order")
    expect()(rows.first).to_have_attribute("data-id", "0")
