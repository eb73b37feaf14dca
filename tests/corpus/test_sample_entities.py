"""The entities of the bundled sample are names, from their first word to their last."""

import re
from collections import Counter

from sample_sentences import ALL, DATES, PARTS, PENN_TAGS, SENTENCES, TITLES, around, entities, words
from sapo.tags.spans import tags_to_spans

ENTITY_TYPES = {"PER", "LOC", "ORG", "MISC"}


def test_entities_are_valid_iob2_and_of_at_least_four_types_with_many_of_each_in_both_parts() -> None:
    for part in PARTS:
        tags = [[token.entity for token in sentence] for sentence in SENTENCES[part]]
        found = Counter(span.type for sentence in tags for span in tags_to_spans(sentence, "iob2"))
        assert set(found) == ENTITY_TYPES
        assert min(found.values()) >= 10


def test_people_and_places_are_names() -> None:
    allowed = {"PER": {"NNP", "NNPS"}, "LOC": {"NNP", "NNPS", "CD"}, "ORG": {"NNP", "NNPS", "IN", "CC"}}
    wrong = [
        f"{span.type}: {words(sentence[span.start : span.end])}"
        for sentence, span in entities()
        if {token.pos for token in sentence[span.start : span.end]} - allowed.get(span.type, PENN_TAGS)
    ]
    assert wrong == []


def test_an_entity_begins_and_ends_with_a_capital_or_a_number() -> None:
    wrong = [
        words(sentence[span.start : span.end])
        for sentence, span in entities()
        if not all(re.match(r"[^\W_a-z]", sentence[i].word) for i in (span.start, span.end - 1))
    ]
    assert wrong == []


def test_an_entity_stands_in_noun_chunks_or_is_an_adjective() -> None:
    wrong = [
        " ".join(map(str, sentence[span.start : span.end]))
        for sentence, span in entities()
        if not all(
            token.chunk.endswith(("-NP", "-ADJP")) or (token.chunk == "B-PP" and token.pos == "IN")
            for token in sentence[span.start : span.end]
        )
    ]
    assert wrong == []


def test_a_name_goes_on_to_its_last_word() -> None:
    # two names side by side in one noun chunk are one entity, but for titles, dates, and what is joined by a comma
    wrong = [
        f"{before} {token}"
        for before, token, _ in around()
        if before.entity != "O"
        and token.pos in ("NNP", "NNPS")
        and token.chunk == "I-NP"
        and token.entity[:1] != "I"
        and not DATES.fullmatch(token.word)
    ]
    assert wrong == []


def test_an_adjective_of_a_nation_is_miscellaneous() -> None:
    wrong = [
        str(token)
        for sentence in ALL
        for token in sentence
        if token.pos == "JJ" and token.word[0].isupper() and token is not sentence[0] and token.entity != "B-MISC"
    ]
    assert wrong == []


def test_titles_of_people_are_no_part_of_their_names() -> None:
    assert [str(t) for s in ALL for t in s if TITLES.fullmatch(t.word) and t.entity.endswith("PER")] == []
