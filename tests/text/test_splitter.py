"""Text in any language is cut into sentences and tokens whose offsets are right."""

# ruff: noqa: RUF001  (letters of other scripts are meant)

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapo.errors import SapoError
from sapo.text.learning import learn_rules
from sapo.text.splitter import LONGEST_CHUNK, LONGEST_SENTENCE, Splitter
from sapo.text.tokens import CHARACTERS, IDEOGRAPHS, Rules

LANGUAGES = {
    "English": "Mr. O'Neill didn't pay $1,000.50. \"Why?\" she asked (quietly)...",
    "German": "Dr. Müller kam am 3. Mai z. B. nach Köln-Deutz. „Schön!“, sagte er.",
    "Greek": "Ο κ. Παπαδόπουλος ήρθε στις 5 μ.μ. Τι θέλεις; Ένα «καλό» βιβλίο.",
    "Estonian": "Ta tuli kell 17.30 koju. Kas sa tead, et 20 000 eurot on palju?!",
    "Finnish": "H&M:n myymälä avataan klo 10. Tervetuloa!",
    "Basque": "Kaixo, zer moduz? 2004ko urtarrilaren 3an etorri zen.",
    "Chinese": "今天天气很好。我们去公园吧！“好的。”他说iPhone 5很贵。",
    "Japanese": "吾輩は猫である。名前はまだ無い。",
    "Arabic": "ذهب الولد إلى المدرسة. هل تعرفه؟ نعم.",
    "Hindi": "यह एक किताब है। वह कहाँ है?",
    "Thai": "สวัสดีครับ ผมชื่อจอห์น",
    "emoji": "so good 👍🏽👩‍👩‍👧!! e\u0301te\u0301 🇩🇪.",
}
WORDS = st.text(alphabet="abAB19.-'’,!?)(“”_/@#$&:;~ \n\u00a0é中。", max_size=8)
SENTENCES = st.lists(st.lists(WORDS.map(lambda text: "".join(text.split())), max_size=6), max_size=6)


def texts(text: str, rules: Rules | None = None) -> list[str]:
    return [" ".join(text[start:end] for start, end in sentence) for sentence in Splitter(rules)(text)]


def check(text: str, rules: Rules | None) -> None:
    """Every character but blanks is in exactly one token, in order, and no sentence is empty."""
    sentences = Splitter(rules)(text)
    assert all(sentences)
    covered = [place for sentence in sentences for start, end in sentence for place in range(start, end)]
    assert covered == [place for place, character in enumerate(text) if not character.isspace()]
    assert all(start < end for sentence in sentences for start, end in sentence)


@given(st.text() | WORDS, st.none() | st.sampled_from([Rules(CHARACTERS), Rules(IDEOGRAPHS)]))
@example("a" * 3 * LONGEST_CHUNK + " \n\n\n b", None)
@example("www.a.b/?(c).http://x", None)
def test_all_characters_but_blanks_are_in_exactly_one_token(text: str, rules: Rules | None) -> None:
    check(text, rules)


@given(SENTENCES, st.text() | WORDS)
def test_the_offsets_are_right_with_any_learned_rules(sentences: list[list[str]], text: str) -> None:
    rules = learn_rules((tokens, " ".join(tokens) if len(tokens) % 2 else None) for tokens in sentences)
    check(text, rules)
    check(" ".join(token for tokens in sentences for token in tokens), rules)
    assert Rules.from_json(rules.as_json()) == rules


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_is_cut(language: str) -> None:
    text = LANGUAGES[language]
    for rules in (None, Rules(CHARACTERS), Rules(IDEOGRAPHS), learn_rules([(text.split(), text)])):
        check(text, rules)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He left. She stayed.", ["He left .", "She stayed ."]),
        ("Dr. Who came at 5 p.m. on Monday.", ["Dr. Who came at 5 p.m. on Monday ."]),
        ("It is e.g. this one, etc. and more.", ["It is e.g. this one , etc. and more ."]),
        ('"Why?" he asked. "Go!" (Now.) Yes', ['" Why ? " he asked .', '" Go ! "', "( Now . )", "Yes"]),
        ("A title\n\nThe text\nof it", ["A title", "The text of it"]),
        ("A title\r\n \r\nThe text", ["A title", "The text"]),
        ("so . . . and", ["so . . . and"]),
        ("今天很好。真的！”好", ["今天很好 。", "真的 ！ ”", "好"]),
    ],
)
def test_sentences_end_where_a_reader_expects_it(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_ideographs_are_cut_where_the_training_data_is() -> None:
    assert learn_rules([(list("今天很好a1"), None)] * 9).unit == CHARACTERS
    mixed = learn_rules([([*"今天很好的人都去了那里看书买东西", "iPhone"], None)] * 9)
    assert texts("他有iPhone吗？", mixed) == ["他 有 iPhone 吗 ？"]
    assert learn_rules([(["今天", "很", "好"], None)] * 9).unit == Rules().unit
    assert learn_rules([(["a", "b"], None)] * 9).unit == Rules().unit


@pytest.mark.parametrize(
    ("tokens", "text", "new", "expected"),
    [
        (["a", "well", "-", "known", "man"], "a well-known man", "old-time", "old - time"),
        (["a", "well-known", "man"], "a well-known man", "old-time", "old-time"),
        (
            ["a", "non-linear", "old", "-", "time", "up", "-", "stream"],
            "a non-linear old-time up-stream",
            "non-fat low-fat",
            "non-fat low - fat",
        ),
        (["We", "can", "not", "go"], "We cannot go", "I cannot", "I can not"),
        (["at", "5", "pm"], "at 5pm", "6pm 1st", "6 pm 1st"),
        (["the", "Gen.", "said", "so", "."], "the Gen. said so.", "Gen. Lee came.", "Gen. Lee came ."),
        (["no", "!!!"], "no!!!", "yes!!", "yes !!"),
        (["am", "3.", "Mai"], "am 3. Mai", "am 7. Juni", "am 7. Juni"),
        (["l'", "homme"], "l'homme", "l'ami", "l' ami"),
        (["@anna", "said"], "@anna said", "@bob", "@bob"),
    ],
)
def test_rules_are_learned_from_text(tokens: list[str], text: str, new: str, expected: str) -> None:
    assert texts(new, learn_rules([(tokens, text)] * 3)) == [expected]


def test_a_word_that_grows_in_lower_case_keeps_its_size() -> None:
    check("İa İa.", Rules(pieces={"İa".lower(): (2, 1)}))


def test_rules_are_learned_without_text_too() -> None:
    rules = learn_rules([(["a", "well", "-", "known", "Gen.", "is", "n't", "here", "."], None)] * 3)
    assert texts("an old-time Gen. Lee wasn't here.", rules) == ["an old - time Gen. Lee was n't here ."]


def test_words_that_the_text_has_otherwise_are_passed_over() -> None:
    rules = learn_rules([(["Er", "geht", "zu", "dem", "Haus", ",", "so", "-", "so"], "Er geht zum Haus, so-so")] * 3)
    assert texts("zum da-da", rules) == ["zum da - da"]


def test_where_sentences_end_is_learned() -> None:
    line = ["he", "left", "."]
    assert texts("he left. she stayed.", learn_rules([(line, None)] * 9)) == ["he left .", "she stayed ."]
    whole = [*line, "She", "stayed", ".", "He", "came", "."]
    assert texts("He left. She stayed.", learn_rules([(whole, None), (["and"], None)] * 9)) == [
        "He left . She stayed ."
    ]


def test_what_is_no_sentence_is_cut_so_that_memory_is_bounded() -> None:
    sentences = Splitter()("a " * 3 * LONGEST_SENTENCE)
    assert [len(sentence) for sentence in sentences] == [LONGEST_SENTENCE] * 3
    assert {end - start for start, end in Splitter().tokens("a" * 2 * LONGEST_CHUNK)} == {LONGEST_CHUNK}


@pytest.mark.parametrize(
    ("key", "value"),
    [("unit", "lines"), ("marks", {"a-a": "never"}), ("pieces", {"cannot": [3]}), ("kept", [1]), ("ends", {".": 1})],
)
def test_damaged_rules_are_refused(key: str, value: object) -> None:
    with pytest.raises(SapoError, match="rules for text are damaged"):
        Rules.from_json({**Rules().as_json(), key: value})
