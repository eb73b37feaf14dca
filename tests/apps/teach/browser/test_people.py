"""Several people on one project."""

import pytest

from teach_screen import Teach, expect


def test_a_person_sees_what_another_accepts(teach: Teach) -> None:
    anna = teach()
    ben = teach(teacher=anna.teacher, author="ben")
    ben.go(1, 7)
    ben.press("2")
    ben.press("Enter")
    anna.reaches(1, "accepted")
    expect()(anna.row(1)).to_contain_text("accepted by ben")
    expect()(anna.row(0).locator(".tag")).to_have_text("LOC")
    expect()(anna.page.locator("#done")).to_have_text("1 of 4 sentences accepted")


def test_a_person_sees_where_another_works_and_is_not_sent_there(teach: Teach) -> None:
    anna = teach()
    ben = teach(teacher=anna.teacher, author="ben")
    ben.go(1, 7)
    ben.press("2")
    expect()(anna.row(1)).to_contain_text("ben is working on this sentence")
    anna.press("Enter")
    anna.reaches(0, "accepted")
    assert anna.current() == 2
    ben.go(1)
    ben.press("u")
    ben.press("j")
    expect()(anna.row(1)).not_to_contain_text("ben is working")


def test_a_person_cannot_change_what_another_works_on(teach: Teach) -> None:
    anna = teach()
    ben = teach(teacher=anna.teacher, author="ben")
    anna.go(0, 0)
    anna.press("1")
    expect()(ben.row(0)).to_contain_text("anna is working on this sentence")
    ben.go(0, 4)
    for key in ("2", "Enter"):
        ben.press(key)
        expect()(ben.page.get_by_role("alert")).to_contain_text("anna is working on this sentence.")
    assert (ben.labels(0), ben.state(0), ben.posted("accept")) == ([], "open", [])
    expect()(ben.row(0).get_by_role("button", name="Accept")).to_have_count(0)
    anna.press("Enter")
    anna.reaches(0, "accepted")
    ben.reaches(0, "accepted")
    expect()(ben.row(0)).not_to_contain_text("working")


def test_an_accept_that_comes_after_another_person_took_over_is_refused(teach: Teach) -> None:
    anna = teach()
    anna.go(0, 0)
    anna.press("1")
    anna.teacher.locks[0] = "ben"  # of which the page has not heard yet
    anna.press("Enter")
    expect()(anna.row(0)).to_contain_text("Not accepted: ben is working on this sentence")
    assert (anna.labels(0), anna.state(0)) == (["Anna/PER"], "draft")


def test_a_lock_ends_when_its_holder_does_nothing_for_five_minutes(teach: Teach) -> None:
    ben = teach(author="ben")
    anna = teach(teacher=ben.teacher)
    anna.page.clock.install()
    anna.page.reload()
    anna.page.locator(".sentence.current").wait_for()
    anna.go(1, 7)
    anna.press("2")
    expect()(ben.row(1)).to_contain_text("anna is working on this sentence")
    with anna.page.expect_response("**/api/lock"):  # renewed
        anna.page.clock.fast_forward(290_000)
    anna.page.clock.fast_forward(60_000)
    expect()(ben.row(1)).not_to_contain_text("anna is working")
    assert anna.state(1) == "draft"


@pytest.mark.parametrize("how", ["key", "button", "notice"])
def test_both_hear_that_one_takes_over_and_a_draft_survives(teach: Teach, how: str) -> None:
    anna = teach()
    ben = teach(teacher=anna.teacher, author="ben")
    anna.go(0, 0)
    anna.press("1")
    expect()(ben.row(0)).to_contain_text("anna is working on this sentence")
    ben.go(0, 4)
    if how == "key":
        ben.press("t")
    elif how == "button":
        ben.row(0).get_by_role("button", name="Take this sentence over").click()
    else:
        ben.press("2")
        ben.page.get_by_role("alert").get_by_role("button", name="Take over").click()
    expect()(ben.page.locator("#notices")).to_contain_text("You have taken over this sentence. anna has been notified.")
    notice = "ben has taken over “Anna met Ben in London.”. Your changes are still here, but not accepted."
    expect()(anna.page.locator("#notices")).to_contain_text(notice)
    anna.press("Enter")
    expect()(anna.page.get_by_role("alert")).to_contain_text("ben is working on this sentence.")
    ben.press("2")
    ben.press("Enter")
    expect()(anna.row(0)).to_contain_text("accepted by ben")
    expect()(anna.page.locator("#notices")).to_contain_text("ben has accepted “Anna met Ben in London.”.")
    assert anna.labels(0) == ["Anna/PER"]
    anna.press("Enter")
    anna.reaches(0, "accepted")
    assert set(anna.teacher.accepted[0]) == {"anna", "ben"}
    anna.page.get_by_role("tab", name="Disagreements").click()
    expect()(anna.page.locator("#about")).to_contain_text("1 sentence accepted by two people or more")
    expect()(anna.row(0).locator(".option-title")).to_have_text(["ben", "anna"])
    anna.row(0).get_by_role("button", name="Take these tags: ben").click()
    assert anna.labels(0) == ["London/LOC"]


def test_labels_of_others_appear(teach: Teach) -> None:
    anna = teach()
    ben = teach(teacher=anna.teacher, author="ben")
    ben.page.get_by_label("Name of a new label").fill("CITY")
    ben.press("Enter")
    expect()(anna.page.locator("#labels .name")).to_have_text(["PER", "LOC", "ORG", "CITY"])


def test_the_name_is_asked_once(teach: Teach) -> None:
    screen = teach(author="")
    expect()(screen.page.get_by_role("dialog", name="Who is teaching?")).to_be_visible()
    screen.press("Escape")
    screen.type("clara")
    screen.press("Enter")
    expect()(screen.page.locator("#who")).to_have_text("clara")
    screen.page.reload()
    expect()(screen.page.locator("#who")).to_have_text("clara")
    expect()(screen.page.get_by_role("dialog")).to_have_count(0)
    screen.page.locator(".sentence.current").wait_for()
    screen.press("Enter")
    screen.reaches(0, "accepted")
    assert list(screen.teacher.accepted[0]) == ["clara"]
