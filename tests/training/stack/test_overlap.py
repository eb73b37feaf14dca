"""What overlaps, against the definition written out, and blocks that cover everything once."""

import itertools
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sapo.corpus.formats import read
from sapo.training.stack import cut, left_out, overlap

# few and short, so that sentences often share something; long ones, so that 40 characters are soon reached
WORDS = st.sampled_from(["a", "b", "ab", "ba", "abababababab", "bababababababababab"])
SENTENCES = st.lists(WORDS, min_size=1, max_size=12)


def stands_in(part: list[str], whole: list[str]) -> bool:
    return any(whole[at : at + len(part)] == part for at in range(len(whole) - len(part) + 1))


def rest_texts(words: list[str]) -> list[str]:
    """The text from the beginning of each token on."""
    return ["".join(words[at:]) for at in range(len(words))]


def definition(one: list[str], other: list[str]) -> bool:
    if "".join(one) == "".join(other):
        return True
    if any(stands_in(one[at : at + 8], other) for at in range(len(one) - 7)):
        return True
    if any(
        len(a) >= 40 and len(b) >= 40 and a[:40] == b[:40]
        for a, b in itertools.product(rest_texts(one), rest_texts(other))
    ):
        return True
    return any(2 <= len(a) <= 7 and stands_in(a, b) for a, b in ((one, other), (other, one)))


@given(SENTENCES, SENTENCES)
def test_overlap_is_as_defined(one: list[str], other: list[str]) -> None:
    assert overlap(one, other) == definition(one, other)


@given(SENTENCES, SENTENCES)
def test_overlap_has_no_direction(one: list[str], other: list[str]) -> None:
    assert overlap(one, other) == overlap(other, one)


@given(st.lists(SENTENCES, max_size=6), st.lists(st.lists(SENTENCES, max_size=3), max_size=4))
def test_left_out_is_what_overlaps_with_a_sentence_of_the_block(
    training: list[list[str]], blocks: list[list[list[str]]]
) -> None:
    assert left_out(training, blocks) == [
        tuple(i for i, words in enumerate(training) if any(definition(words, other) for other in block))
        for block in blocks
    ]


def test_seven_shared_tokens_are_not_enough_in_longer_sentences() -> None:
    seven = list("ABCDEFG")
    assert not overlap([*seven, "x"], [*seven, "y"])
    assert overlap([*seven, "x", "z"], ["y", *seven, "x"])


def test_other_tokens_of_the_same_characters_are_found_inside_longer_sentences() -> None:
    text = ["cytokine-mediated", "activation", "of", "endothelial", "growth", "factors"]
    again = ["cytokine", "-mediated", *text[1:]]
    assert overlap(["TI", "-", *text], ["AB", *again])


@given(st.data(), st.integers(1, 200))
def test_blocks_cover_all_sentences_once_and_in_order(data: st.DataObject, sentences: int) -> None:
    blocks = cut(sentences, data.draw(st.integers(1, sentences)))
    assert [number for block in blocks for number in block] == list(range(sentences))
    assert max(map(len, blocks)) - min(map(len, blocks)) <= 1


def test_the_sentences_of_genia_are_recognized_in_the_bio_entity_corpus(corpora: Path) -> None:
    genia = [one.words for part in ("train", "dev", "test") for one in read(corpora / f"genia-pos/{part}.txt.gz")]
    entity = [one.words for one in read(corpora / "jnlpba/train.txt.gz")]
    blocks = [entity[part.start : part.stop] for part in cut(len(entity), 10)]
    texts = ["".join(words[2:] if words[0] in ("TI", "AB") else words) for words in genia]  # without the header
    for block, left in zip(blocks, left_out(genia, blocks), strict=True):
        here = {"".join(words) for words in block}
        same = {number for number, text in enumerate(texts) if text in here}
        assert same <= set(left)
        assert len(left) < 1.3 * len(same)
