"""The slow way of going on with new sentences, beside which a trainer that grows in place is held.

It has a dictionary of the names of all features, copies all weights for every update, and uses the loop of training.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapo import Tagger, Trainer
from sapo.corpus.blocks import sentence_block
from sapo.features.building import build_encoder
from sapo.features.encoded import EncodedCorpus, Pairs
from sapo.features.encoder import TemplateEncoder
from sapo.features.ready import build_feature_encoder
from sapo.features.strings import StringTable
from sapo.learn import LEARNERS
from sapo.learn.loop import final_weights, learn
from sapo.learn.records import State
from sapo.learn.settings import Settings
from sapo.learn.updating import growth, typical_weight
from sapo.learn.weights import Weights
from sapo.search.chain import search_n
from sapo.search.lattice import Parameters, make_lattice
from sapo.training.update import PASSES

Example = tuple[list[Any], list[str]]


class SlowTrainer:
    def __init__(self, tagger: Tagger) -> None:
        model = tagger.model
        self.encoder, self.labels, self.parameters = model.encoder, list(model.labels), model.parameters
        self.typical = typical_weight(model.parameters.rows)
        self.sentences: int = model.record["sentences"]
        self.trained = {key: value for key, value in model.record["settings"].items() if value is not None}
        encoder = model.encoder
        self.rows = {name: row for row, name in enumerate(encoder.feature_names(range(encoder.features)))}
        self.edge_rows = {
            name: row for row, name in enumerate(encoder.edge_feature_names(range(encoder.edge_features)))
        }

    def encode(self, sentences: Sequence[list[Any]], tags: Sequence[list[str]] = (), *, grow: bool) -> EncodedCorpus:
        """By an encoder that knows these sentences only; its rows are then put in our numbers."""
        gold = np.array([self.labels.index(tag) for sentence in tags for tag in sentence], np.int32)
        fresh: Any
        if isinstance(self.encoder, TemplateEncoder):
            block = sentence_block(sentences, ["word"], [["X"] * len(tokens) for tokens in sentences])
            fresh, corpus = build_encoder([block], self.encoder.templates, StringTable())
        else:
            fresh, corpus = build_feature_encoder(sentences, gold)
        kept, row_offsets, rows = self._renumber(
            fresh.feature_names(corpus.rows.tolist()), corpus.row_offsets, self.rows, grow
        )
        changes: dict[str, Any] = {"row_offsets": row_offsets, "rows": rows, "gold": gold}
        if len(corpus.values):
            changes["values"] = corpus.values[kept]
        if len(corpus.edge_row_offsets) > 1:
            names = fresh.edge_feature_names(corpus.edge_rows.tolist())
            _, changes["edge_row_offsets"], changes["edge_rows"] = self._renumber(
                names, corpus.edge_row_offsets, self.edge_rows, grow
            )
        return dataclasses.replace(corpus, **changes)

    @staticmethod
    def _renumber(names: list[str], offsets: Any, known: dict[str, int], grow: bool) -> tuple[list[int], Any, Any]:
        if grow:
            for name in names:
                known.setdefault(name, len(known))
        kept = [i for i, name in enumerate(names) if name in known]
        sizes = [sum(a <= i < b for i in kept) for a, b in itertools.pairwise(offsets.tolist())]
        return kept, np.cumsum([0, *sizes]), np.array([known[names[i]] for i in kept], np.int32)

    def update(self, examples: Sequence[Example]) -> None:
        tags = [tags for _, tags in examples]
        known = len(self.labels)
        self.labels = list(dict.fromkeys([*self.labels, *itertools.chain(*tags)]))
        corpus = self.encode([tokens for tokens, _ in examples], tags, grow=True)
        weights = self._copied_weights(corpus, known)
        self.sentences += len(examples)
        chosen = Settings(**{**self.trained, "epochs": PASSES, "tolerance": 0.0})
        scaled = dataclasses.replace(chosen, strength=chosen.strength * len(examples) / self.sentences)
        state = State(weights)
        share = len(examples) / self.sentences
        speeds = {row: self._speed(row, share) for row in corpus.rows.tolist()}
        values = corpus.values.tolist() or [1.0] * len(corpus.rows)
        values = [value * speeds[row] for value, row in zip(values, corpus.rows.tolist(), strict=True)]
        corpus = dataclasses.replace(corpus, values=np.array(values, np.float32))
        while state.epoch < PASSES and not (state.history and state.history[-1].accuracy == 1.0):
            before = weights.edges.copy()
            for row, speed in speeds.items():
                weights.features[row] /= speed
            # with the same rounding as the trainer: it decides between taggings that score alike
            rate = chosen.rate * growth(chosen.decay, len(examples)) ** state.epoch
            paced = dataclasses.replace(scaled, epochs=state.epoch + 1, rate=rate, schedule="fixed")
            learn(LEARNERS["sapo"].run, corpus, paced, state)
            for row, speed in speeds.items():
                weights.features[row] *= speed
            for p, y in itertools.product(range(len(self.labels)), repeat=2):
                speed = share if max(p, y) < known else 1.0
                weights.edges[p, y] = before[p, y] + np.float32(speed) * (weights.edges[p, y] - before[p, y])
        self.parameters = final_weights(state)

    def _speed(self, row: int, share: float) -> float:
        """As a power of two."""
        large = max(map(abs, self.parameters.features[row].tolist())) if row < len(self.parameters.features) else 0.0
        return float(2.0 ** round(math.log2(share + (1 - share) * self.typical / (self.typical + large)) / 2))

    def _copied_weights(self, corpus: EncodedCorpus, known: int) -> Weights:
        old, labels = self.parameters, len(self.labels)
        entries = self.pair_weights(known)
        if len(corpus.edge_row_offsets) > 1:
            for first, last in itertools.pairwise(corpus.offsets.tolist()):
                for token in range(first + 1, last):
                    for i in range(corpus.edge_row_offsets[token], corpus.edge_row_offsets[token + 1]):
                        pair = int(corpus.gold[token - 1]), int(corpus.gold[token])
                        entries.setdefault((int(corpus.edge_rows[i]), *pair), 0.0)
        ordered = sorted(entries)
        sizes = [sum(e == row for e, _, _ in ordered) for row in range(len(self.edge_rows))]
        codes = np.array([p * labels + y for _, p, y in ordered], np.int32)
        pairs = Pairs(np.cumsum([0, *sizes], dtype=np.int64), codes)
        weights = Weights.zeros(len(self.rows), labels, transitions=self.encoder.transitions, pairs=pairs)
        weights.features[: len(old.features), :known] = old.features
        weights.edges[:known, :known] = old.edges
        weights.pair_weights[:, 0] = [entries[key] for key in ordered]
        return weights

    def pair_weights(self, labels: int) -> dict[tuple[int, int, int], float]:
        return pair_weights(self.parameters, labels)

    def nbest(self, tokens: list[Any]) -> Any:
        lattice = make_lattice(self.encode([tokens], grow=False), 0, self.parameters)
        return lattice, search_n("topn", lattice, n=3)

    def feature_weights(self) -> dict[str, list[float]]:
        return {name: self.parameters.features[row].tolist() for name, row in self.rows.items()}

    def edge_weights(self) -> dict[tuple[str, int, int], float]:
        names = {row: name for name, row in self.edge_rows.items()}
        return {(names[e], p, y): w for (e, p, y), w in self.pair_weights(len(self.labels)).items()}


def pair_weights(parameters: Parameters, labels: int) -> dict[tuple[int, int, int], float]:
    owners, codes = parameters.pairs.owners.tolist(), parameters.pairs.codes.tolist()
    values = parameters.pair_weights[:, 0].tolist()
    return {(e, *divmod(code, labels)): value for e, code, value in zip(owners, codes, values, strict=True)}


def feature_weights(tagger: Tagger) -> dict[str, list[float]]:
    encoder = tagger.model.encoder
    return dict(
        zip(encoder.feature_names(range(encoder.features)), tagger.model.parameters.features.tolist(), strict=True)
    )


def edge_weights(tagger: Tagger) -> dict[tuple[str, int, int], float]:
    encoder = tagger.model.encoder
    names = encoder.edge_feature_names(range(encoder.edge_features))
    entries = pair_weights(tagger.model.parameters, len(tagger.labels))
    return {(names[e], p, y): value for (e, p, y), value in entries.items()}


def names_of(tagger: Tagger, tokens: list[Any]) -> list[list[str]]:
    """The features of each token."""
    encoder = tagger.model.encoder
    if isinstance(encoder, TemplateEncoder):
        corpus = encoder.session().encode(sentence_block([tokens], ["word"]))
    else:
        corpus = encoder.encode([tokens])
    names = encoder.feature_names(corpus.rows.tolist())
    return [names[a:b] for a, b in itertools.pairwise(corpus.row_offsets.tolist())]


def assert_alike(trainer: Trainer, slow: SlowTrainer, probes: Sequence[list[Any]], room: Path) -> None:
    assert trainer.tagger.labels == tuple(slow.labels)
    frozen = trainer.snapshot()
    trainer.tagger.save(room / "live.sapo")
    frozen.save(room / "frozen.sapo")
    assert edge_weights(frozen) == pytest.approx(slow.edge_weights(), rel=1e-4, abs=1e-6)
    expected = slow.feature_weights()
    for tagger in (trainer.tagger, frozen, Tagger.load(room / "live.sapo"), Tagger.load(room / "frozen.sapo")):
        found = feature_weights(tagger)
        assert found.keys() <= expected.keys()
        for name, weights in expected.items():  # a file leaves out features without a weight
            assert found.get(name, [0.0] * len(weights)) == pytest.approx(weights, rel=1e-4, abs=1e-6), name
        np.testing.assert_allclose(tagger.model.parameters.edges, slow.parameters.edges, rtol=1e-4, atol=1e-6)
        for tokens in probes:
            corpus = slow.encode([tokens], grow=False)
            known = list(slow.rows)
            cuts = itertools.pairwise(corpus.row_offsets.tolist())
            names = [[known[row] for row in corpus.rows[a:b] if known[row] in found] for a, b in cuts]
            assert names_of(tagger, tokens) == names
            lattice, best = slow.nbest(tokens)
            scores = [tagging.score for tagging in tagger.nbest(tokens, 3)]
            assert scores == pytest.approx(best.scores.tolist(), rel=1e-4, abs=1e-4)
            tags = [slow.labels.index(tag) for tag in tagger.tag(tokens)]  # of several best taggings, any
            assert lattice.path_score(tags) == pytest.approx(scores[0], rel=1e-4, abs=1e-4)
