"""Orders of open sentences, beside slow, obvious twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.apps.taggers import doubt
from sapo.apps.teach.predictions import ORDERS, Variety, choose
from sapo.errors import SapoError

SENTENCES = st.lists(st.lists(st.sampled_from(["a", "b", "c", "d", "e", "F"]), max_size=8), min_size=1, max_size=12)


def slow_choice(sentences: list[list[str]], labeled: list[int], open_ones: list[int], count: int) -> list[float]:
    """Return what each sentence brings that is chosen step by step, by the definition."""
    words = [{word.lower() for word in one} for one in sentences]
    holders = {word: sum(word in one for one in words) for one in words for word in one}
    seen = {word: sum(word in words[one] for one in labeled) for word in holders}
    left, gains = list(open_ones), []
    while left and len(gains) < count:
        worth = {
            one: sum(np.log(holders[word]) * 0.5 ** seen[word] for word in words[one])
            / max(1, len(sentences[one])) ** 0.5
            for one in left
        }
        best = max(left, key=worth.__getitem__)
        gains.append(worth[best])
        left.remove(best)
        for word in words[best]:
            seen[word] += 1
    return gains


@given(SENTENCES, st.randoms(use_true_random=False), st.integers(0, 8))
def test_the_lazy_choice_brings_as_much_as_the_greedy_one(sentences, random, count):
    labeled = [one for one in range(len(sentences)) if random.random() < 0.3]
    open_ones = [one for one in range(len(sentences)) if one not in labeled]
    variety = Variety(sentences)
    for one in labeled:
        variety.label(one)
    chosen = variety.choose(open_ones, count)
    assert len(set(chosen)) == len(chosen) == min(count, len(open_ones))
    for one in chosen:  # of several that bring the same, each may come first, and then others come after it
        (found,) = slow_choice(sentences, labeled, [one], 1)
        (best,) = slow_choice(sentences, labeled, open_ones, 1)
        assert found == pytest.approx(best)
        labeled.append(one)
        open_ones.remove(one)


@given(SENTENCES)
def test_taking_back_a_label_leaves_no_trace(sentences):
    variety, other = Variety(sentences), Variety(sentences)
    variety.label(0)
    variety.unlabel(0)
    every = list(range(len(sentences)))
    assert variety.choose(every, 3) == other.choose(every, 3)


@given(st.lists(st.floats(0, 1), max_size=20))
def test_doubt_lies_between_0_and_1_and_does_not_grow_with_sure_tokens(probabilities):
    found = doubt(probabilities)
    assert 0.0 <= found <= 1.0
    assert doubt([*probabilities, 1.0, 1.0]) == pytest.approx(found)


def test_a_word_is_the_same_in_capitals():
    variety = Variety([["The", "dog"], ["the", "DOG"], ["a", "cat"], ["A", "CAT"]])
    variety.label(0)
    assert variety.choose([1, 2], 1) == [2]


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_returns_open_sentences_once(order):
    sentences = [[f"w{number % 7}", f"v{number % 3}"] for number in range(40)]
    open_ones = list(range(5, 40, 2))
    doubts = [doubt([0.5 + 0.01 * number]) for number in open_ones]
    chosen = choose(order, open_ones, 10, doubts=doubts, variety=Variety(sentences))
    assert len(set(chosen)) == 10
    assert set(chosen) <= set(open_ones)
    assert choose(order, [], 10, doubts=[], variety=Variety([])) == []


def test_least_sure_comes_first_and_sentences_that_differ_with_a_variety():
    sentences = [["a", "b"], ["a", "b"], ["c", "d"], ["c", "d"], ["a", "b"]]
    doubts = [0.9, 0.8, 0.7, 0.6, 0.1]
    every = [0, 1, 2, 3, 4]
    assert choose("least-sure", every, 2, doubts=doubts) == [0, 1]
    assert choose("least-sure", every, 2, doubts=doubts, variety=Variety(sentences)) == [0, 2]


def test_a_random_order_stays_when_sentences_are_taken_out():
    every = list(range(100))
    order = choose("random", every, 100, seed=3)
    assert order != every
    assert order != choose("random", every, 100, seed=4)
    assert choose("random", [one for one in every if one % 3], 100, seed=3) == [one for one in order if one % 3]


def test_an_unknown_order_is_refused_with_a_suggestion():
    with pytest.raises(SapoError, match=r"unknown order 'leastsure'; did you mean 'least-sure'"):
        choose("leastsure", [1], 1)
