"""Group lasso: the proximal step against its formula, the average, and whole templates that are dropped."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sapo.kernels import update as totals_of
from sapo.kernels.types import Doubles, Ints
from sapo.learn import LEARNERS, Groups, Settings, State, Weights, final_weights, learn, passes, sapo_pass
from sapo.training.run import read_data, train_on

LABELS = 3


def make_weights(seed: int, group_of: Ints, scale: float = 1.0) -> Weights:
    """Random weights whose groups differ in size by a lot, so that some are dropped and others are not."""
    rng = np.random.default_rng(seed)
    weights = Weights.zeros(len(group_of), LABELS)
    sizes = 10.0 ** rng.uniform(-2, 1, size=20)
    weights.features[:] = rng.normal(size=weights.features.shape) * sizes[group_of][:, None]
    weights.edges[:] = rng.normal(size=weights.edges.shape) * sizes[-1]
    weights.state[totals_of.SCALE] = scale
    return weights


def parts(features: Any, edges: Any, group_of: Ints) -> list[Doubles]:
    """The weights of each group in new arrays, the edges last."""
    groups = [features[group_of == group] for group in sorted(set(group_of.tolist()))]
    return [np.array(part, np.float64) for part in [*groups, edges]]


def shrunk(part: Doubles, penalty: float) -> Doubles:
    """argmin over x of |x - part|^2 / 2 + penalty * sqrt(size) * |x|"""
    norm = float(np.sqrt((part**2).sum()))
    result: Doubles = part * max(0.0, 1.0 - penalty * np.sqrt(part.size) / norm) if norm else part
    return result


@given(
    seed=st.integers(0, 10_000),
    counts=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    penalty=st.sampled_from([0.0, 0.01, 0.1, 1.0, 100.0]),
    scale=st.sampled_from([1.0, 0.25]),
)
@hypothesis_settings(deadline=None, max_examples=60)
def test_shrinking_is_the_proximal_step_of_every_group(
    seed: int, counts: list[int], penalty: float, scale: float
) -> None:
    group_of = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts)).astype(np.int32)
    weights = make_weights(seed, group_of, scale)
    before = parts(*weights.true_weights().blocks[:2], group_of)
    Groups(group_of, LABELS).shrink(weights, penalty)
    for was, now in zip(before, parts(*weights.true_weights().blocks[:2], group_of), strict=True):
        expected = shrunk(was, penalty)
        np.testing.assert_allclose(now, expected, rtol=1e-5, atol=1e-6)
        assert now.any() == expected.any()  # what is dropped is just zero, and nothing else is


def test_no_other_weights_make_penalty_plus_distance_smaller() -> None:
    group_of = np.array([0, 1, 0, 2, 2, 2], np.int32)
    weights = make_weights(5, group_of)
    before = parts(*weights.true_weights().blocks[:2], group_of)
    Groups(group_of, LABELS).shrink(weights, 0.4)
    after = parts(*weights.true_weights().blocks[:2], group_of)
    assert 0 < sum(not part.any() for part in after) < len(after)

    def cost(candidate: list[Doubles]) -> float:
        distance = sum(((new - old) ** 2).sum() / 2 for new, old in zip(candidate, before, strict=True))
        return float(distance + sum(0.4 * np.sqrt(part.size) * np.linalg.norm(part) for part in candidate))

    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(20):
            assert cost([part + rng.normal(0, size, part.shape) for part in after]) > cost(after)


def test_the_penalty_is_the_sum_of_the_norms_by_the_roots_of_their_sizes() -> None:
    group_of = np.array([1, 0, 1, 1, 3], np.int32)  # a group may be empty
    weights = make_weights(1, group_of, 0.5)
    expected = sum(
        np.sqrt(part.size) * np.linalg.norm(part) for part in parts(*weights.true_weights().blocks[:2], group_of)
    )
    assert Groups(group_of, LABELS).penalty(weights) == pytest.approx(expected, rel=1e-6)
    assert Groups(group_of, LABELS).penalty(Weights.zeros(5, LABELS)) == 0


def test_weights_that_are_zero_stay_zero() -> None:
    group_of = np.zeros(4, np.int32)
    weights = Weights.zeros(4, LABELS)
    for penalty in (0.0, 1.0):
        Groups(group_of, LABELS).shrink(weights, penalty)
        assert not weights.features.any()
        assert not weights.edges.any()


def shrink_literally(literal: Any, group_of: Ints, penalty: float) -> None:
    for group in set(group_of.tolist()):
        literal.features[group_of == group] = shrunk(literal.features[group_of == group], penalty)
    literal.edges[:] = shrunk(literal.edges, penalty)


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("strength", [0.05, 3.0])
def test_a_run_shrinks_after_every_few_samples_and_counts_that_in_the_average_and_the_objective(
    tiny: Any, averaged: bool, strength: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of 2, 2 and 1 samples. The average is of w after each sample: a shrinking shows from the next one on."""
    monkeypatch.setattr(passes, "SAMPLES", 2)
    corpus = tiny.corpus(3, lengths=(3, 1, 4, 2, 3))
    group_of = np.random.default_rng(3).integers(3, size=3 + corpus.tokens).astype(np.int32)
    state = State(tiny.weights(3, corpus))
    literal = tiny.literal(corpus, state.weights)
    state.weights.prepare(averaged=averaged, l1=False)
    settings = Settings(
        n=243, rate=0.5, strength=strength, regulariser="group-lasso", schedule="fixed", epochs=3, tolerance=0.0
    )
    orders = []

    def watched(*arguments: Any) -> Any:
        orders.append(arguments[2].tolist())
        return sapo_pass(*arguments)

    groups = Groups(group_of, LABELS)
    learn(watched, corpus, settings, state, groups=groups)
    for order, record in zip(orders, state.history, strict=True):
        literal.loss = 0.0
        for samples in (order[:2], order[2:4], order[4:]):
            for sentence in samples:
                literal.sample(sentence, 0.5, Settings(n=243, strength=0.0))
            shrink_literally(literal, group_of, len(samples) * 0.5 * strength / 5)
        norms = sum(
            np.sqrt(part.size) * np.linalg.norm(part) for part in parts(literal.features, literal.edges, group_of)
        )
        assert record.objective == pytest.approx((literal.loss + strength * norms) / 5, rel=1e-4)
    expected = literal.average() if averaged else (literal.features, literal.edges)
    for mine, theirs in zip(final_weights(state).blocks[:2], expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=2e-5)
    dropped = sum(not part.any() for part in parts(literal.features, literal.edges, group_of))
    assert (dropped > 0) == (strength > 1)


@pytest.mark.usefixtures("same_kernels")
@pytest.mark.parametrize("learner", ["sapo", "crf", "crf-avg"])
def test_a_large_strength_drops_whole_templates_and_keeps_the_one_that_tells_the_tags(
    tmp_path: Path, learner: str
) -> None:
    rng = np.random.default_rng(0)
    tags = {"cat": "N", "dog": "N", "runs": "V", "sees": "V"}
    pairs = []
    for _ in range(12):
        words = rng.choice(list(tags), size=3).tolist()
        pairs.append(([(word, f"x{rng.integers(5)}") for word in words], [tags[word] for word in words]))
    template = tmp_path / "template"
    template.write_text("word[0]\npos[0]\npos[-1]\nlabel[-1]\n")
    prepared = read_data(pairs, template=template)
    outcome = train_on(
        prepared,
        Settings(regulariser="group-lasso", strength=1.0, epochs=10, rate=0.1, tolerance=0.0),
        learner=learner,
    )
    model = outcome.tagger.model
    of_words, of_noise, before = (prepared.encoder.groups() == number for number in range(3))
    assert of_words.sum() == 4
    if not LEARNERS[learner].averaged:  # an average is over times at which the others still lived
        assert not model.parameters.features[of_noise | before].any()
    assert model.parameters.features[of_words].all()
    assert [outcome.tagger.tag(tokens) for tokens, _ in pairs] == [gold for _, gold in pairs]
