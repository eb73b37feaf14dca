"""Texts with tags in, a trained network out: the shared loop (sapo.learn) with a pass of a network as its learner.

The linear learners change `Weights`; a network has weights of its own, and shows itself to the loop, to those who watch
it and to the tagger as an encoder with the identity for weights (see neural/encoder.py). PyTorch is loaded when this
runs, not when it is imported.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sapo.corpus import Block
from sapo.encode.encoded import EncodedCorpus
from sapo.encode.encoder import TemplateEncoder
from sapo.encode.pairs import Pairs
from sapo.errors import SapoError
from sapo.evaluate import Scores
from sapo.kernels.types import Doubles, Floats, Longs
from sapo.learn import DevSet, Observer, PassRecord, Settings, State, Weights, learn
from sapo.model import fingerprint
from sapo.model.arrayfile import load_arrays, save_arrays
from sapo.model.checkpoint import WHAT, check_same_run, checkpoint_header, take_history
from sapo.neural.options import NeuralOptions, need_torch
from sapo.search.lattice import Parameters

if TYPE_CHECKING:
    from sapo.neural.encoder import NeuralEncoder
    from sapo.neural.inputs import Inputs
    from sapo.neural.passes import Adam

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Texts:
    """The strings of a run, which networks read."""

    train: tuple[Block, ...]
    dev: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Trained:
    """A network as a model needs it, and how it came to be."""

    encoder: "NeuralEncoder"
    parameters: Parameters
    reason: str
    state: State


class NetworkWeights(Weights):
    """A network in the place of weights."""

    __slots__ = ("encoder",)

    def __init__(self, encoder: "NeuralEncoder", bans: Floats) -> None:
        labels = encoder.features
        super().__init__(
            np.eye(labels, dtype=np.float32),
            np.zeros((labels, labels), np.float32),
            encoder.transitions,
            Pairs.none(),
            np.empty((0, 1), np.float32),
            bans,
        )
        self.encoder = encoder

    def true_weights(self) -> Parameters:
        return dataclasses.replace(self.encoder.parameters(), bans=self.bans)

    def w_complexity(self) -> float:
        return self.encoder.network.w_complexity()

    def encode(self, blocks: Sequence[Block], corpus: EncodedCorpus) -> EncodedCorpus:
        """The corpus of these blocks as the network sees it now."""
        from sapo.neural.inputs import read_all

        return self.encoder.encode_inputs(read_all(self.encoder.vocabulary, blocks), corpus.gold)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkDevSet(DevSet):
    """Sentences that are scored anew by the network whenever they are evaluated."""

    inputs: "Inputs"
    encoder: "NeuralEncoder"

    def evaluate(self, parameters: Parameters) -> Scores:
        seen = self.encoder.encode_inputs(self.inputs, self.corpus.gold)
        return DevSet(seen, self.labels, self.shown).evaluate(parameters)


def run_network(
    texts: Texts,
    corpus: EncodedCorpus,
    dev: DevSet | None,
    templates: TemplateEncoder,
    labels: int,
    settings: Settings,
    options: NeuralOptions,
    *,
    learner: str,
    names: list[str],
    bans: Floats,
    observers: Sequence[Observer] = (),
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> Trained:
    """Learn. `corpus` and `dev` bring the tags, `templates` the columns to read and the features; `names` tell this run
    from others in a checkpoint. The network learns as if nothing were forbidden; taggings keep to `bans`."""
    need_torch()
    from sapo.neural.encoder import load_state, state_arrays
    from sapo.neural.inputs import read_all
    from sapo.neural.passes import Adam, network_pass
    from sapo.neural.threads import threads

    options = options.settled(learner, corpus.sentences)
    encoder = _begin(texts, templates, labels, settings, options, learner)
    network, vocabulary = encoder.network, encoder.vocabulary
    inputs = read_all(vocabulary, texts.train)
    adam = Adam(network, options.clip)
    state = State(NetworkWeights(encoder, bans))
    watched = None
    if dev is not None:
        watched = NetworkDevSet(
            dev.corpus, dev.labels, dev.shown, inputs=read_all(vocabulary, texts.dev), encoder=encoder
        )
    best = _Best(encoder)
    watching: list[Observer] = [best, *observers]
    if checkpoint is not None:
        told = json.dumps(vocabulary.header(), sort_keys=True)
        seen = hashlib.sha256(inputs.words.tobytes())
        if options.vectors is not None:
            seen.update(state_arrays(network, "")["words.weight"].tobytes())
        same = fingerprint(corpus, dev.corpus if dev else None, [learner, told, seen.hexdigest(), *names])
        keeper = _Checkpoint(checkpoint, {**settings.as_json(), **options.as_json()}, same, encoder, adam, best)
        if resume and Path(checkpoint).exists():
            keeper.load(state)
        watching.append(keeper)

    def learner_pass(
        weights: Weights, corpus: EncodedCorpus, order: Longs, rate: float, settings: Settings, totals: Doubles
    ) -> Iterator[int]:
        seed = (settings.seed, state.epoch + 1)
        return network_pass(network, adam, inputs, corpus.gold, order, rate=rate, seed=seed, totals=totals)

    with threads(settings.threads):
        reason = learn(learner_pass, corpus, settings, state, dev=watched, observers=watching)
    if best.arrays:
        load_state(network, best.arrays, "")
        state.best_epoch = best.epoch  # one that was stopped while it kept a better pass still has the one before
    network.eval()
    return Trained(encoder, state.weights.true_weights(), reason, state)


def _begin(
    texts: Texts, templates: TemplateEncoder, labels: int, settings: Settings, options: NeuralOptions, learner: str
) -> "NeuralEncoder":
    """A network that has not learned yet, with the word vectors where there are some."""
    import torch

    from sapo.neural.encoder import NeuralEncoder, make_network
    from sapo.neural.inputs import Vocabulary, plain_word
    from sapo.neural.vectors import read_vectors

    if isinstance(settings.n, str):
        raise SapoError(f"{learner} cannot measure how many taggings are worth it; give n a number, not {settings.n}")
    vectors = None if options.vectors is None else read_vectors(options.vectors)
    if vectors is not None:
        options = dataclasses.replace(options, word_size=vectors.size)
    vocabulary = Vocabulary.of_blocks(
        texts.train,
        list(templates.columns),
        vectors=vectors.words if vectors else (),
        features=templates if options.features else None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network = make_network(vocabulary, options, labels, learner, n=settings.n, stop_ratio=settings.stop_ratio)
    if vectors is not None:
        # of several words that are one in small letters, the first is the most frequent
        places = vocabulary.words.find([plain_word(word) for word in vectors.words])
        _, first = np.unique(places, return_index=True)
        network.use_vectors(torch.from_numpy(places[first].astype(np.int64) + 1), vectors.matrix[first])
    return NeuralEncoder(vocabulary, network, learner)


class _Best:
    """Keeps the weights of the best pass on the dev set."""

    def __init__(self, encoder: "NeuralEncoder") -> None:
        self.encoder = encoder
        self.epoch = 0
        self.arrays: Arrays = {}

    def samples(self, epoch: int, done: int, of: int) -> None:
        pass

    def passed(self, record: PassRecord, state: State) -> None:
        from sapo.neural.encoder import state_arrays

        if state.best_epoch == record.epoch:
            self.epoch, self.arrays = record.epoch, state_arrays(self.encoder.network, "")


class _Checkpoint:
    """Saves the network, its best weights and the state of Adam after every pass."""

    def __init__(
        self,
        path: str | Path,
        settings: dict[str, Any],
        fingerprint: str,
        encoder: "NeuralEncoder",
        adam: "Adam",
        best: _Best,
    ) -> None:
        self.path, self.settings, self.fingerprint = path, settings, fingerprint
        self.encoder, self.adam, self.best = encoder, adam, best

    def samples(self, epoch: int, done: int, of: int) -> None:
        pass

    def passed(self, record: PassRecord, state: State) -> None:
        from sapo.neural.encoder import state_arrays

        header: dict[str, Any] = checkpoint_header(state, self.settings, self.fingerprint)
        arrays = {
            **state_arrays(self.encoder.network, "network."),
            **{f"best.{name}": array for name, array in self.best.arrays.items()},
            **self.adam.arrays("adam."),
        }
        save_arrays(self.path, header, arrays)

    def load(self, state: State) -> None:
        """Bring a fresh state to where the run stood."""
        from sapo.neural.encoder import load_state

        header, arrays = load_arrays(self.path, WHAT)
        try:
            check_same_run(self.path, header, self.settings, self.fingerprint)
            load_state(self.encoder.network, arrays, "network.")
            self.adam.load(arrays, "adam.")
            self.best.arrays = {
                name.removeprefix("best."): array.copy() for name, array in arrays.items() if name.startswith("best.")
            }
            take_history(state, header)
            self.best.epoch = state.best_epoch
            if self.best.arrays:
                state.best = state.weights.true_weights()
        except (KeyError, TypeError, ValueError) as error:
            raise SapoError(f"{self.path}: not {WHAT}: {error}") from None
