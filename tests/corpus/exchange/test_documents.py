"""Documents with spans of characters become sentences with tags: no span is cut, and what is changed is told."""

import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.corpus.annotations import CharSpan
from sapo.corpus.exchange.documents import Cut, Document, Notices, cut_document, fit_spans
from sapo.corpus.exchange.format import counted_by_browser, from_browser, to_browser
from sapo.corpus.exchange.label_studio import read_span
from sapo.errors import DataWarning, SapoError
from sapo.text.splitter import Splitter


def cut(text: str, *spans: tuple[int, int, str], tokens: Sequence[tuple[int, int]] | None = None) -> Cut:
    notices = Notices("a.jsonl")
    found = tuple(CharSpan(*span) for span in spans)
    made = cut_document(Document("a.jsonl:3", 3, text, found, tokens), True, notices, Splitter())
    notices.close()
    return made


def test_a_span_that_cuts_a_token_splits_it_and_the_message_names_the_token() -> None:
    made = cut("In preTokyo days", (6, 11, "LOC"))
    sentence = made.sentences[0]
    assert sentence.words == ("In", "pre", "Tokyo", "days")
    assert sentence.tags == ("O", "O", "B-LOC", "O")
    (split,) = made.splits
    assert split.message == "a.jsonl:3: span 6:11 'Tokyo' begins inside the token 'preTokyo' (3:11)"
    assert (split.chunk, split.border) == ("preTokyo", 3)
    (split,) = cut("Both LumiLamp/SolarPack broke", (5, 13, "PRODUCT")).splits
    assert split.message.endswith("span 5:13 'LumiLamp' ends inside the token 'LumiLamp/SolarPack' (5:23)")


class CountedText(str):
    """Counts how many characters were copied from it."""

    copied = 0

    def __getitem__(self, key: Any) -> str:
        found = super().__getitem__(key)
        self.copied += len(found)
        return found


def test_many_spans_of_a_long_text_do_not_copy_it_as_often() -> None:
    text = CountedText(" " * 1000 + "a b " * 500 + " " * 1000)
    spans = [CharSpan(number, len(text) - number, "X") for number in range(1000)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        _, kept, _ = fit_spans(text, Splitter().tokens(str(text)), spans, "a:1", Notices("a"))
        assert fit_spans(text, [], [CharSpan(0, 5, "X")], "a:1", Notices("a")) == ([], [], [])  # blanks
    assert kept == [CharSpan(1000, 2999, "X")]
    assert text.copied < 100 * len(text)


def test_many_spans_of_a_text_with_emoji_are_moved_without_reading_it_as_often() -> None:
    text = CountedText("😀" + "a " * 1000)
    for number in range(1000):
        value = {"start": 2 * number + 2, "end": 2 * number + 3, "text": "a", "labels": ["X"]}
        assert read_span(text, value, "a:1").start in (2 * number + 1, 2 * number + 2)
    assert text.copied < 10 * len(text)
    assert not read_span(text, {"start": 0, "end": 2001, "text": "a", "labels": ["X"]}, "a:1").start
    assert text.copied < 10 * len(text)


def test_of_spans_that_overlap_the_longest_is_kept() -> None:
    with pytest.warns(DataWarning, match=r"span 7:10 'PER' \('Ann'\) overlaps 0:15 'ORG'.*which is kept; left out"):
        made = cut("Friend Ann Lees", (7, 10, "PER"), (0, 15, "ORG"))
    assert made.sentences[0].tags == ("B-ORG", "I-ORG", "I-ORG")


def test_no_sentence_ends_inside_a_span() -> None:
    text = "He met Dr. No. Then he left."
    assert len(cut(text).sentences) == 2
    assert [one.words for one in cut(text, (7, 19, "X")).sentences] == [
        ("He", "met", "Dr.", "No", ".", "Then", "he", "left", ".")
    ]


def test_blanks_at_the_ends_of_a_span_do_not_count() -> None:
    assert cut("Anna sings", (0, 5, "PER")).sentences[0].tags == ("B-PER", "O")
    with pytest.warns(DataWarning, match="span 4:5 'PER' .*is empty; left out"):
        assert cut("Anna sings", (4, 5, "PER")).sentences[0].tags == ("O", "O")


def test_a_span_outside_the_text_is_refused() -> None:
    with pytest.raises(SapoError, match=r"^a.jsonl:3: span 5:50 'X' is not in the text, which has 10 characters"):
        cut("Anna sings", (5, 50, "X"))


def test_only_the_first_few_changes_are_told_one_by_one() -> None:
    with pytest.warns(DataWarning) as told:
        cut("aaaa " * 9, *((5 * at, 5 * at, "X") for at in range(9)))
    assert len(told) == 6
    assert str(told[-1].message) == "a.jsonl: 4 more spans like these"


def test_a_long_document_with_many_spans_takes_no_quadratic_time() -> None:
    text = "Anna 😀 sings. " * 5_000
    spans = tuple(CharSpan(at, at + 4, "PER") for at in range(0, len(text), 14))
    browser = to_browser(text, spans)
    assert counted_by_browser(text, browser)
    made = cut_document(Document("a", 1, text, tuple(from_browser(text, browser))), True, Notices("a"), Splitter())
    assert tuple(made.spans([one.tags or () for one in made.sentences])) == spans


@given(st.text(st.sampled_from("a😀é")), st.data())
def test_a_browser_counts_units_of_utf_16(text: str, data: st.DataObject) -> None:
    start, end = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))))
    (span,) = to_browser(text, [CharSpan(start, end, "X")])
    units = text.encode("utf-16-le")
    assert units[2 * span.start : 2 * span.end].decode("utf-16-le") == text[start:end]
    assert from_browser(text, [span]) == [CharSpan(start, end, "X")]


texts = st.text(st.sampled_from("ab. A\n!?é\U0001f600日"), max_size=40)


@given(texts, st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9), st.sampled_from("XY")), max_size=4))
@pytest.mark.filterwarnings("ignore::sapo.errors.DataWarning")
def test_spans_that_do_not_overlap_come_back_as_they_were(text: str, places: list[tuple[int, int, str]]) -> None:
    spans: list[CharSpan] = []
    for start, size, label in sorted(places):
        piece = text[start : start + size]
        if piece and piece == piece.strip() and (not spans or spans[-1].end <= start):
            spans.append(CharSpan(start, start + len(piece), label))
    made = cut(text, *((span.start, span.end, span.type) for span in spans))
    assert made.spans([sentence.tags or () for sentence in made.sentences]) == spans
    for sentence in made.sentences:
        assert sentence.text is not None
        assert tuple(sentence.text[a:b] for a, b in sentence.offsets or ()) == sentence.words
