"""The tokenizer: its rules by example, and that it keeps every character."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapo.text.splitter import Splitter

tokenize = Splitter().tokens

# made of what the rules look at, so that rules meet each other often
ENGLISH_LIKE = st.lists(
    st.sampled_from(
        [
            *"aIsdmtnJ5.,:;!?'\u2019\"`-+$%()/& \n\u00a0\u0301",
            *("n't", "'s", "'ll", "Mr.", "U.S.", "e.g.", "...", "--", "1,000.5"),
        ]
    ),
    max_size=12,
).map("".join)


def tokens(text: str) -> list[str]:
    return [text[start:end] for start, end in tokenize(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        (" \t\n ", ""),
        ("The dog barks.", "The dog barks ."),
        ('"Stop!" he said; (quietly).', '" Stop ! " he said ; ( quietly ) .'),
        ("word(s), London,England", "word ( s ) , London , England"),
        ("Wait...what?!", "Wait ... what ? !"),
        ("one--two—three…", "one -- two — three …"),
        ("``Yes,'' she said.", "`` Yes , '' she said ."),
        ("well-known o'clock AT&T and/or rock'n'roll", "well-known o'clock AT&T and/or rock'n'roll"),
        ("$5 50% #1 a*", "$ 5 50 % # 1 a *"),
    ],
)
def test_punctuation_is_split_off_and_inner_marks_are_kept(text: str, expected: str) -> None:
    assert tokens(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don't can't won't DON'T", "do n't ca n't wo n't DO N'T"),
        ("John's it's she'll we've you're he'd I'm", "John 's it 's she 'll we 've you 're he 'd I 'm"),
        ("I'd've", "I 'd 've"),
        ("it\u2019s isn\u2019t", "it \u2019s is n\u2019t"),
        ("the dogs' bowls", "the dogs ' bowls"),
        ("U.S.'s Yahoo!'s", "U.S. 's Yahoo ! 's"),
        ("'He's here'", "' He 's here '"),
        ("John 's dog did n't .", "John 's dog did n't ."),
        ("the letter 's' and 's.", "the letter ' s ' and 's ."),
    ],
)
def test_clitics_are_split_as_in_the_penn_treebank(text: str, expected: str) -> None:
    assert tokens(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It cost 1,000.5, not 1,000.", "It cost 1,000.5 , not 1,000 ."),
        ("at 12:30.", "at 12:30 ."),
        ("3/4 2024-05-01 1990\u201395", "3/4 2024-05-01 1990\u201395"),
        ("-5 (+3) .5 \u22122 $-1", "-5 ( +3 ) .5 \u22122 $ -1"),
        ("a -b", "a - b"),
    ],
)
def test_numbers_stay_whole(text: str, expected: str) -> None:
    assert tokens(text) == expected.split()


@pytest.mark.parametrize(
    "abbreviation",
    [
        *(
            "U.S.",
            "J.",
            "a.m.",
            "e.g.",
            "i.e.",
            "Mr.",
            "Mrs.",
            "Ms.",
            "Dr.",
            "Prof.",
            "St.",
            "Jr.",
            "Sr.",
            "vs.",
            "etc.",
        ),
        *("Inc.", "Co.", "Ltd.", "Corp.", "Ph.D.", "J.-P.", "non-U.S.", "\u00c9."),
    ],
)
def test_an_abbreviation_keeps_its_period_wherever_it_stands(abbreviation: str) -> None:
    assert tokens(f"See {abbreviation} there") == ["See", abbreviation, "there"]
    assert tokens(f"('{abbreviation}'), {abbreviation}") == ["(", "'", abbreviation, "'", ")", ",", abbreviation]


@pytest.mark.parametrize("word", ["dog", "US", "Mister", "5", "inc", "T-shirt"])
def test_every_other_period_at_the_end_of_a_word_is_a_token(word: str) -> None:
    assert tokens(f"{word}. Next {word}.") == [word, ".", "Next", word, "."]


def test_an_accent_stays_on_its_letter() -> None:
    assert tokens("cafe\u0301.") == ["cafe\u0301", "."]


@given(st.text() | ENGLISH_LIKE)
@example("'s's'")
@example("\x1c\u2028a\u3000b\u200b")
def test_each_character_but_blanks_is_in_exactly_one_token_in_order(text: str) -> None:
    offsets = tokenize(text)
    covered = [position for start, end in offsets for position in range(start, end)]
    assert covered == [position for position, character in enumerate(text) if not character.isspace()]
    assert all(start < end for start, end in offsets)


@given(st.text() | ENGLISH_LIKE)
@example("0'S'")
def test_tokens_joined_by_blanks_give_the_same_tokens(text: str) -> None:
    assert tokens(" ".join(tokens(text))) == tokens(text)
