"""Nothing that a person did is lost when the server is away or refuses."""

from teach_screen import Teach, expect

LOC = ["O", "O", "O", "O", "B-LOC", "O"]


def test_accepted_sentences_wait_for_a_server_that_is_away(teach: Teach) -> None:
    screen = teach()
    screen.teacher.down = True
    screen.go(0, 4)
    screen.press("2")
    screen.press("Enter")
    screen.press("Enter")
    alert = screen.page.get_by_role("alert")
    expect()(alert).to_contain_text("2 accepted sentences not saved yet, kept in this browser.")
    assert [screen.state(0), screen.state(1)] == ["waiting", "waiting"]
    screen.teacher.down = False
    alert.get_by_role("button", name="Try now").click()
    screen.reaches(1, "accepted")
    assert screen.teacher.accepted[0]["anna"] == LOC
    expect()(alert).to_be_empty()


def test_what_waits_is_sent_after_a_reload(teach: Teach) -> None:
    screen = teach()
    screen.teacher.down = True
    screen.go(0, 4)
    screen.press("2")
    screen.press("Enter")
    screen.press("1")  # a draft of the next one
    expect()(screen.page.get_by_role("alert")).to_contain_text("not saved yet")
    screen.teacher.down = False
    screen.page.reload()
    screen.reaches(0, "accepted")
    assert screen.teacher.accepted[0]["anna"] == LOC
    assert screen.labels(1) == ["Ben/PER"]
    assert screen.state(1) == "draft"


def test_an_accept_that_waits_can_be_undone_and_redone(teach: Teach) -> None:
    screen = teach()
    screen.teacher.down = True
    screen.go(0, 4)
    screen.press("2")
    screen.press("Enter")
    expect()(screen.page.get_by_role("alert")).to_contain_text("not saved yet")
    screen.press("u")
    screen.reaches(0, "draft")
    screen.teacher.down = False
    screen.press("r")
    screen.reaches(0, "accepted")
    assert len(screen.posted("accept")) == 1


def test_a_refused_sentence_comes_back_with_the_reason(teach: Teach) -> None:
    screen = teach()
    screen.teacher.refusal = "label 'LOC' is not in this project"
    screen.go(0, 4)
    screen.press("2")
    screen.press("Enter")
    expect()(screen.row(0)).to_contain_text("Not accepted: label 'LOC' is not in this project")
    assert screen.state(0) == "draft"
    assert screen.labels(0) == ["London/LOC"]
    assert screen.current() == 0


def test_a_page_without_a_server_says_so_and_tries_again(teach: Teach) -> None:
    screen = teach()
    screen.teacher.down = True
    screen.page.get_by_role("tab", name="Accepted").click()
    alert = screen.page.get_by_role("alert")
    expect()(alert).to_contain_text("The sentences could not be loaded. The server does not answer.")
    screen.teacher.down = False
    alert.get_by_role("button", name="Try again").click()
    expect()(screen.page.locator("#about")).to_have_text("No sentence is accepted yet.")


def test_a_label_that_the_server_refuses_is_explained(teach: Teach) -> None:
    screen = teach()
    screen.teacher.down = True
    screen.page.get_by_label("Name of a new label").fill("CITY")
    screen.press("Enter")
    expect()(screen.page.get_by_role("alert")).to_contain_text("The label was not added. The server does not answer.")
    expect()(screen.page.get_by_label("Name of a new label")).to_have_value("CITY")
