"""benchmarks/segments.py finds the best segmentations, and scores are the sums of the weights of their features."""

import importlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Doubles
from sapo.learn.settings import Settings
from sapo.learn.structured import FlatWeights, learn_structure
from sapo.tags.spans import loose_spans

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
SENTENCES = [
    (["the", "virus", "of", "New", "York"], ["O", "O", "O", "B-LOC", "I-LOC"]),
    (["New", "York", "(", "NY", ")", "and", "PER"], ["B-LOC", "I-LOC", "O", "B-LOC", "O", "O", "B-PER"]),
    (["York"], ["B-LOC"]),
    ([], []),
    (["no", "entity", "here"], ["O"] * 3),
]
Segment = tuple[int, int, int]  # start, length, type


@pytest.fixture(scope="module")
def segments() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        yield importlib.import_module("segments")


def every(tokens: int, longest: int, types: int, start: int = 0) -> Iterator[tuple[Segment, ...]]:
    """All segmentations."""
    if start == tokens:
        yield ()
    for length in range(1, min(longest, tokens - start) + 1):
        for y in range(0 if length == 1 else 1, types + 1):
            for rest in every(tokens, longest, types, start + length):
                yield ((start, length, y), *rest)


def score_of(segments: tuple[Segment, ...], outside: Doubles, spans: Doubles, pairs: Doubles) -> float:
    own = sum(spans[i, length - 1, y - 1] if y else outside[i] for i, length, y in segments)
    types = [0, *(y for _, _, y in segments)]
    return float(own + sum(pairs[pair] for pair in pairwise(types)))


def read(parts: list[int], longest: int, types: int) -> tuple[tuple[Segment, ...], list[int]]:
    """The segments of a candidate, and the types before them."""
    found = []
    for part in reversed(parts):
        rest, before = divmod(part, types + 1)
        rest, y = divmod(rest, types + 1)
        found.append((*divmod(rest, longest + 1), y, before))
    return tuple(one[:3] for one in found), [one[3] for one in found]


@given(st.integers(0, 5), st.integers(1, 3), st.integers(1, 2), st.integers(1, 7), st.integers(0, 1000), st.booleans())
def test_the_n_best_segmentations_are_those_of_an_enumeration(
    segments: ModuleType, tokens: int, longest: int, types: int, n: int, seed: int, ties: bool
) -> None:
    rng = np.random.default_rng(seed)
    shapes = (tokens,), (tokens, longest, types), (types + 1, types + 1)
    tables = [rng.integers(-2, 3, size).astype(float) if ties else rng.normal(size=size) for size in shapes]
    parts, offsets, scores = segments.best_segmentations(*tables, n)
    found = [read(parts[a:b].tolist(), longest, types) for a, b in pairwise(offsets.tolist())]
    expected = {one: score_of(one, *tables) for one in every(tokens, longest, types)}
    assert scores.tolist() == pytest.approx(sorted(expected.values(), reverse=True)[:n])
    assert len({one for one, _ in found}) == len(found)
    for (one, before), score in zip(found, scores.tolist(), strict=True):
        assert score == pytest.approx(expected[one])
        assert before == [0, *(y for _, _, y in one)][:-1]


@pytest.mark.parametrize("whole", [False, True])
def test_scores_are_the_sums_of_the_weights_of_the_parts_and_the_tags_are_learned(
    segments: ModuleType, whole: bool
) -> None:
    structure = make(segments, whole=whole)
    weights = FlatWeights(structure.layout.hashes + structure.layout.mask + 3)
    weights.v[:] = np.random.default_rng(0).normal(size=len(weights.v))
    compared = 0
    for epoch in (1, 2):  # other cuts, other hidden features
        for sample in range(len(structure)):
            candidates = structure.search(sample, weights, 4)
            for k, score in enumerate(candidates.scores.tolist()):
                rows = structure.rows(sample, candidates.of(k))
                assert score == pytest.approx(float(weights.v[rows.rows].astype(float) @ rows.values), abs=1e-4)
                compared += 1
        structure.watch(epoch, 1, 1)
    assert compared > 10
    weights = FlatWeights(len(weights.v))
    learn_structure(structure, weights, Settings(rate=0.5, epochs=20, average=0.5, strength=0.1), watch=structure.watch)
    tagging = make(segments, whole=whole, learning=False)
    assert [tagging.tags(s, weights) for s in range(len(tagging))] == [tags for _, tags in SENTENCES]


def test_what_was_seen_leaves_out_the_sentences_nearby(segments: ModuleType) -> None:
    seen = segments.SeenStrings([words for words, _ in SENTENCES], [loose_spans(tags) for _, tags in SENTENCES], 2)
    words = ["new", "York", "no"]
    in_all = seen.classes(words, ["LOC", "PER"], None)
    assert in_all[0, 1].tolist() == [8, segments.CLASSES - 1]  # twice a place, never a person
    assert in_all[1, 0, 0] == 3  # one of three
    assert in_all[2].tolist() == [[0, 0], [0, 0]]
    assert seen.classes(words, ["LOC", "PER"], 0)[0, 1, 0] == 7  # once, elsewhere
    assert seen.classes(["york"], ["LOC"], int(seen.folds[2]))[0, 0, 0] == segments.CLASSES - 1


def make(segments: ModuleType, *, whole: bool, learning: bool = True) -> "segments.SegmentStructure":  # type: ignore
    """The sentences with a feature for each word."""
    numbers = {word: i for i, word in enumerate(dict.fromkeys(word for words, _ in SENTENCES for word in words))}
    rows = np.array([numbers[word] for words, _ in SENTENCES for word in words], np.int32)
    offsets = np.cumsum([0, *(len(words) for words, _ in SENTENCES)])
    corpus = EncodedCorpus(offsets, np.arange(len(rows) + 1), rows)
    seen = segments.SeenStrings([words for words, _ in SENTENCES], [loose_spans(tags) for _, tags in SENTENCES], 2)
    known = [seen.classes(words, ["LOC", "PER"], None) for words, _ in SENTENCES]
    layout = segments.layout_of(
        len(numbers), 2, 2, segments.CLASSES, 12, segments.SYSTEMS["whole" if whole else "tokens"], 0.5
    )
    own = segments.SegmentSettings(piece=3.0, hide=0.2, hide_whole=0.2) if learning else None
    return segments.SegmentStructure(corpus, SENTENCES, ["LOC", "PER"], layout, known, learning=own)
