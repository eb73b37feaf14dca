"""Changes of several workers become one: each weight by the mean over those that moved it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sapo.apps.ray.changes import Change, mix

MOVES = st.dictionaries(st.integers(0, 30), st.floats(-4, 4, width=32), max_size=12)


def change(moves: dict[int, float], shrunk: float = 1.0) -> Change:
    places = sorted(moves)
    return Change(np.array(places, np.uint32), np.array([moves[at] for at in places], np.float32), shrunk)


@given(st.lists(MOVES, min_size=1, max_size=5))
def test_a_weight_moves_by_the_mean_over_the_workers_that_moved_it(all_moves: list[dict[int, float]]) -> None:
    mixed = mix([change(moves) for moves in all_moves])
    expected = {
        at: sum(moves[at] for moves in all_moves if at in moves) / sum(at in moves for moves in all_moves)
        for at in sorted({at for moves in all_moves for at in moves})
    }
    assert mixed.places.tolist() == list(expected)
    assert np.allclose(mixed.values, list(expected.values()), atol=1e-5)
    assert mixed.values.dtype == np.float32
    assert mixed.places.dtype == np.uint32


def test_all_weights_shrink_by_the_mean() -> None:
    assert mix([change({}, 0.5), change({1: 1.0}, 1.0)]).shrunk == 0.75


def test_a_late_change_is_made_in_the_units_of_now() -> None:
    late = change({3: 2.0}, 0.9).rescaled(0.5)
    assert (late.places.tolist(), late.values.tolist(), late.shrunk) == ([3], [1.0], 0.9)


def test_what_travels_is_what_changed() -> None:
    assert change({1: 1.0, 5: 2.0}).nbytes == 2 * (4 + 4)
