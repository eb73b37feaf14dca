"""A thousand sentences: loaded page by page, drawn when they come near the screen."""

from teach_screen import Teach, expect

LONG = "Anna and Ben went with Clara to Oslo and to London, where the old bank of New York had hired them again, number"


def test_a_thousand_sentences_are_loaded_page_by_page_and_drawn_when_near(teach: Teach) -> None:
    names = {"Anna": "PER", "Ben": "PER", "Oslo": "LOC", "London": "LOC"}
    screen = teach(texts=[f"{LONG} {number}." for number in range(1000)], known=names)
    screen.page.get_by_label("Order").select_option("in-order")
    rows = screen.page.locator(".sentence")
    expect()(rows.first).to_have_attribute("data-id", "0")
    expect()(rows).to_have_count(50)
    for loaded in (200, 350, 500, 650, 800, 950, 1000):
        screen.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        # or more: where the end is still on the screen, the page goes on by itself
        screen.page.wait_for_function("count => document.querySelectorAll('.sentence').length >= count", arg=loaded)
    expect()(rows).to_have_count(1000)
    # Leaps pass over most sentences: these are plain text as yet.
    assert screen.page.locator(".sentence:has(.token)").count() < 500
    screen.page.evaluate("window.scrollTo(0, 0)")
    # A person at sentence 3 accepts: the page sends what is on the screen, not what is loaded.
    screen.row(3).locator(".gutter").click()
    screen.press("Enter")
    screen.reaches(3, "accepted")
    assert 1 <= len(screen.posted("accept")[0]["visible"]) <= 60


def test_what_lies_below_the_screen_is_ranked_anew_as_the_model_learns(teach: Teach) -> None:
    screen = teach(texts=[f"Anna saw number {number}." for number in range(60)])
    expect()(screen.page.locator(".sentence")).to_have_count(50)
    screen.teacher.before["55"] = ("ORG", 0.31)  # with the next lesson this becomes the least sure
    for _ in range(5):
        screen.press("Enter")
    screen.reaches(4, "accepted")
    order = "all => all.map(one => Number(one.dataset.id))"
    screen.row(55).locator(".tag").wait_for(state="attached")
    places = screen.page.locator(".sentence").evaluate_all(order)
    assert places[:6] == [0, 1, 2, 3, 4, 5]  # what a person sees has not moved
    assert places.index(55) < 30


def test_what_comes_onto_the_screen_is_tagged_by_the_model_of_now(teach: Teach) -> None:
    screen = teach(texts=[*(f"Anna saw number {number}." for number in range(40)), "Anna left."])
    expect()(screen.page.locator(".sentence")).to_have_count(41)
    screen.press("1")
    screen.press("Enter")
    screen.reaches(0, "accepted")
    assert screen.labels(40) == []  # it was not on the screen
    screen.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    expect()(screen.row(40).locator(".tag")).to_have_text("PER")
