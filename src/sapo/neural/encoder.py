"""Encode text with a network: the features of a token are the network's scores.

A token has one feature for each label, whose value is the emission of the label; the start scores are added at the
first token, and the end scores at the last. With the identity as weights and the transitions as edges, the lattice of a
sentence is that of the network's last layer. So everything that works on a lattice also works with a network.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch

from sapo.corpus.blocks import Block
from sapo.errors import ModelError
from sapo.features.encoded import EncodedCorpus
from sapo.features.strings import bounded
from sapo.jit.arrays import Floats, Ints
from sapo.neural.inputs import Inputs, Reader, Vocabulary, batches_of, make_batch
from sapo.neural.network import Network, Sizes, one_thread
from sapo.neural.options import LAYERS, NeuralOptions
from sapo.search.lattice import Parameters

SENTENCES = 64  # number of sentences that are scored at once
PREFIX = "network."
LARGEST = 1e30  # weight


class NeuralEncoder:
    """A network with its vocabulary, as an `Encoder` (see features/encoder.py)."""

    kind = "neural"
    linear = False

    def __init__(self, vocabulary: Vocabulary, network: Network, learner: str) -> None:
        self.vocabulary = vocabulary
        self.network = network
        self.learner = learner

    @property
    def columns(self) -> tuple[str, ...]:
        return self.vocabulary.columns

    @property
    def features(self) -> int:
        return self.network.sizes.labels

    @property
    def edge_features(self) -> int:
        return 0

    @property
    def transitions(self) -> bool:
        return LAYERS[self.learner] != "softmax"

    def growing(self) -> Any:
        """Raise SapoError, because new features cannot be added to a network."""
        raise ModelError("this model is a network: it cannot learn new sentences; train it again on all of them")

    def description(self) -> dict[str, Any]:
        """Return the size and the options of the network."""
        learned = [parameter.numel() for parameter in self.network.parameters() if parameter.requires_grad]
        return {
            "network": {
                "words": len(self.vocabulary.words),
                "weights": sum(learned),
                "options": self.network.options.as_json(),
            }
        }

    def feature_names(self, rows: Iterable[int]) -> list[str]:
        return [f"score of label {row}" for row in rows]

    def edge_feature_names(self, rows: Iterable[int]) -> list[str]:
        return []

    def session(self) -> "NeuralSession":
        return NeuralSession(self)

    def parameters(self) -> Parameters:
        """Return the weights that turn the encoded corpus into lattices."""
        edges = self.network.layer.transitions.detach().numpy().astype(np.float32)
        return Parameters.plain(np.eye(self.features, dtype=np.float32), edges)

    def encode_inputs(self, inputs: Inputs, gold: Ints | None = None) -> EncodedCorpus:
        """Return the inputs as an encoded corpus, with the scores of the network as features."""
        tokens, labels = int(inputs.offsets[-1]), self.features
        return EncodedCorpus(
            inputs.offsets,
            np.arange(tokens + 1, dtype=np.int64) * labels,
            np.tile(np.arange(labels, dtype=np.int32), tokens),
            self._nodes(inputs).ravel(),
            np.empty(0, np.int32) if gold is None else gold,
        )

    def _nodes(self, inputs: Inputs) -> Floats:
        """Return the scores of the network, [tokens, labels]."""
        network = self.network
        found = np.empty((int(inputs.offsets[-1]), self.features), np.float32)
        network.eval()  # and not back: other threads may be tagging; a training pass begins with train()
        with torch.no_grad(), one_thread():
            for sentences in batches_of(inputs, np.arange(inputs.sentences), SENTENCES):
                batch = make_batch(inputs, sentences, chars=network.chars is not None)
                found[batch.tokens] = network.emissions(batch).numpy()
        full = inputs.lengths > 0
        found[inputs.offsets[:-1][full]] += network.layer.start.detach().numpy()
        found[inputs.offsets[1:][full] - 1] += network.layer.end.detach().numpy()
        return found

    def header(self) -> dict[str, Any]:
        """Return everything but the arrays, for a model file."""
        sizes = self.network.sizes
        return {
            "learner": self.learner,
            "labels": sizes.labels,
            "options": self.network.options.as_json(),
            "vocabulary": self.vocabulary.header(),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        return {**self.vocabulary.arrays(), **state_arrays(self.network, PREFIX)}

    @classmethod
    def from_arrays(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "NeuralEncoder":
        """Return the encoder of a model file. Raise ValueError, TypeError or KeyError if its parts do not fit."""
        vocabulary = Vocabulary.from_arrays(header["vocabulary"], arrays)
        options = NeuralOptions(**header["options"])
        labels = header["labels"]
        if not (isinstance(labels, int) and 0 < labels <= len(arrays[PREFIX + "linear.bias"])):
            raise ValueError("labels")
        with torch.device("meta"):  # memory is allocated only when all arrays are known to fit
            network = make_network(vocabulary, options, labels, header["learner"])
        check_state(network, arrays, PREFIX)
        network.to_empty(device="cpu")
        load_state(network, arrays, PREFIX)
        network.eval()
        return cls(vocabulary, network, header["learner"])


class NeuralSession:
    """Encode block after block. A session must not be shared between threads."""

    def __init__(self, encoder: NeuralEncoder) -> None:
        self._encoder = encoder
        self._reader: Reader = encoder.vocabulary.session()

    def encode(self, block: Block, gold: Ints | None = None) -> EncodedCorpus:
        """Return a block as an encoded corpus, with the scores of the network as features."""
        return self._encoder.encode_inputs(self._reader.read(block), gold)


def make_network(
    vocabulary: Vocabulary,
    options: NeuralOptions,
    labels: int,
    learner: str,
    *,
    n: int = 5,
    stop_ratio: float = math.inf,
) -> Network:
    """Return a network of the right size, with random weights."""
    sizes = Sizes(
        labels=labels,
        words=len(vocabulary.words),
        columns=tuple(len(table) for table in vocabulary.values.values()),
        chars=len(vocabulary.chars),
        features=0 if vocabulary.features is None else vocabulary.features.features,
    )
    return Network(sizes, options, layer=LAYERS[learner], n=n, stop_ratio=stop_ratio)


def state_arrays(network: Network, prefix: str) -> dict[str, np.ndarray]:
    """Return a copy of all weights by name."""
    return {prefix + name: value.detach().numpy().copy() for name, value in network.state_dict().items()}


def check_state(network: Network, arrays: Mapping[str, np.ndarray], prefix: str) -> None:
    """Raise ValueError or KeyError if the arrays do not fit the network, or are not finite numbers."""
    for name, value in network.state_dict().items():
        array = arrays[prefix + name]
        if array.shape != tuple(value.shape) or array.dtype != np.float32 or not bounded(array, LARGEST):
            raise ValueError(prefix + name)


def load_state(network: Network, arrays: Mapping[str, np.ndarray], prefix: str) -> None:
    """Load the weights of a file. Raise ValueError or KeyError if they do not fit the network."""
    check_state(network, arrays, prefix)
    with torch.no_grad():
        for name, value in network.state_dict().items():
            value.copy_(torch.from_numpy(arrays[prefix + name].copy()))
