"""Probabilities over all taggings against the enumeration of all taggings."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.errors import SapoError
from sapo.search.lattice import Lattice
from sapo.search.marginals import distribution, span_reading, top_n_marginals, top_n_spans
from sapo.search.topn import top_n
from sapo.tags.spans import Span, loose_spans, tags_to_spans

REAL = st.floats(-8, 8, width=32)
OR_FORBIDDEN = st.one_of(REAL, REAL, REAL, st.just(-math.inf))
MOSTLY_FORBIDDEN = st.one_of(REAL, st.just(-math.inf))
FAR_APART = st.one_of(st.floats(-900, 900, width=32), st.just(-math.inf))  # too far for products of exponentials
LABELS = {
    "iob1": ("O", "I-A", "B-A", "I-B"),
    "iob2": ("O", "B-A", "I-A", "B-B", "I-B"),
    "bioes": ("O", "B-A", "I-A", "E-A", "S-A"),
    "bilou": ("O", "B-A", "I-A", "L-A", "U-A"),
    "without O": ("B-A", "I-A", "S-B"),
}


@st.composite
def lattices(draw: st.DrawFn, scores: st.SearchStrategy[float], labels: int | None = None) -> Lattice:
    """With one stage for all steps, or one for each token, as edge features make them."""
    tokens, labels = draw(st.integers(1, 4)), labels or draw(st.integers(1, 4))
    shape = (tokens, labels, labels) if draw(st.booleans()) else (labels, labels)

    def array(*shape: int) -> np.ndarray:
        size = math.prod(shape)
        return np.array(draw(st.lists(scores, min_size=size, max_size=size)), np.float32).reshape(shape)

    return Lattice(array(tokens, labels), array(*shape))


ANY = st.one_of(lattices(REAL), lattices(OR_FORBIDDEN), lattices(MOSTLY_FORBIDDEN), lattices(FAR_APART))


def all_probabilities(lattice: Lattice) -> dict[tuple[int, ...], float]:
    """The slow twin: each tagging with its probability; none where all are forbidden."""
    node, edge = lattice.node.astype(float), lattice.edge.astype(float)
    scores = {}
    for path in product(range(lattice.labels), repeat=lattice.tokens):
        scores[path] = sum(float(node[t, y]) for t, y in enumerate(path)) + sum(
            float(edge[t, p, y] if edge.ndim == 3 else edge[p, y]) for t, (p, y) in enumerate(pairwise(path), 1)
        )
    best = max(scores.values())
    if best == -math.inf:
        return {}
    mass = {path: math.exp(score - best) for path, score in scores.items()}
    whole = sum(mass.values())
    return {path: part / whole for path, part in mass.items()}


@given(ANY)
@settings(deadline=None, max_examples=150)
def test_taggings_and_marginals_have_the_probabilities_of_the_enumeration(lattice: Lattice) -> None:
    found = distribution(lattice)
    taggings = all_probabilities(lattice)
    marginal = np.zeros(lattice.node.shape)
    for path, probability in taggings.items():
        assert found.probability(list(path)) == pytest.approx(probability, abs=1e-6)
        marginal[np.arange(lattice.tokens), path] += probability
    np.testing.assert_allclose(found.marginal, marginal, atol=1e-6)
    np.testing.assert_allclose(np.exp(found.log_marginal()), marginal, atol=1e-6)


def spans_of(tags: list[str], scheme: str) -> list[Span]:
    """Read strictly where the tagging keeps to its scheme, else loosely."""
    try:
        return tags_to_spans(tags, scheme)
    except SapoError:
        return loose_spans(tags)


@pytest.mark.parametrize("scheme", LABELS)
@given(data=st.data())
@settings(deadline=None, max_examples=25)
def test_every_span_has_the_probability_of_the_enumeration(scheme: str, data: st.DataObject) -> None:
    labels = LABELS[scheme]
    scores = data.draw(st.sampled_from([REAL, OR_FORBIDDEN, MOSTLY_FORBIDDEN, FAR_APART]))
    lattice = data.draw(lattices(scores, len(labels)))
    expected: dict[Span, float] = {}
    for path, probability in all_probabilities(lattice).items():
        for span in spans_of([labels[y] for y in path], scheme):
            expected[span] = expected.get(span, 0.0) + probability
    reading = span_reading(labels)
    every = [
        Span(start, end, type)
        for start in range(lattice.tokens)
        for end in range(start + 1, lattice.tokens + 1)
        for type in reading.names[1:]
    ]
    found = distribution(lattice).span_probabilities(reading, every)
    assert found == pytest.approx([expected.get(span, 0.0) for span in every], abs=1e-6)


@given(ANY, st.integers(1, 300))
@settings(deadline=None, max_examples=60)
def test_what_is_over_the_top_n_is_over_all_taggings_once_n_is_large_enough(lattice: Lattice, n: int) -> None:
    exact, candidates = distribution(lattice), top_n(lattice, n=n)
    mass = exact.top_n_mass(candidates)
    assert 0 <= mass <= 1
    best = sorted(all_probabilities(lattice).values(), reverse=True)[:n]
    assert mass == pytest.approx(sum(best), abs=1e-4)
    if n >= lattice.labels**lattice.tokens:
        # a search keeps scores in single precision
        np.testing.assert_allclose(top_n_marginals(candidates, lattice.labels), exact.marginal, atol=1e-3)


def test_probabilities_of_spans_over_the_top_n_are_sums_of_their_p_k() -> None:
    rng = np.random.default_rng(5)
    labels = LABELS["iob2"]
    lattice = Lattice(rng.normal(size=(4, 5)).astype(np.float32), rng.normal(size=(5, 5)).astype(np.float32))
    candidates = top_n(lattice, n=6)
    expected: dict[Span, float] = {}
    for path, probability in zip(candidates.paths.tolist(), candidates.p_k.tolist(), strict=True):
        for span in loose_spans([labels[y] for y in path]):
            expected[span] = expected.get(span, 0.0) + probability
    assert top_n_spans(candidates, labels) == pytest.approx(expected)
    assert len(expected) > 3


@pytest.mark.parametrize("temperature", [0.25, 3.0])
def test_a_temperature_divides_all_scores(temperature: float) -> None:
    rng = np.random.default_rng(6)
    node, edge = rng.normal(size=(3, 3)).astype(np.float32), rng.normal(size=(3, 3)).astype(np.float32)
    edge[0, 1] = -np.inf
    lattice = Lattice(node, edge)
    power = {path: part ** (1 / temperature) for path, part in all_probabilities(lattice).items()}
    found = distribution(lattice.tempered(temperature))
    for path, part in power.items():
        assert found.probability(list(path)) == pytest.approx(part / sum(power.values()), abs=1e-6)


def test_an_empty_sentence_has_one_tagging_that_is_certain() -> None:
    found = distribution(Lattice(np.empty((0, 3), np.float32), np.zeros((3, 3), np.float32)))
    assert (found.log_z, found.probability([]), found.marginal.shape) == (0.0, 1.0, (0, 3))
    assert found.log_marginal().shape == (0, 3)


def test_where_everything_is_forbidden_all_probabilities_are_0() -> None:
    found = distribution(Lattice(np.full((2, 3), -np.inf, np.float32), np.zeros((3, 3), np.float32)))
    assert found.probability([0, 1]) == 0.0
    assert not found.marginal.any()
    assert found.span_probabilities(span_reading(("O", "B-A", "I-A")), [Span(0, 1, "A")]).tolist() == [0.0]
    assert found.top_n_mass(top_n(found.lattice, n=3)) == 0.0
    assert np.all(found.log_marginal() == -np.inf)


def test_a_long_sentence_has_probabilities_of_spans_that_sum_to_the_marginals() -> None:
    """All spans over a token exclude each other: their sum is the chance that the token is in a span of this type."""
    rng = np.random.default_rng(7)
    labels = ("O", "B-A", "I-A")
    node = rng.normal(size=(60, 3)).astype(np.float32)
    found = distribution(Lattice(node, rng.normal(size=(3, 3)).astype(np.float32)))
    over = [Span(start, end, "A") for start in range(31) for end in range(31, 61)]
    total = found.span_probabilities(span_reading(labels), over).sum()
    assert total == pytest.approx(found.marginal[30, 1:].sum(), abs=1e-9)


def test_labels_without_spans_and_unknown_types_are_told() -> None:
    with pytest.raises(SapoError, match="spans need labels such as B-NP; this model predicts NN, VB"):
        span_reading(("NN", "VB"))
    with pytest.raises(SapoError, match="no spans of type 'VP'; known: NP"):
        span_reading(("O", "B-NP")).number_of("VP")
