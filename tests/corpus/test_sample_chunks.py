"""The chunks of the bundled sample keep the rules of CoNLL-2000."""

import re
from collections import Counter
from collections.abc import Callable

import pytest

from sample_sentences import ALL, ENDLESS, FINITE_VERBS, NOUNS, VERBS, Sentence, around, chunks, words
from sapo.tags.spans import tags_to_spans

CHUNK_TYPES = {"NP", "VP", "PP", "ADVP", "ADJP", "SBAR", "PRT", "CONJP", "INTJ"}


def test_chunks_are_valid_iob2_and_of_known_types() -> None:
    found = Counter(span.type for s in ALL for span in tags_to_spans([token.chunk for token in s], "iob2"))
    assert set(found) <= CHUNK_TYPES
    assert min(found[kind] for kind in ("NP", "VP", "PP", "ADVP", "ADJP", "SBAR", "PRT")) >= 20


CHUNK_RULES = {
    "DT": r"[BI]-NP|I-ADVP",  # at all
    "PDT": r"B-NP",
    "PRP": r"B-NP",
    "PRP$": r"[BI]-NP",
    "WP": r"B-NP",
    "WP$": r"B-NP",
    "WDT": r"B-NP",
    "EX": r"B-NP",
    "POS": r"B-NP",
    "NN": r"[BI]-NP|I-SBAR",  # in order
    "NNS": r"[BI]-NP",
    "NNP": r"[BI]-NP",
    "NNPS": r"[BI]-NP",
    "CD": r"[BI]-NP",
    "$": r"[BI]-NP",
    "JJ": r"[BI]-(NP|ADJP)",
    "JJR": r"[BI]-(NP|ADJP)",
    "JJS": r"[BI]-(NP|ADJP)",
    "MD": r"B-VP",
    "VBD": r"B-VP",
    "VBP": r"B-VP",
    "VBZ": r"B-VP",
    "VB": r"[BI]-VP",
    "VBG": r"[BI]-(VP|NP)|B-PP",  # according, including
    "VBN": r"[BI]-(VP|NP)|B-ADJP|B-PP",  # compared with
    "TO": r"[BI]-VP|B-PP",
    "RP": r"B-PRT",
    "UH": r"B-INTJ",
    "RB": r"[BI]-(ADVP|ADJP|CONJP)|I-VP|[BI]-NP|B-(PP|SBAR)",
    "RBR": r"[BI]-(ADVP|ADJP)",
    "WRB": r"B-ADVP|B-NP",
    "IN": r"[BI]-(PP|SBAR|NP)|B-ADVP|I-CONJP|O",
    "CC": r"O|I-(NP|ADJP|ADVP|VP)",
    ",": r"O|I-(NP|ADJP)",
    ".": r"O",
    ":": r"O",
    "``": r"O",
    "''": r"O",
    "-LRB-": r"O",
    "-RRB-": r"O",
}


@pytest.mark.parametrize("pos", CHUNK_RULES)
def test_a_part_of_speech_stands_in_its_chunks_only(pos: str) -> None:
    allowed = re.compile(CHUNK_RULES[pos])
    assert [str(t) for s in ALL for t in s if t.pos == pos and not allowed.fullmatch(t.chunk)] == []


def test_every_part_of_speech_has_a_rule() -> None:
    assert {token.pos for sentence in ALL for token in sentence} == set(CHUNK_RULES)


def last_is(allowed: set[str]) -> Callable[[Sentence], bool]:
    return lambda tokens: tokens[-1].pos in allowed


INSIDE_RULES: dict[str, Callable[[Sentence], bool]] = {
    "NP": last_is(NOUNS | {"PRP", "CD", "DT", "EX", "WP", "WDT", "JJ", "JJR", "JJS", "POS"}),
    "VP": last_is(VERBS | {"RB"}),
    "PP": last_is({"IN", "TO", "VBG", "VBN"}),
    "SBAR": last_is({"IN", "NN"}),
    "ADVP": last_is({"RB", "RBR", "WRB", "IN", "DT"}),
    "ADJP": lambda tokens: any(token.pos in ("JJ", "JJR", "JJS", "VBN") for token in tokens),
    "PRT": lambda tokens: [token.pos for token in tokens] == ["RP"],
    "INTJ": last_is({"UH"}),
    "CONJP": last_is({"IN", "CC"}),
}


@pytest.mark.parametrize("kind", INSIDE_RULES)
def test_a_chunk_has_its_head_where_it_belongs(kind: str) -> None:
    found = [sentence[span.start : span.end] for sentence, span in chunks(kind)]
    assert found
    assert [" ".join(map(str, tokens)) for tokens in found if not INSIDE_RULES[kind](tokens)] == []


def test_a_noun_chunk_never_ends_with_an_article_or_a_possessive() -> None:
    unfinished = re.compile("(?i)the|an?|every|my|your|his|its|our|their|and|or|,")
    found = (sentence[span.start : span.end] for sentence, span in chunks("NP"))
    assert [words(tokens) for tokens in found if unfinished.fullmatch(tokens[-1].word)] == []


def test_determiners_begin_noun_chunks_unless_a_few_words_come_before() -> None:
    inside = ((before, token) for before, token, _ in around() if token.pos == "DT" and token.chunk == "I-NP")
    assert [f"{before} {token}" for before, token in inside if before.pos not in ("PDT", "RB", "CC")] == []


def test_a_noun_is_not_parted_from_the_article_or_adjective_before_it() -> None:
    wrong = [
        f"{before} {token}"
        for before, token, _ in around()
        if before.chunk.endswith("NP")
        and re.fullmatch("(?i)the|an?|my|your|its|our|their|every", before.word)
        and token.chunk != "I-NP"
    ]
    assert wrong == []


def test_every_verb_chunk_has_a_verb_and_no_more_than_one_finite_one() -> None:
    wrong = []
    for sentence, span in chunks("VP"):
        pos = [token.pos for token in sentence[span.start : span.end]]
        if not VERBS & set(pos) or sum(p in FINITE_VERBS for p in pos) > 1:
            wrong.append(" ".join(map(str, sentence[span.start : span.end])))
    assert wrong == []


def test_to_is_in_a_verb_chunk_before_a_base_form_and_a_preposition_otherwise() -> None:
    wrong = []
    for sentence in ALL:
        for i, token in enumerate(sentence):
            if token.pos == "TO":
                behind = next((t for t in sentence[i + 1 :] if t.pos != "RB"), ENDLESS)
                if token.chunk.endswith("VP") != (behind.pos == "VB"):
                    wrong.append(f"{token} {behind}")
    assert wrong == []


def test_behind_a_preposition_or_subordinator_a_phrase_follows() -> None:
    wrong = []  # where did it come from? where a question word comes first, nothing need follow
    for kind in ("PP", "SBAR"):
        for sentence, span in chunks(kind):
            behind = [*sentence, ENDLESS][span.end]
            asked = any(token.pos in ("WRB", "WP", "WDT") for token in sentence[: span.start])
            if behind.pos in ("", ".", ",", ":", "CC", "POS", "RP") and not asked:
                wrong.append(f"{words(sentence[span.start : span.end])} {behind}")
    assert wrong == []


def test_a_possessive_s_stands_behind_a_noun_and_begins_the_chunk_of_what_is_owned() -> None:
    wrong = []
    for before, token, behind in around():
        if token.pos == "POS" and not (before.pos in NOUNS and behind.chunk == "I-NP"):
            wrong.append(f"{before} {token} {behind}")
    assert wrong == []


def test_every_sentence_has_a_verb() -> None:
    assert [words(sentence) for sentence in ALL if not VERBS & {token.pos for token in sentence}] == []
