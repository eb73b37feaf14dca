"""Several people on one project."""

from teach_screen import Teach, expect


def test_a_person_sees_what_another_accepts(teach: Teach) -> None:
    anna = teach()
    ben = teach(teacher=anna.teacher, author="ben")
    ben.go(0, 4)
    ben.press("2")
    ben.press("Enter")
    anna.reaches(0, "accepted")
    expect()(anna.row(0)).to_contain_text("accepted by ben")
    expect()(anna.row(1).locator(".tag")).to_have_text("LOC")
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


def test_a_draft_survives_what_another_accepts(teach: Teach) -> None:
    anna = teach()
    ben = teach(teacher=anna.teacher, author="ben")
    anna.go(0, 0)
    anna.press("1")
    ben.go(0, 4)
    ben.press("2")
    ben.press("Enter")
    expect()(anna.row(0)).to_contain_text("accepted by ben")
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
