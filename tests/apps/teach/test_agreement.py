"""Cohen's kappa, the curve, and locks that end."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.apps.teach.answers import kappa, token_pairs
from sapo.apps.teach.classroom import SECONDS, Locks, curve
from sapo.apps.teach.state import Seen


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from("ABC")), min_size=1, max_size=30))
def test_kappa_is_that_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    ours = kappa(pairs)
    if ours is None:
        assert len({label for pair in pairs for label in pair}) == 1  # sklearn warns, and returns nan
    else:
        assert math.isclose(ours, metrics.cohen_kappa_score(*zip(*pairs, strict=True)), abs_tol=1e-12)


def test_all_pairs_of_people_count() -> None:
    said = {"anna": ["A", "B"], "ben": ["A", "A"], "cem": ["A", "B"]}
    assert sorted(token_pairs([said])) == [("A", "A"), ("A", "A"), ("A", "A"), ("A", "B"), ("B", "A"), ("B", "B")]
    assert kappa([]) is None


def test_the_curve_is_f1_of_the_last_sentences() -> None:
    seen = [Seen(0, 1, 1, 0.5, 1.0), Seen(1, 1, 1, 0.5, 1.0), Seen(1, 2, 1, 1.0, 2.0)]
    assert _points(curve("spans", seen, window=2)) == [(1, 0.0, 0.5), (2, 0.5, 0.5), (3, 0.8, 0.5)]
    assert curve("spans", []) == []
    many = curve("spans", seen * 1000, points=10)
    assert (len(many), many[-1].accepted) == (10, 3000)


def test_nothing_said_where_nothing_is_counts_as_right() -> None:
    assert _points(curve("spans", [Seen(0, 0, 0, 0.0, 0.0)])) == [(1, 1.0, 1.0)]


def test_a_lock_ends_unless_it_is_renewed() -> None:
    now = [0.0]
    locks = Locks(lambda: now[0])
    assert locks.lock(1, "anna") == "anna"
    now[0] = SECONDS - 1
    assert locks.lock(1, "ben") == "anna"
    assert locks.lock(1, "anna") == "anna"  # renewed
    now[0] = 2 * SECONDS - 2
    assert locks.held() == {1: "anna"}
    now[0] = 2 * SECONDS
    assert (locks.holder(1), locks.held()) == (None, {})
    assert (locks.expire(), locks.expire()) == ({1: "anna"}, {})
    assert locks.lock(1, "ben") == "ben"
    assert locks.unlock(1, "anna") == "ben"
    assert locks.unlock(1, "ben") is None


def _points(points: Any) -> list[tuple[int, float, float]]:
    return [(point.accepted, point.score, point.sure) for point in points]
