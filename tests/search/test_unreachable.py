"""Long sentences with labels that nothing leads to: what would follow these may be as much as it likes.

The referee is forward-backward in logarithms, which no size can hurt.
"""

import numpy as np
import pytest

import sapo
from sapo.jit.arrays import Doubles
from sapo.search.lattice import Lattice
from sapo.search.marginals import Distribution, distribution, forward_backward, forward_backward_log, span_reading
from sapo.tags.spans import Span

LABELS = ("O", "B-A", "B-B", "I-B")
TOKENS = 150


def lattice_without_b(seed: int, *, edge_features: bool) -> Lattice:
    """The last two labels score high, but no tagging begins with one of them, and none comes to them later."""
    rng = np.random.default_rng(seed)
    node = rng.normal(size=(TOKENS, 4)).astype(np.float32)
    node[:, 2:] += 15
    node[0, 2:] = -np.inf
    edge = rng.normal(size=(TOKENS, 4, 4) if edge_features else (4, 4)).astype(np.float32)
    edge[..., :2, 2:] = -np.inf
    return Lattice(node, edge)


def by_logarithms(lattice: Lattice) -> tuple[Distribution, Doubles]:
    alpha, beta, marginal = (np.empty(lattice.node.shape) for _ in range(3))
    pairs = np.empty(lattice.steps.shape)
    log_z = forward_backward_log(lattice.node, lattice.steps, TOKENS, alpha, beta, marginal, pairs)
    return Distribution(lattice, float(log_z), marginal, alpha, beta), pairs


@pytest.mark.parametrize("edge_features", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_a_label_that_nothing_leads_to_leaves_all_sums_alone(seed: int, edge_features: bool) -> None:
    lattice = lattice_without_b(seed, edge_features=edge_features)
    found, (true, pairs) = distribution(lattice), by_logarithms(lattice)
    assert found.log_z == pytest.approx(true.log_z, abs=1e-9)
    np.testing.assert_allclose(found.marginal, true.marginal, atol=1e-9)
    np.testing.assert_allclose(found.log_marginal(), true.log_marginal(), atol=1e-9)
    work, counted = np.empty((3, *lattice.node.shape)), np.empty(lattice.steps.shape)
    forward_backward(lattice.node, lattice.steps, TOKENS, work[0], work[1], work[2], counted)
    used = slice(1 if edge_features else 0, None)  # nothing steps into the first token
    np.testing.assert_allclose(counted[used], pairs[used], atol=1e-9)


def test_spans_of_such_labels_have_the_probability_0_and_those_of_others_their_own() -> None:
    lattice, reading = lattice_without_b(2, edge_features=False), span_reading(LABELS)
    spans = [Span(start, start + 1, type) for start in (0, 1, 70, TOKENS - 1) for type in ("A", "B")]
    found = distribution(lattice).span_probabilities(reading, spans)
    np.testing.assert_allclose(found, by_logarithms(lattice)[0].span_probabilities(reading, spans), atol=1e-9)
    assert (found[0::2] > 0).all()
    assert (found[1::2] == 0).all()


def test_marginals_of_a_long_text_are_numbers_where_a_forced_tag_rules_out_a_label() -> None:
    data = [(["h"] * 3 + ["b"] * 3, ["HEADER"] * 3 + ["BODY"] * 3)]
    tagger = sapo.train(data, template="pos", rules=["forbid BODY HEADER"], epochs=10, rate=1.0, strength=0.0)
    rows = tagger.marginals(["b"] + ["h"] * 400, forced={0: "BODY"})
    assert all(row == {"HEADER": 0.0, "BODY": pytest.approx(1.0)} for row in rows)
