"""The files of the bundled sample, and its words: rules that hold for it and catch the usual slips."""

import re
import unicodedata
from collections import Counter
from itertools import pairwise

import pytest

from sample_sentences import ALL, PARTS, SENTENCES, Sentence, around, words
from sapo.corpus.sample import COLUMNS, sample_path

# the file


@pytest.mark.parametrize("part", PARTS)
def test_every_line_has_four_columns_with_tabs_between_and_sentences_end_with_one_empty_line(part: str) -> None:
    text = sample_path(part).read_text(encoding="utf-8")
    assert text == text.strip() + "\n"
    assert "\n\n\n" not in text
    assert "\r" not in text
    lines = [line for line in text.splitlines() if line]
    assert [line for line in lines if len(line.split("\t")) != len(COLUMNS) or not all(line.split("\t"))] == []
    assert len(lines) == sum(len(sentence) for sentence in SENTENCES[part])


def test_there_are_enough_sentences_and_a_fifth_of_them_is_for_the_test() -> None:
    train, test = (len(SENTENCES[part]) for part in PARTS)
    assert train + test >= 400
    assert test * 5 == train + test


def test_the_readme_counts_the_sentences_right() -> None:
    readme = sample_path("train").with_name("README.md").read_text(encoding="utf-8")
    train, test = (len(SENTENCES[part]) for part in PARTS)
    for said in (f"{train + test} English sentences", f"{train} to train on", f"{test} to test"):
        assert said in " ".join(readme.split())


def test_no_sentence_comes_twice_not_even_with_other_capitals_or_numbers() -> None:
    seen = Counter(re.sub(r"\d+", "0", words(sentence).lower()) for sentence in ALL)
    assert [sentence for sentence, count in seen.items() if count > 1] == []


def test_no_test_sentence_is_nearly_one_of_training() -> None:
    def pieces(sentence: Sentence) -> set[str]:
        return {words(sentence[i : i + 6]) for i in range(len(sentence) - 5)}

    known = {piece for sentence in SENTENCES["train"] for piece in pieces(sentence)}
    assert [words(sentence) for sentence in SENTENCES["test"] if len(pieces(sentence) & known) > 2] == []


# words


def test_words_have_no_blanks_no_odd_characters_and_one_way_of_writing() -> None:
    odd = [
        token.word
        for sentence in ALL
        for token in sentence
        if not token.word.isprintable()
        or re.search(r"\s", token.word)
        or unicodedata.normalize("NFC", token.word) != token.word
        or re.search("[“”‘’…—]", token.word)  # noqa: RUF001
    ]
    assert odd == []


def test_every_sentence_begins_with_a_capital_a_number_or_a_quote() -> None:
    assert [words(s) for s in ALL if not re.match(r"[^\W\d_a-z]|[\d$]|``", s[0].word)] == []


def test_every_sentence_ends_with_final_punctuation_which_stands_nowhere_else() -> None:
    wrong = []
    for sentence in ALL:
        end = [token for token in sentence if token.pos != "''"][-1]
        finals = [token for token in sentence if token.pos == "."]
        inside = [token for token in finals if token is not end]
        if end.pos != "." or any(token.word == "." for token in inside):
            wrong.append(words(sentence))
    assert wrong == []


def test_quotes_and_brackets_open_and_close_in_turn() -> None:
    wrong = []
    for sentence in ALL:
        quotes = " ".join(token.pos for token in sentence if token.pos in ("``", "''"))
        brackets = " ".join(token.pos for token in sentence if token.pos in ("-LRB-", "-RRB-"))
        if not re.fullmatch("(`` '' ?)*", quotes) or not re.fullmatch("(-LRB- -RRB- ?)*", brackets):
            wrong.append(words(sentence))
    assert wrong == []


def test_no_word_is_written_twice_in_a_row() -> None:
    twice = [(before, token) for before, token, _ in around() if before.word.lower() == token.word.lower()]
    assert [
        f"{before} {token}" for before, token in twice if (before.pos, token.pos) != ("IN", "DT")
    ] == []  # that that


def test_a_stands_before_consonants_and_an_before_vowels() -> None:
    # by sound: an hour, a European, a one, a unit; the sign of a currency is spoken behind its number
    vowel = re.compile(r"(?i)hour|honest|honou?r|heir|8|11\b|18\b|(?!eu|one|once|uni[^n]|us[eu]|ur|uk)[aeiou]")
    wrong = []
    for sentence in ALL:
        spoken = [token.word.lower() for token in sentence if token.pos not in ("$", "``")]
        for article, word in pairwise(spoken):
            if article in ("a", "an") and (article == "an") != bool(vowel.match(word)):
                wrong.append(f"{article} {word}")
    assert wrong == []
