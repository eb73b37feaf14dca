"""Word functions on ordinary and on odd strings."""

import itertools
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sapo.errors import SapoError
from sapo.features import words
from sapo.features.regex import Regex
from sapo.features.words import WORD_FUNCTIONS, ColumnView

ANY = st.text(st.characters(), max_size=12)  # lone surrogates too
ODD = [
    "",
    " ",
    "\x00",
    "ß",
    "ŉ",
    "İ",
    "ǅ",
    "²",
    "٣",
    "½",
    "e\u0301",
    "\U0001f469\u200d\U0001f680",
    "\ud800",
    "漢字",
    "-",
]


def argument_of(name: str) -> int | str | None:
    function = WORD_FUNCTIONS[name]
    return 2 if function.number else ".?.?$" if function.regex else None


@pytest.mark.parametrize("word", ODD)
@pytest.mark.parametrize("name", WORD_FUNCTIONS)
def test_every_function_takes_odd_strings(name: str, word: str) -> None:
    values = ColumnView("word", ((name, argument_of(name)),)).apply(word)
    assert all(isinstance(value, str) for value in values)
    assert len(values) <= 1 or WORD_FUNCTIONS[name].many
    assert len(set(values)) == len(values)


@pytest.mark.parametrize(
    ("word", "normalized", "shape", "short_shape"),
    [
        ("", "", "", ""),
        ("ABC", "abc", "AAA", "A"),
        ("Straße-12", "straße-##", "Aaaaaa-##", "Aa-#"),
        ("Ünïcödé", "ünïcödé", "Aaaaaaa", "Aa"),
        ("٣-B", "#-b", "#-A", "#-A"),
        ("漢字kanji", "漢字kanji", "aaaaaaa", "a"),
        ("e\u0301a", "e\u0301a", "a\u0301a", "a\u0301a"),
        ("...", "...", "...", "."),
    ],
)
def test_forms_of_a_word(word: str, normalized: str, shape: str, short_shape: str) -> None:
    assert words.normalized(word) == normalized
    assert words.shape(word) == shape
    assert words.short_shape(word) == short_shape


@settings(deadline=None, max_examples=60)
@given(ANY)
@example("İ")
def test_a_shape_has_a_character_for_each_of_the_word_and_the_short_one_has_no_runs(word: str) -> None:
    shape, short = words.shape(word), words.short_shape(word)
    assert len(shape) == len(word)
    assert short == "".join(character for character, _ in itertools.groupby(shape))


@settings(deadline=None, max_examples=60)
@given(ANY, st.integers(1, 14))
def test_prefix_and_suffix_are_as_long_as_asked_or_nothing(word: str, length: int) -> None:
    prefix, suffix = words.prefix(word, length), words.suffix(word, length)
    if len(word) < length:
        assert prefix is None
        assert suffix is None
    else:
        assert prefix == "".join(list(word)[:length])
        assert suffix == "".join(list(word)[len(word) - length :])


@settings(deadline=None, max_examples=60)
@given(ANY, st.integers(1, 6))
def test_substrings_are_all_of_them_once(word: str, longest: int) -> None:
    marked = f"<{word}>"
    expected = {marked[a:b] for a in range(len(marked)) for b in range(a + 1, len(marked) + 1) if b - a <= longest}
    found = words.substrings(word, longest)
    assert set(found) == expected
    assert len(found) == len(expected)


@pytest.mark.parametrize(
    ("word", "classes"),
    [
        ("", []),
        ("walk", []),
        ("Walk", ["capital", "first-capital"]),
        ("USA", ["capital", "first-capital", "all-capital"]),
        ("iPhone", ["capital", "inner-capital"]),
        ("IL-2", ["capital", "first-capital", "digit", "hyphen"]),
        ("1926", ["digit", "number"]),
        ("12:30", ["digit", "number", "mark"]),
        ("4th", ["digit"]),
        ("-", ["hyphen"]),
        ("--", ["hyphen"]),
        ("...", ["mark", "only-marks"]),
        ("don't", ["mark"]),
    ],
)
def test_classes_of_a_word(word: str, classes: list[str]) -> None:
    assert words.classes(word) == classes


def test_a_function_of_nothing_is_nothing() -> None:
    assert ColumnView("word", (("suffix", 3), ("shape", None))).apply("ab") == []
    assert ColumnView("word", (("suffix", 3), ("substrings", 2))).apply("ab") == []
    assert ColumnView("word", (("suffix", 2), ("shape", None))).apply("xAb") == ["Aa"]


CHAINS = [
    *(((name, argument_of(name)),) for name in WORD_FUNCTIONS),
    (("lower", None), ("suffix", 3)),
    (("prefix", 2), ("classes", None)),
]


@given(st.text(st.characters(), max_size=8) | st.text("aB1-.,:/ǅⒶ²½ªß٣", max_size=8))
def test_fast_forms_are_those_of_a_loop_over_the_characters(word: str) -> None:
    kinds = ("A" if c.isupper() else "#" if c.isdigit() else "a" if c.isalpha() else c for c in word)
    shape = "".join(kinds)
    assert words.shape(word) == shape
    assert words.short_shape(word) == "".join(c for i, c in enumerate(shape) if shape[i - 1 : i] != c)
    assert words.normalized(word) == re.sub(r"\d", "#", word.lower())
    assert words.classes(word) == list(words._classes.__wrapped__(word))  # without a stand-in for each character


@given(st.lists(st.text(st.characters(), max_size=5), max_size=5), st.sampled_from(CHAINS))
def test_many_words_at_once_have_the_values_of_each(
    some: list[str], functions: tuple[tuple[str, int | None], ...]
) -> None:
    view = ColumnView("word", functions)
    sizes, values = view.apply_all(some)
    assert sizes == [len(view.apply(word)) for word in some]
    assert values == [value for word in some for value in view.apply(word)]


def test_long_words_are_not_remembered() -> None:
    before = words._without_runs.cache_info().currsize, words._classes.cache_info().currsize
    assert words.short_shape("ab-" * 1000) == "a-" * 1000
    assert words.classes("é1" * 1000) == words.classes("é1")
    after = words._without_runs.cache_info().currsize, words._classes.cache_info().currsize
    assert (after[0], after[1]) <= (before[0], before[1] + 1)


def first_match(regex: Regex, word: bytes) -> bytes | None:
    """Return what Wapiti's matcher finds: try all ways in its order."""

    def rest(item: int, at: int) -> int | None:
        if item == len(regex.items):
            return at if at == len(word) or not regex.at_end else None
        letters, quantifier = regex.items[item]
        fits = at < len(word) and word[at] in letters
        if quantifier == ord("*"):
            end = rest(item + 1, at)
            return rest(item, at + 1) if end is None and fits else end
        end = rest(item + 1, at + 1) if fits else None
        return rest(item + 1, at) if end is None and quantifier == ord("?") else end

    for start in range(1 if regex.at_start else len(word) + 1):
        if (end := rest(0, start)) is not None:
            return word[start:end]
    return None


ITEMS = st.tuples(
    st.sampled_from(["a", "b", ".", r"\u", r"\L", r"\d", r"\p", r"\.", "é"]), st.sampled_from(["", "?", "*"])
)


@given(st.booleans(), st.lists(ITEMS, max_size=6), st.booleans(), st.text("abAé1-.", max_size=9))
def test_a_regex_finds_what_trying_all_ways_finds(
    start: bool, items: list[tuple[str, str]], end: bool, word: str
) -> None:
    regex = Regex("^" * start + "".join(map("".join, items)) + "$" * end)
    right = first_match(regex, word.encode())
    found = regex.quick(word.encode())
    assert (None if found is None else found[0]) == regex.find_in_table(word.encode()) == right
    assert regex.find(word) == (None if right is None else right.decode("utf-8", "surrogateescape"))


def test_a_regex_with_very_many_ways_to_match_is_quick() -> None:
    assert Regex(".?" * 60 + "x").find("a" * 1000) is None
    assert Regex(".*" * 60 + "x$").find("a" * 1000 + "x") == "a" * 1000 + "x"


@pytest.mark.parametrize("text", ["*", "a**", "a?*", "\\", "a\\", "." * 201])
def test_a_regex_that_cannot_be_read_is_an_error(text: str) -> None:
    with pytest.raises(SapoError, match="regular expression"):
        Regex(text)
