"""Rank given candidates: learn from lists of outputs with features which one is right, and how sure that is.

A line of the data is a JSON object with a list of candidates. Each has features, as names or as names with numbers,
and may have anything else, such as the output itself; "gold" is the place of the right one, or null.

    {"candidates": [{"features": {"log-p": -0.4}, "text": "a"}, {"features": ["cue"], "text": "b"}], "gold": 1}

Names get numbers, numeric features are divided by their standard deviation, and SAPO learns the weights
(learn/structured.py). A temperature, fitted on a fifth of the lists that the weights had not seen, makes the softmax
over all candidates of a list as sure as it is right.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.files import check_utf8, parse_json, show_path
from sapo.corpus.scanner import read_lines
from sapo.errors import DataError, ModelError
from sapo.jit.arrays import Doubles, Floats, Longs, offsets_of
from sapo.learn.settings import Settings
from sapo.learn.structured import FlatWeights, GivenLists, learn_structure, softmax_of_scores
from sapo.search.lists import CandidateLists, score_list
from sapo.tagger.arrayfile import load_arrays, save_arrays

KIND = "a reranker of sapo"
FOLDS = 5  # one of them is held out for the temperature
FEWEST_HELD_OUT = 10  # lists; with fewer the temperature stays 1
TEMPERATURES = np.exp(np.linspace(math.log(0.05), math.log(20.0), 241))
# chosen on the dev file of bionlp13cg (benchmarks/rerank.py): larger rates lose what the ranker gains
SETTINGS = Settings(n=20, epochs=10, rate=0.02, strength=10.0, average=0.5)


@dataclass(frozen=True, slots=True)
class CandidateList:
    """The candidates of an input: the features of each, and which one is right."""

    features: Sequence[Mapping[str, float]]
    gold: int | None = None


@dataclass(frozen=True)
class Reranker:
    """Weights of features that say which candidate of a list is right."""

    names: Mapping[str, int]  # the place of each feature among the weights
    weights: Floats  # of features as they are, not scaled
    temperature: float = 1.0

    def probabilities(self, candidates: Sequence[Mapping[str, float]]) -> Doubles:
        """Return the probability of each candidate of a list, in the order of the list. They sum to 1."""
        if not candidates:
            raise DataError("the list has no candidates; give at least one")
        totals = [
            sum(value * float(self.weights[self.names[name]]) for name, value in one.items() if name in self.names)
            for one in candidates
        ]
        scores = np.array(totals) / self.temperature
        order = np.argsort(-scores, kind="stable")
        shares = np.empty(len(scores))
        shares[order] = softmax_of_scores(scores[order])
        return shares

    def save(self, path: str | Path) -> None:
        """Write the reranker to a file, whole or not at all."""
        names = [name.encode() for name in self.names]
        arrays: dict[str, np.ndarray[Any, np.dtype[Any]]] = {
            "names": np.frombuffer(b"".join(names), np.uint8),
            "name.offsets": offsets_of(np.array([len(name) for name in names], np.int64)),
            "weights": self.weights,
        }
        save_arrays(path, {"kind": "reranker", "version": 1, "temperature": self.temperature}, arrays)

    @classmethod
    def load(cls, path: str | Path) -> "Reranker":
        """Read a reranker. Raises SapoError if the file is another one, or damaged."""
        header, arrays = load_arrays(path, KIND)
        if header.get("kind") != "reranker":
            raise ModelError(f"{show_path(path)}: not {KIND}; make one with sapo rerank train")
        try:
            offsets, weights, data = arrays["name.offsets"], arrays["weights"], arrays["names"].tobytes()
            temperature = float(header["temperature"])
            fits = (
                header["version"] == 1
                and temperature > 0
                and weights.dtype == np.float32
                and weights.ndim == offsets.ndim == 1
                and len(offsets) == len(weights) + 1
                and offsets.tolist() == sorted(offsets.tolist())
                and offsets[0] == 0
                and offsets[-1] == len(data)
                and bool(np.isfinite(weights).all())
            )
            names = {data[a:b].decode(): i for i, (a, b) in enumerate(pairwise(offsets.tolist()))}
        except (KeyError, TypeError, ValueError, IndexError):
            fits = False
        if not fits:
            raise ModelError(f"{show_path(path)}: not {KIND}: its parts do not fit together")
        return cls(names, weights, temperature)


def train_reranker(
    lists: Iterable[CandidateList],
    *,
    settings: Settings | None = None,
    learner: str = "sapo",
    watch: Callable[[int, int, int], None] | None = None,
) -> Reranker:
    """Learn to rank candidates. Lists without a right candidate are left out.

    >>> good, bad = {"length": 2.0, "known": 1.0}, {"length": 5.0}
    >>> model = train_reranker([CandidateList([bad, good], 1), CandidateList([good, bad], 0)] * 5)
    >>> int(model.probabilities([bad, good]).argmax())
    1
    """
    given = [one for one in lists if one.gold is not None]
    if not given:
        raise DataError('there is nothing to learn from; at least one list needs "gold", the place of its candidate')
    numbered = _Numbered(given)
    settings = settings or SETTINGS
    temperature = 1.0
    if len(given) >= FOLDS * FEWEST_HELD_OUT:
        held_out = np.random.default_rng(settings.seed).permutation(len(given)) % FOLDS == 0
        weights = numbered.learn(~held_out, settings, learner, None)
        temperature = _best_temperature(numbered, weights, np.flatnonzero(held_out))
    weights = numbered.learn(np.ones(len(given), bool), settings, learner, watch)
    return Reranker(numbered.names, weights.v * numbered.scales, temperature)


class _Numbered:
    """Lists whose features are numbers."""

    def __init__(self, given: Sequence[CandidateList]) -> None:
        self.names: dict[str, int] = {}
        names, sizes, rows, values = self.names, list[int](), list[int](), list[float]()
        for one in given:
            for features in one.features:
                rows.extend(names.setdefault(name, len(names)) for name in features)
                values.extend(features.values())
                sizes.append(len(features))
        self.gold: Longs = np.array([one.gold for one in given], np.int64)
        scaled = np.array(values, np.float32)
        numbers: Longs = np.array(rows, np.int64)
        self.scales = _scales(numbers, scaled, len(names))
        offsets = offsets_of(np.array([len(one.features) for one in given], np.int64))
        row_offsets = offsets_of(np.array(sizes, np.int64))
        self.lists = CandidateLists(offsets, row_offsets, numbers, scaled * self.scales[numbers])

    def learn(
        self,
        chosen: np.ndarray[Any, np.dtype[np.bool_]],
        settings: Settings,
        learner: str,
        watch: Callable[[int, int, int], None] | None,
    ) -> FlatWeights:
        """Return weights of scaled features that were learned from the chosen lists."""
        weights = FlatWeights(len(self.names))
        structure = GivenLists(self.lists, np.where(chosen, self.gold, -1))
        learn_structure(structure, weights, settings, learner=learner, watch=watch)
        return weights


def _scales(rows: Longs, values: Floats, size: int) -> Floats:
    """Return 1 / standard deviation of the values of each feature; 1 for those that always have the same value."""
    counts = np.maximum(np.bincount(rows, minlength=size), 1)
    mean = np.bincount(rows, values, size) / counts
    deviation = np.sqrt(np.maximum(np.bincount(rows, values.astype(np.float64) ** 2, size) / counts - mean**2, 0))
    scales: Floats = np.where(deviation > 1e-6, 1 / np.maximum(deviation, 1e-6), 1.0).astype(np.float32)
    return scales


def _best_temperature(numbered: _Numbered, weights: FlatWeights, chosen: Longs) -> float:
    """Return the temperature at which the right candidates of the chosen lists are most probable."""
    losses = np.zeros(len(TEMPERATURES))
    lists = numbered.lists
    for sample in chosen.tolist():
        first, last = int(lists.offsets[sample]), int(lists.offsets[sample + 1])
        scores = np.empty(last - first)
        score_list(lists, first, last, weights.v, 1.0, scores)
        scores -= scores[numbered.gold[sample]]
        losses += np.logaddexp.reduce(scores[:, None] / TEMPERATURES, axis=0)
    return float(TEMPERATURES[losses.argmin()])


def read_lists(path: str | Path) -> Iterator[tuple[CandidateList, dict[str, Any]]]:
    """Read the lists of a JSONL file, each with the object that its line has."""
    name = show_path(path)
    for number, line in read_lines(path, "write one list a line"):
        check_utf8(line, name, number)
        if line.strip():
            place = f"{name}:{number}"
            try:
                record = parse_json(line.decode())
            except ValueError:
                raise DataError(f"{place}: not JSON; write one object a line") from None
            yield parse_list(record, place), record


def parse_list(record: Any, place: str) -> CandidateList:
    """Return the list of an object as JSON has it.

    >>> parse_list({"candidates": [{"features": ["a"]}, {"features": {"b": 2}}], "gold": 0}, "line 1")
    CandidateList(features=[{'a': 1.0}, {'b': 2.0}], gold=0)
    """
    candidates = record.get("candidates") if isinstance(record, dict) else None
    if not isinstance(candidates, list):
        raise DataError(f'{place}: expected an object with a list "candidates"')
    if not candidates:
        raise DataError(f"{place}: the list has no candidates; give at least one, or leave the line out")
    features = [_features(one, f"{place}: candidate {k}") for k, one in enumerate(candidates)]
    gold = record.get("gold")
    if gold is not None and not (type(gold) is int and 0 <= gold < len(candidates)):
        raise DataError(f"{place}: gold must be null or from 0 to {len(candidates) - 1}, not {json.dumps(gold)}")
    return CandidateList(features, gold)


def _features(candidate: Any, place: str) -> dict[str, float]:
    features = candidate.get("features") if isinstance(candidate, dict) else None
    if isinstance(features, list) and features and all(isinstance(name, str) for name in features):
        return dict.fromkeys(features, 1.0)
    if isinstance(features, dict) and features:
        for name, value in features.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e30:
                raise DataError(f"{place}: the feature '{name}' must be a number below 1e30, not {json.dumps(value)}")
        return {name: float(value) for name, value in features.items()}
    raise DataError(f'{place}: expected "features", a list of names or an object of names with numbers, not empty')
