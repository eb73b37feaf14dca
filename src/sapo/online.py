"""A trained tagger and new sentences in, a tagger that has learned from them too out.

The vocabulary, the features and the labels grow; what is known keeps its place and its weight. Passes over the new
sentences begin with the rate at which training began, and end when all of them come out right. They regularise as if
the new sentences were added to the old ones.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sapo import kernels
from sapo.encode.building import grow_encoder
from sapo.encode.encoded import EncodedCorpus
from sapo.encode.encoder import TemplateEncoder
from sapo.encode.pairs import joined_pairs, observed_pairs
from sapo.encode.ready import FeatureEncoder, grow_feature_encoder
from sapo.encode.strings import StringTable
from sapo.errors import SapoError
from sapo.learn import Observer, Settings, State, Weights, final_weights, learn
from sapo.model import Model
from sapo.model.model import Encoder
from sapo.neural.options import is_neural
from sapo.tagger import Tagger
from sapo.training import Source, find_learner, read_pairs, training_blocks

PASSES = 10


class Trainer:
    """A tagger that goes on learning.

    >>> import sapo
    >>> trainer = Trainer(sapo.train([(["a", "dog"], ["DT", "NN"])], template="pos"))
    >>> trainer.update([(["sing", "!"], ["VB", "."])])
    >>> trainer.tagger.tag(["sing", "!"])
    ['VB', '.']
    """

    def __init__(self, tagger: Tagger) -> None:
        self.tagger = tagger

    def update(self, sentences: Source, **settings: Any) -> None:
        """Learn from sentences with tags, in the form they had in training, or from a file of them."""
        self.tagger = continue_training(self.tagger, sentences, **settings)


def continue_training(
    tagger: Tagger,
    data: Source,
    *,
    format: str | None = None,
    label: str | int | None = None,
    columns: Sequence[str] | None = None,
    observers: Sequence[Observer] = (),
    **settings: Any,
) -> Tagger:
    """A new tagger; the old one stays as it is. `settings` are those of `sapo.Settings`."""
    model = tagger.model
    record = model.record
    if is_neural(record.get("learner", "")):
        raise SapoError("a network cannot go on with new sentences; train it anew on all of them")
    learner = find_learner(record.get("learner", "sapo"))
    if learner.averaged:  # the sums of the average are not in the model
        learner = find_learner(record["learner"].removesuffix("-avg"))
    trained = {key: value for key, value in record.get("settings", {}).items() if value is not None}
    regulariser = "l2" if learner.regularised else "none"
    chosen = Settings(**{**trained, "epochs": PASSES, "regulariser": regulariser, **settings})
    kernels.compile_kernels()
    table = StringTable(model.labels)
    encoder, corpus = _grow(tagger, data, table, format=format, label=label, columns=columns)
    before = int(record.get("sentences", 0))
    share = corpus.sentences / (before + corpus.sentences)
    weights = _grown_weights(model, encoder, corpus, len(table))
    state = State(weights)
    scaled = dataclasses.replace(chosen, strength=chosen.strength * share)
    reason = ""
    while state.epoch < chosen.epochs and reason != "interrupted":
        reason = learn(
            learner.run, corpus, dataclasses.replace(scaled, epochs=state.epoch + 1), state, observers=observers
        )
        if not state.history or state.history[-1].accuracy == 1.0:
            break
    parameters = final_weights(state)
    known = {**record, "sentences": before + corpus.sentences, "tokens": int(record.get("tokens", 0)) + corpus.tokens}
    if record:
        known["continued"] = [
            *record.get("continued", []),
            {"sentences": corpus.sentences, "passes": state.epoch, "settings": chosen.as_json(), "stopped": reason},
        ]
    return Tagger(Model(tuple(table.strings()), encoder, parameters, model.reader, known if record else {}))


def _grow(tagger: Tagger, data: Source, labels: StringTable, **reading: Any) -> tuple[Encoder, EncodedCorpus]:
    encoder = tagger.model.encoder
    if isinstance(encoder, TemplateEncoder):
        reader = tagger.model.reader
        if isinstance(data, str | Path):
            reading = tagger.reading(data, reading)
        elif reader.get("columns"):
            reading["columns"] = [column for column in reader["columns"] if column != "label"]
        return grow_encoder(encoder, training_blocks(data, **reading), labels)
    if isinstance(data, str | Path):
        raise SapoError("this model was trained on ready-made features; give pairs of features and tags, not a file")
    assert isinstance(encoder, FeatureEncoder)  # networks do not come here
    tokens, tags = read_pairs(list(data), "new data")
    gold = labels.add([tag for sentence in tags for tag in sentence])
    return grow_feature_encoder(encoder, tokens, gold)


def _grown_weights(model: Model, encoder: Encoder, corpus: EncodedCorpus, labels: int) -> Weights:
    """The old weights in larger arrays; new features, labels and pairs begin with zero."""
    old = model.parameters
    rows, known = old.features.shape
    new_pairs = observed_pairs(corpus, encoder.edge_features, labels)
    pairs = joined_pairs(old.pairs, known, new_pairs, labels) if encoder.edge_features else old.pairs
    weights = Weights.zeros(encoder.features, labels, transitions=encoder.transitions, pairs=pairs)
    weights.features[:rows, :known] = old.features
    weights.edges[:known, :known] = old.edges
    places = np.searchsorted(pairs.keys(labels, labels), old.pairs.keys(known, labels))
    weights.pair_weights[places] = old.pair_weights
    return weights
