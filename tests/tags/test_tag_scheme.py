"""What bans allow is what a scheme calls valid: held against the reader of tags, over all short taggings."""

from itertools import pairwise, product

import numpy as np
import pytest

from sapo.errors import SapoError
from sapo.kernels.types import Floats
from sapo.tags import recognise, scheme_bans, transition_counts
from sapo.tags.schemes import SCHEMES, letters_of_scheme, tags_to_spans


def labels_of(scheme: str) -> list[str]:
    return ["O", *(f"{letter}-{kind}" for kind in ("X", "Y") for letter in sorted(letters_of_scheme(scheme)))]


def valid(tags: tuple[str, ...], scheme: str) -> bool:
    try:
        tags_to_spans(tags, scheme)
    except SapoError:
        return False
    return True


def allowed(path: tuple[int, ...], bans: Floats) -> bool:
    L = bans.shape[1]
    steps = [(L, path[0]), *pairwise(path), (L + 1, path[-1])]
    return all(bans[row, tag] == 0 for row, tag in steps)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_tagging_is_allowed_if_and_only_if_it_is_valid(scheme: str, length: int) -> None:
    labels = labels_of(scheme)
    bans = scheme_bans(labels, scheme)
    for path in product(range(len(labels)), repeat=length):
        assert allowed(path, bans) == valid(tuple(labels[tag] for tag in path), scheme), path


@pytest.mark.parametrize(
    ("sentences", "scheme"),
    [
        (["O B-X I-X O", "B-X B-X"], "iob2"),
        (["O I-X I-X O", "I-X B-X"], "iob1"),
        (["I-X O I-X"], "iob1"),
        (["B-X E-X S-X O"], "bioes"),
        (["B-X L-X U-X O"], "bilou"),
        (["O B-X"] * 20 + ["O I-X"], "iob2"),
        (["DT NN"], None),
        (["O O"], None),
        (["O I-X I-Y B-Y B-X O B-Y I-X O B-X I-Y"], None),
        (["B-X O E-X I-X O S-X"], None),
        (["O B-"], None),
        (["O Q-X"], None),
    ],
)
def test_a_scheme_is_recognised_by_its_letters_and_by_what_follows_what(
    sentences: list[str], scheme: str | None
) -> None:
    listed = [sentence.split() for sentence in sentences]
    labels = sorted({tag for tags in listed for tag in tags})
    gold = np.array([labels.index(tag) for tags in listed for tag in tags], np.int32)
    counts = transition_counts(gold, np.cumsum([0, *map(len, listed)]), len(labels))
    found = recognise(labels, counts)
    assert (found and found[0]) == scheme


def test_neighbours_are_counted_within_sentences_and_not_beside_missing_tags() -> None:
    gold = np.array([0, 1, -1, 0, 1, 1], np.int32)
    counts = transition_counts(gold, np.array([0, 4, 4, 6]), 2)
    assert counts.tolist() == [[0, 1], [0, 1], [1, 1], [1, 1]]
