"""Prepare a network for training in the shared loop (sapo.learn).

Linear learners change `sapo.learn.Weights`; a network has weights of its own. For the loop and the tagger, it is an
encoder, and the weights are the identity (see encoder.py).
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from sapo.corpus import Block
from sapo.encode.encoded import EncodedCorpus
from sapo.encode.encoder import TemplateEncoder
from sapo.errors import SapoError
from sapo.kernels.types import Doubles, Floats, Longs
from sapo.learn import DevSet, Settings
from sapo.neural.encoder import NeuralEncoder, check_state, load_state, make_network, state_arrays
from sapo.neural.inputs import Inputs, Vocabulary, plain_word, read_all
from sapo.neural.options import NeuralOptions, Texts
from sapo.neural.passes import Adam, network_pass
from sapo.neural.threads import one_thread, threads
from sapo.neural.vectors import read_vectors
from sapo.search.lattice import Parameters

Arrays = dict[str, np.ndarray]


class NetworkWeights:
    """A network in training, as a `sapo.learn.state.Learned`: its weights, and its state for a checkpoint."""

    own_rules: ClassVar[bool] = False
    converged: ClassVar[str] = ""

    def __init__(self, encoder: NeuralEncoder, adam: Adam, bans: Floats) -> None:
        self.encoder, self.adam, self.bans = encoder, adam, bans
        self.passes = 0

    def true_weights(self) -> Parameters:
        return dataclasses.replace(self.encoder.parameters(), bans=self.bans)

    current = true_weights

    def keep(self, now: Parameters) -> Arrays:
        return state_arrays(self.encoder.network, "")

    def finish(self, best: Arrays | None) -> Parameters:
        if best:
            load_state(self.encoder.network, best, "")
        self.encoder.network.eval()
        return self.true_weights()

    def arrays(self, best: Arrays | None) -> Arrays:
        return {
            **state_arrays(self.encoder.network, "network."),
            **{f"best.{name}": array for name, array in (best or {}).items()},
            **self.adam.arrays("adam."),
        }

    def load(self, arrays: Mapping[str, np.ndarray], passes: int) -> Arrays | None:
        self.passes = passes
        load_state(self.encoder.network, arrays, "network.")
        self.adam.load(arrays, "adam.")
        best = {name.removeprefix("best."): array.copy() for name, array in arrays.items() if name.startswith("best.")}
        if best:
            check_state(self.encoder.network, best, "")
        return best or None

    def pay_penalties(self) -> None:
        """Do nothing: a network is not regularised."""

    def w_complexity(self) -> float:
        with one_thread():  # the same to the last digit, however many threads there are
            return self.encoder.network.w_complexity()

    def encode(self, blocks: Sequence[Block], corpus: EncodedCorpus) -> EncodedCorpus:
        """Return these blocks, encoded with the current network."""
        return self.encoder.encode_inputs(read_all(self.encoder.vocabulary, blocks), corpus.gold)


@dataclass(frozen=True, slots=True)
class ReadyNetwork:
    """A network that is ready for training. `names` identify it in a checkpoint."""

    weights: NetworkWeights
    inputs: Inputs
    options: NeuralOptions
    names: list[str]

    def one_pass(
        self,
        weights: NetworkWeights,
        corpus: EncodedCorpus,
        order: Longs,
        rate: float,
        settings: Settings,
        totals: Doubles,
    ) -> Iterator[int]:
        """Learn from the sentences in about this order; yield the number of sentences after each batch."""
        weights.passes += 1
        with threads(settings.threads):
            yield from network_pass(
                weights.encoder.network,
                weights.adam,
                self.inputs,
                corpus.gold,
                order,
                rate=rate,
                seed=(settings.seed, weights.passes),
                totals=totals,
            )

    def dev_set(self, dev: DevSet, blocks: Sequence[Block]) -> DevSet:
        """Return the same dev set, encoded with the current network whenever it is evaluated."""
        encoder = self.weights.encoder
        inputs = read_all(encoder.vocabulary, blocks)
        return dataclasses.replace(dev, look=lambda corpus: encoder.encode_inputs(inputs, corpus.gold))


def begin_network(
    texts: Texts,
    corpus: EncodedCorpus,
    templates: TemplateEncoder,
    bans: Floats,
    settings: Settings,
    options: NeuralOptions,
    *,
    learner: str,
) -> ReadyNetwork:
    """Return a network before its first pass, initialised with word vectors if there are any.

    `corpus` has the tags, `templates` the columns to read and the features. `bans` do not affect training, only
    tagging. Raises SapoError if n is 'auto', or the word vectors cannot be read.
    """
    if isinstance(settings.n, str):
        raise SapoError(f"{learner} cannot measure how many taggings are worth it; give n a number, not {settings.n}")
    options = options.settled(learner, corpus.sentences)
    clip = options.clip
    vectors = None if options.vectors is None else read_vectors(options.vectors)
    sized = options if vectors is None else dataclasses.replace(options, word_size=vectors.size)
    vocabulary = Vocabulary.of_blocks(
        texts.train,
        list(templates.columns),
        vectors=vectors.words if vectors else (),
        features=templates if options.features else None,
    )
    labels = bans.shape[1]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network = make_network(vocabulary, sized, labels, learner, n=settings.n, stop_ratio=settings.stop_ratio)
    if vectors is not None:
        # of several words that are the same in lower case, the first is the most frequent
        places = vocabulary.words.find([plain_word(word) for word in vectors.words])
        _, first = np.unique(places, return_index=True)
        network.use_vectors(torch.from_numpy(places[first].astype(np.int64) + 1), vectors.matrix[first])
    inputs = read_all(vocabulary, texts.train)
    seen = hashlib.sha256(inputs.words.tobytes())
    if vectors is not None:
        seen.update(state_arrays(network, "")["words.weight"].tobytes())
    names = [json.dumps(vocabulary.header(), sort_keys=True), seen.hexdigest()]
    encoder = NeuralEncoder(vocabulary, network, learner)
    return ReadyNetwork(NetworkWeights(encoder, Adam(network, clip), bans), inputs, options, names)
