"""Which sentences are tagged anew while nobody waits."""

from typing import Any

import pytest


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A cache that tags four sentences anew after each change, and notes which."""
    module = pytest.importorskip("sapo.apps.teach.predictions", reason="msgspec is not installed", exc_type=ImportError)
    from sapo.apps.teach.predictions import know_nothing

    monkeypatch.setattr(module, "POOL", 4)
    made = module.Cache(lambda sentences: [asked.append(one) or know_nothing("spans", 2) for one in sentences])
    asked: list[int] = []
    made.asked = asked
    return made


def refreshed(cache: Any, sentences: range, version: int) -> list[int]:
    """Return what is tagged, two at a time, until nothing is left."""
    cache.asked.clear()
    while cache.refresh(sentences, version, 2):
        pass
    return list(cache.asked)


def test_every_sentence_is_tagged_once_and_then_the_oldest_again(cache: Any) -> None:
    assert refreshed(cache, range(1, 8), 1) == [1, 2, 3, 4, 5, 6, 7]
    assert refreshed(cache, range(1, 8), 1) == []
    assert refreshed(cache, range(1, 8), 2) == [5, 6, 7, 1]
    assert refreshed(cache, range(1, 8), 3) == [2, 3, 4, 5]


def test_new_sentences_come_first_and_those_on_the_screen_are_not_tagged_twice(cache: Any) -> None:
    refreshed(cache, range(1, 6), 1)
    cache.fresh([2, 3], 2)
    assert refreshed(cache, range(1, 6), 2) == [5, 1]
    assert refreshed(cache, range(1, 9), 3) == [6, 7, 8, 4, 5, 1, 2]
