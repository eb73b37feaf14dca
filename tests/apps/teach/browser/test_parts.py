"""Marking a part of a word: by a double click, or with the keyboard."""

from teach_screen import Screen, Teach, expect

TEXTS = ["Send lamp2pack, not packs.", "Anna met Ben.", "It costs 12.50 now."]


def open_page(teach: Teach, **more: object) -> Screen:
    """Open a page where red/blue and #12 are one token each."""
    screen = teach(texts=["Send red/blue now.", *TEXTS], labels=["COLOR", "ITEM"], **more)
    screen.teacher.tokens[0] = [[0, 4], [5, 13], [14, 17], [17, 18]]
    screen.teacher.tokens[3] = [[0, 2], [3, 8], [9, 14], [15, 18], [18, 19]]
    screen.page.reload()
    screen.page.locator(".sentence.current").wait_for()
    return screen


def double_click(screen: Screen, at: int, token: int, share: float) -> None:
    """Double-click somewhere in a word; 0 is its left end, and 1 its right end."""
    word = screen.token(at, token).locator(".word")
    box = word.bounding_box()
    word.dblclick(position={"x": share * box["width"], "y": box["height"] / 2})


def words(screen: Screen, at: int) -> list[str]:
    return list(screen.row(at).locator(".word").all_text_contents())


def test_a_double_click_marks_the_part_of_a_word(teach: Teach) -> None:
    screen = open_page(teach)
    double_click(screen, 0, 1, 0.9)
    assert words(screen, 0) == ["Send", "red/", "blue", "now", "."]
    screen.press("1")
    assert screen.labels(0) == ["blue/COLOR"]
    double_click(screen, 0, 1, 0.1)
    screen.press("1")
    assert screen.labels(0) == ["red/COLOR", "blue/COLOR"]
    screen.press("Enter")
    screen.reaches(0, "accepted")
    (accepted,) = screen.posted("accept")
    assert (accepted["tags"], accepted["cuts"]) == (["O", "B-COLOR", "O", "B-COLOR", "O", "O"], [8, 9])
    assert words(screen, 0) == ["Send", "red", "/", "blue", "now", "."]


def test_a_word_that_is_split_and_not_marked_is_whole_again(teach: Teach) -> None:
    screen = open_page(teach)
    double_click(screen, 0, 1, 0.9)
    assert screen.state(0) == "draft"
    screen.press("j")
    assert (words(screen, 0), screen.state(0)) == (["Send", "red/blue", "now", "."], "open")
    screen.go(0)
    double_click(screen, 0, 1, 0.1)
    screen.press("Enter")
    screen.reaches(0, "accepted")
    assert (screen.posted("accept")[0]["tags"], screen.posted("accept")[0]["cuts"]) == (["O"] * 4, [])


def test_a_split_is_undone_and_redone(teach: Teach) -> None:
    screen = open_page(teach)
    double_click(screen, 0, 1, 0.1)
    screen.press("1")
    screen.press("u")
    screen.press("u")
    assert (words(screen, 0), screen.labels(0)) == (["Send", "red/blue", "now", "."], [])
    screen.press("r")
    screen.press("r")
    assert (words(screen, 0)[1:3], screen.labels(0)) == (["red", "/blue"], ["red/COLOR"])
    screen.press("Enter")
    screen.reaches(0, "accepted")
    screen.press("u")
    screen.reaches(0, "draft")
    assert (words(screen, 0)[1:3], screen.labels(0)) == (["red", "/blue"], ["red/COLOR"])


def test_a_word_is_split_anywhere_with_the_keyboard(teach: Teach) -> None:
    screen = open_page(teach)
    screen.go(1, 1)
    screen.press("s")
    expect()(screen.page.get_by_role("dialog", name="Split the word")).to_be_visible()
    field = screen.page.locator("#split-word")
    field.fill("lamp 2 packs")
    screen.press("Enter")
    expect()(screen.page.locator("#split-problem")).to_have_text("Add nothing but spaces: the word is “lamp2pack”.")
    field.fill("lamp 2 pack")
    screen.press("Enter")
    expect()(screen.page.get_by_role("dialog")).to_have_count(0)
    assert words(screen, 1)[1:4] == ["lamp", "2", "pack"]
    screen.press("ArrowRight")
    screen.press("2")
    screen.press("Enter")
    screen.reaches(1, "accepted")
    assert screen.posted("accept")[0]["cuts"] == [10]
    assert screen.labels(1) == ["pack/ITEM"]


def test_a_draft_with_a_split_word_survives_a_reload_and_cuts_of_others(teach: Teach) -> None:
    anna = open_page(teach)
    double_click(anna, 0, 1, 0.1)
    anna.press("1")
    anna.page.reload()
    anna.page.locator(".sentence.current").wait_for()
    assert (words(anna, 0)[1:3], anna.labels(0)) == (["red", "/blue"], ["red/COLOR"])
    anna.teacher.accept(0, ["O", "O", "B-COLOR", "O", "O"], "ben", [], [9])
    expect()(anna.row(0)).to_contain_text("accepted by ben")
    assert (words(anna, 0)[1:4], anna.labels(0)) == (["red", "/", "blue"], ["red/COLOR"])
    anna.teacher.locks.clear()
    anna.press("Enter")
    anna.reaches(0, "accepted")
    assert anna.posted("accept")[0]["cuts"] == [8]
    assert anna.teacher.accepted[0]["anna"] == ["O", "B-COLOR", "O", "O", "O", "O"]


def test_a_number_or_a_plain_word_is_not_split(teach: Teach) -> None:
    screen = open_page(teach)
    double_click(screen, 3, 2, 0.1)
    double_click(screen, 3, 1, 0.1)
    assert words(screen, 3) == ["It", "costs", "12.50", "now", "."]
    assert screen.state(3) == "open"
