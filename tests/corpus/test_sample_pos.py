"""The parts of speech of the bundled sample keep the rules of the Penn Treebank."""

import re
from itertools import pairwise

import pytest

from sample_sentences import ALL, DATES, ENDLESS, PENN_TAGS, TITLES, around, chunks

NUMBERS = (
    r"[\d,.:/-]*\d[\d,.:/-]*|one|two|three|five|(four|six|seven|eigh|nine)(t|teen|ty)?|eight|ten|eleven|twelve|"
    "thirteen|fifteen|twenty|thirty|forty|fifty|hundred|thousand|million|billion"
)


def test_parts_of_speech_are_those_of_the_penn_treebank() -> None:
    assert {token.pos for sentence in ALL for token in sentence} - PENN_TAGS == set()


WORD_RULES = {
    "DT": r"the|an?|this|that|these|those|every|each|no|some|any|all|both|neither|either|another|half",
    "PDT": r"all|half|both|such|quite",
    "PRP": r"I|you|he|she|it|we|they|me|him|her|us|them|(my|your|him|her|it)self|(our|your|them)selves|mine|yours",
    "PRP$": r"my|your|his|her|its|our|their",
    "WDT": r"which|that|what|whatever|whichever",
    "WP": r"who|whom|what|whoever",
    "WP$": r"whose",
    "WRB": r"how|where|when|why|whenever|wherever",
    "EX": r"there",
    "TO": r"to",
    "CC": r"and|or|but|nor|neither|either|both|yet|&",
    "MD": r"will|would|can|could|should|must|may|might|shall|ca|wo|'ll|'d|ought|need",
    "POS": r"'s|'",
    "RP": r"up|down|out|off|in|on|over|away|back|around|through|along|apart",
    "VBZ": r".*s|'s",
    "VBP": r"(?!.*[^s]s$).*",
    "VBG": r".*ing",
    "NNPS": r".*s",
    "JJS": r".*est|most|least|best|worst",
    "JJR": r".*er|more|less|better|worse",
    "RBR": r".*er|more|less|better|worse",
    ".": r"[.?!]",
    ",": r",",
    ":": r"[:;]|--|\.\.\.",
    "$": r"[$£€]",
    "``": r"``",
    "''": r"''",
    "-LRB-": r"-LRB-",
    "-RRB-": r"-RRB-",
    "CD": NUMBERS,
}


@pytest.mark.parametrize("pos", WORD_RULES)
def test_words_of_a_closed_class_belong_to_it(pos: str) -> None:
    allowed = re.compile(WORD_RULES[pos], re.IGNORECASE)
    assert [token.word for s in ALL for token in s if token.pos == pos and not allowed.fullmatch(token.word)] == []


TAG_RULES = {
    r"the|an?|every|this|those|these|each|any|some": {"DT"},
    r"and|or|but|nor": {"CC"},
    r"of|at|from|with|into|by|for|during|without|because|if|although|whether|unless|under|between|than": {"IN"},
    r"to": {"TO"},
    r"he|she|we|they|it|him|them|us|me": {"PRP"},
    r"his|its|their|our|my|your": {"PRP$"},
    r"is|has|does": {"VBZ"},
    r"are|am|'re|'m": {"VBP"},
    r"was|were|had|did": {"VBD"},
    r"been": {"VBN"},
    r"be": {"VB"},
    r"not|n't|never|very|too|also|always": {"RB"},
    r"who|whom": {"WP"},
    r"which": {"WDT"},
    r"that": {"IN", "WDT", "DT"},
    r"%": {"NN"},
    r".*\d.*": {"CD"},
    r"\w{3,}ly": {"RB", "JJ", "NN"},
}


@pytest.mark.parametrize("pattern", TAG_RULES)
def test_common_words_have_no_tags_but_their_own(pattern: str) -> None:
    # a name may hold any word
    found = {token for s in ALL for token in s if re.fullmatch(pattern, token.word, re.IGNORECASE)}
    assert found
    assert [str(token) for token in found if token.pos not in TAG_RULES[pattern] | {"NNP", "NNPS"}] == []


def test_names_have_capitals_and_capitals_inside_a_sentence_are_names() -> None:
    wrong = []
    for before, token, _ in around():
        first = before is ENDLESS or before.pos in ("``", ":")
        capital = token.word[0].isupper()
        name = token.pos in ("NNP", "NNPS") or token.entity != "O" or token.word == "I"
        if (token.pos in ("NNP", "NNPS") and not capital) or (capital and not first and not name):
            wrong.append(str(token))
    assert wrong == []


def test_a_name_that_is_no_entity_is_a_title_or_a_date() -> None:
    rest = [t.word for s in ALL for t in s if t.pos in ("NNP", "NNPS") and t.entity == "O"]
    assert [word for word in rest if not TITLES.fullmatch(word) and not DATES.fullmatch(word)] == []


FORM_RULES = {
    # a verb or 'to' inside a verb chunk, the forms that may follow it, adverbs apart
    r"to|do|does|did|will|would|can|could|should|must|might|may|ca|wo": {"VB"},
    r"have|has|had|having": {"VBN", "TO"},
    r"am|is|are|was|were|be|been|being": {"VBN", "VBG", "TO"},
}


@pytest.mark.parametrize("pattern", FORM_RULES)
def test_an_auxiliary_is_followed_by_the_right_form(pattern: str) -> None:
    pairs = []
    for sentence, span in chunks("VP"):
        verbs = [token for token in sentence[span.start : span.end] if token.pos not in ("RB", "RBR")]
        pairs += [(first, second) for first, second in pairwise(verbs) if re.fullmatch(pattern, first.word.lower())]
    assert pairs
    assert [f"{first} {second}" for first, second in pairs if second.pos not in FORM_RULES[pattern]] == []


def test_a_base_form_inside_a_verb_chunk_follows_an_auxiliary() -> None:
    wrong = []
    for sentence, span in chunks("VP"):
        verbs = [token for token in sentence[span.start : span.end] if token.pos not in ("RB", "RBR")]
        for first, second in pairwise(verbs):
            if second.pos == "VB" and first.pos not in ("MD", "TO") and first.word.lower() not in ("do", "does", "did"):
                wrong.append(f"{first} {second}")
    assert wrong == []
