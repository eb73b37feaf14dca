"""Pairs of labels that edge features weigh, and what is added to them later."""

import numpy as np
import pytest

from sapo.features.encoded import Pairs, joined_pairs
from sapo.learn.updating import GrowingWeights
from sapo.search.lattice import Parameters, no_bans
from sapo.search.weights import FeatureRows

LABELS, FEATURES = 3, 6


def pairs_of(entries: set[tuple[int, int]]) -> Pairs:
    """Of edge features and codes."""
    owners = [owner for owner, _ in sorted(entries)]
    offsets = np.cumsum([0, *np.bincount(np.array(owners, np.int64), minlength=FEATURES)])
    return Pairs(offsets, np.array([code for _, code in sorted(entries)], np.int32))


def entries_of(pairs: Pairs) -> list[tuple[int, int]]:
    return list(zip(pairs.owners.tolist(), pairs.codes.tolist(), strict=True))


def some_entries(rng: np.random.Generator, share: float) -> set[tuple[int, int]]:
    return {(owner, code) for owner in range(FEATURES) for code in range(LABELS**2) if rng.random() < share}


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_joined_pairs_are_the_sorted_pairs_of_both(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    old, new = some_entries(rng, share), some_entries(rng, 0.3)
    joined, places = joined_pairs(pairs_of(old), pairs_of(new))
    assert entries_of(joined) == sorted(old | new)
    known = np.insert(np.ones(len(old), bool), places, False)
    assert [entry for entry, was in zip(sorted(old | new), known, strict=True) if was] == sorted(old)


def test_where_no_pair_is_new_nothing_is_copied() -> None:
    """A sentence should not pay for all that others have shown."""
    old = pairs_of({(0, 1), (2, 0), (2, 5), (5, 8)})
    weights = GrowingWeights(
        Parameters(
            FeatureRows.of_matrix(np.zeros((1, LABELS), np.float32)),
            np.zeros((LABELS, LABELS), np.float32),
            old,
            np.arange(4, dtype=np.float32)[:, np.newaxis],
            no_bans(LABELS),
        ),
        transitions=True,
    )
    before = weights.weights.pair_weights
    weights.add_pairs(pairs_of({(2, 5), (5, 8)}))
    assert weights.weights.pairs is old
    assert weights.weights.pair_weights is before
    weights.add_pairs(pairs_of({(2, 1), (2, 5), (3, 0)}))
    assert weights.weights.pair_weights[:, 0].tolist() == [0, 1, 0, 2, 0, 3]
