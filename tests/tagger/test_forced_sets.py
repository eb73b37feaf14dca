"""Forced tags of which a token has one of several, against the enumeration of all taggings."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sapo
from sapo.tagger.decoding import Output, tag_blocks
from sapo.tagger.files import read_blocks

PAIRS = [
    (["Ann", "Bo", "saw", "Oslo"], ["B-PER", "I-PER", "O", "B-LOC"]),
    (["Oslo", "saw", "Ann"], ["B-LOC", "O", "B-PER"]),
    (["saw", "Bo"], ["O", "B-PER"]),
] * 4
LABELS = ["O", "B-PER", "I-PER", "B-LOC"]


@pytest.fixture(scope="module")
def tagger() -> sapo.Tagger:
    return sapo.train(PAIRS, epochs=3, rate=0.2, strength=0.3)


@given(sets=st.dictionaries(st.integers(0, 3), st.sets(st.sampled_from(LABELS), min_size=1), max_size=4))
@settings(deadline=None, max_examples=60)
def test_the_result_is_the_best_of_the_taggings_that_have_them(tagger: sapo.Tagger, sets: dict[int, set[str]]) -> None:
    words = ["Bo", "saw", "Ann", "Oslo"]
    fitting = [
        one.tags
        for one in tagger.nbest(words, n=1000)
        if all(one.tags[place] in possible for place, possible in sets.items())
    ]
    if not fitting:
        with pytest.raises(sapo.SapoError, match="no tagging of this sentence has the forced tags"):
            tagger.tag(words, forced=sets)
        return
    assert tagger.tag(words, forced=sets) == fitting[0]
    assert [one.tags for one in tagger.nbest(words, n=1000, forced=sets)] == fitting


def test_a_column_may_give_several_tags(tagger: sapo.Tagger, tmp_path: Path) -> None:
    (tmp_path / "known.txt").write_text("saw\tB-LOC|B-PER\nBo\t_\n\n")
    ((_, added),) = tag_blocks(tagger, read_blocks(tagger, tmp_path / "known.txt"), Output(forced="1"))
    assert added.names() == tagger.tag(["saw", "Bo"], forced={0: ["B-LOC", "B-PER"]})


def test_a_label_with_the_sign_between_tags_is_a_label() -> None:
    tagger = sapo.train([(["x", "y"], ["A|B", "A"])] * 4, epochs=2, rate=0.2, strength=0.3, template="pos")
    assert tagger.tag(["y"], forced={0: "A|B"}) == ["A|B"]


@pytest.mark.parametrize("tags", [[], 3, None])
def test_no_possible_tag_is_a_mistake(tagger: sapo.Tagger, tags: Any) -> None:
    with pytest.raises(sapo.SapoError, match="sentence 1, token index 1: give a tag or a list of possible tags, not "):
        tagger.tag(["saw", "Bo"], forced={1: tags})


def test_an_unknown_label_of_several_is_named(tagger: sapo.Tagger) -> None:
    with pytest.raises(sapo.SapoError, match="token index 1: the model has no label 'B-ORG' to force"):
        tagger.tag(["saw", "Bo"], forced={1: {"B-PER", "B-ORG"}})
