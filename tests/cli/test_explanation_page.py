"""The page of an explanation: whole, escaped, with nothing from outside."""

import re
from html.parser import HTMLParser

import pytest

import sapo
from sapo.cli.explain import explanation_page, shown_tokens, strength
from sapo.tagger.explain import Explanation, explain

VOID = {"meta", "br", "hr", "img", "link", "input"}
EVIL = ["<script>alert(1)</script>", '"onload=x', "a&b"]


class Reader(HTMLParser):
    """Every element is closed in its place; all text and attributes are gathered."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def evil() -> Explanation:
    """Words, labels and features that would be markup."""
    tagger = sapo.train([(EVIL, ["<b>", "</main>", "O"]), (["x", "y"], ["O", "<b>"])], template="ner")
    return explain(tagger, EVIL, 1, top=5)


def test_the_page_is_well_formed_and_words_are_only_text(evil: Explanation) -> None:
    page = explanation_page(evil)
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    assert set(reader.tags).isdisjoint({"script", "link", "img", "iframe"})
    assert set(reader.attributes) <= {"lang", "charset", "name", "content", "class", "style", "aria-hidden", "scope"}
    for word in (*EVIL, "</main>"):
        assert word in reader.text
    assert reader.tags.count("main") == 1


def test_nothing_comes_from_outside_and_dark_is_there(evil: Explanation) -> None:
    page = explanation_page(evil)
    assert not re.search(r"https?:|url\(|@import|src=|href=", page)
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page


def test_every_contribution_has_a_bar_and_the_longest_is_half_the_track(evil: Explanation) -> None:
    page = explanation_page(evil)
    widths = [float(width) for width in re.findall(r'style="width:([\d.]+)%"', page)]
    assert len(widths) == 5 + bool(evil.others) + len(evil.elsewhere)
    assert max(widths) == 50
    sides = re.findall(r'<span class="(for|against)" style', page)
    assert sides[:5] == ["for" if part.difference >= 0 else "against" for part in evil.contributions]


def test_a_long_sentence_is_cut_around_the_token() -> None:
    tagger = sapo.train([(["a", "b"], ["X", "Y"])] * 3, template="pos")
    why = explain(tagger, ["a", "b"] * 20, 20)
    assert {place for place in range(40) if why.tags[place] != why.rival_tags[place]} <= set(shown_tokens(why))
    assert 20 in shown_tokens(why)
    assert len(shown_tokens(why)) < 40
    assert explanation_page(why).count('class="cut"') == 2
    assert strength(why).startswith(f"score {why.difference:+.4f}: the tagging with {why.tag} is ")
