"""Labels that are learned in another scheme than they are written in: there and back again."""

import itertools

import numpy as np
import pytest

from sapo.errors import SapoError
from sapo.tags.labels import learn_as, shown_name
from sapo.tags.spans import convert_tags, loose_spans, spans_to_tags

LABELS = ["O", "B-X", "I-X", "B-Y-Z", "I-Y-Z"]


def sentences(seed: int, *, valid: bool) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    raw = [[LABELS[i] for i in rng.integers(5, size=rng.integers(1, 7))] for _ in range(20)]
    return [spans_to_tags(loose_spans(tags), len(tags), "iob2") for tags in raw] if valid else raw


def convert(scheme: str, listed: list[list[str]]) -> list[list[str]]:
    gold = np.array([LABELS.index(tag) for tags in listed for tag in tags], np.int32)
    offsets = np.cumsum([0, *map(len, listed)])
    learned = learn_as(scheme, LABELS, gold, offsets)
    names = [learned.labels[tag] for tag in learned.gold.tolist()]
    assert learned.shown == tuple(map(shown_name, learned.labels))
    return [names[a:b] for a, b in itertools.pairwise(offsets)]


@pytest.mark.parametrize("scheme", ["bioes", "bilou", "iob2"])
@pytest.mark.parametrize("seed", range(5))
def test_valid_tags_are_converted_as_by_their_spans_and_back_label_by_label(scheme: str, seed: int) -> None:
    listed = sentences(seed, valid=True)
    learned = convert(scheme, listed)
    assert learned == [convert_tags(tags, "iob2", scheme) for tags in listed]
    assert [[shown_name(tag) for tag in tags] for tags in learned] == listed


@pytest.mark.parametrize("seed", range(5))
def test_spans_that_begin_with_i_are_read_as_conlleval_reads_them(seed: int) -> None:
    listed = sentences(seed, valid=False)
    assert convert("bioes", listed) == [spans_to_tags(loose_spans(tags), len(tags), "bioes") for tags in listed]


@pytest.mark.parametrize("scheme", ["bioes", "bilou", "iob2"])
@pytest.mark.parametrize("seed", range(5))
def test_where_tags_are_missing_the_others_are_all_that_they_can_be(scheme: str, seed: int) -> None:
    """Whatever valid tags stand in the gaps: what a tag that is there becomes then, and nothing else, is open to it."""
    rng = np.random.default_rng(seed)
    listed = [tags[:4] for tags in sentences(seed, valid=True)]
    gold = np.array([LABELS.index(tag) for tags in listed for tag in tags], np.int32)
    gold[rng.random(len(gold)) < 0.3] = -1
    offsets = np.cumsum([0, *map(len, listed)])
    learned = learn_as(scheme, LABELS, gold, offsets)
    assert {"O", "B-X", "I-X"} <= set(learned.labels)
    assert set(learned.shown) <= set(LABELS)
    assert learned.allowed.shape[1] == len(learned.labels)

    def options(tag: int) -> set[str]:
        places = (
            [tag]
            if tag >= 0
            else range(len(learned.labels))
            if tag == -1
            else np.flatnonzero(learned.allowed[-2 - tag])
        )
        return {learned.labels[place] for place in places}

    for first, last in itertools.pairwise(offsets.tolist()):
        given = [LABELS[tag] if tag >= 0 else None for tag in gold[first:last].tolist()]
        fillings = itertools.product(*(LABELS if tag is None else [tag] for tag in given))
        valid = [tags for tags in fillings if spans_to_tags(loose_spans(tags), len(tags), "iob2") == list(tags)]
        possible = zip(*(convert_tags(tags, "iob2", scheme) for tags in valid), strict=True)
        for tag, found, wanted in zip(given, learned.gold[first:last].tolist(), possible, strict=True):
            if tag is None:
                assert found == -1
                continue
            # an I- of another type after the gap leaves one of two only; that is left to the constraints
            assert options(found) >= set(wanted)
            assert {shown_name(option) for option in options(found)} == {tag}


def test_a_span_that_begins_with_i_before_a_gap_gets_labels_that_the_file_lacks() -> None:
    learned = learn_as("bioes", ["O", "I-X"], np.array([0, 1, -1], np.int32), np.array([0, 3]))
    assert learned.labels == ["O", "I-X", "E-X", "B-X", "S-X"]
    assert learned.gold.tolist() == [0, -2, -1]
    assert learned.allowed.tolist() == [[False, False, False, True, True]]
    assert learned.mended == 1


def test_known_labels_keep_their_places() -> None:
    learned = learn_as("bioes", LABELS, np.array([3, 0], np.int32), np.array([0, 2]), known=["O", "S-X"])
    assert learned.labels == ["O", "S-X", "S-Y-Z"]
    assert learned.gold.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("scheme", "labels", "gold", "message"),
    [
        ("iob1", LABELS, [0], "scheme must be one of iob2, bioes, bilou, bmes, not iob1"),
        ("bioes", ["NN"], [0], "tags must be IOB2, that is O, B-TYPE and I-TYPE, not 'NN'"),
        ("bioes", ["O", "S-X"], [1], "not 'S-X'"),
    ],
)
def test_what_cannot_be_shown_again_is_refused(scheme: str, labels: list[str], gold: list[int], message: str) -> None:
    with pytest.raises(SapoError, match=message):
        learn_as(scheme, labels, np.array(gold, np.int32), np.array([0, len(gold)]))
