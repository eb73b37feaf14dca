"""Train a network: the optimizer, a pass over the sentences, and the weights as the training loop sees them.

Linear learners change `sapo.learn.Weights`; a network has weights of its own. For the loop and the tagger it is an
encoder, and the weights are the identity (see neural/encoder.py).
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from sapo.corpus.blocks import Block
from sapo.errors import OptionError
from sapo.features.encoded import EncodedCorpus
from sapo.features.encoder import TemplateEncoder
from sapo.features.vectors import read_vectors
from sapo.jit.arrays import Doubles, Floats, Ints, Longs
from sapo.learn.records import DevSet
from sapo.learn.settings import Settings
from sapo.neural.encoder import NeuralEncoder, check_state, load_state, make_network, state_arrays
from sapo.neural.inputs import Inputs, Vocabulary, batches_of, make_batch, plain_word, read_all
from sapo.neural.network import Network, one_thread, threads
from sapo.neural.options import NeuralOptions, Texts
from sapo.search.lattice import CANDIDATES, CORRECT, LOSS, TOKENS, UPDATED_SAMPLES, UPDATES, Parameters

Arrays = dict[str, np.ndarray]


class Adam:
    """Adam, in its sparse form for tables of which a batch uses only a few rows; the other rows do not change."""

    def __init__(self, network: Network, clip: float) -> None:
        sparse = [module.weight for module in network.modules() if getattr(module, "sparse", False)]
        rest = [p for p in network.parameters() if p.requires_grad and all(p is not table for table in sparse)]
        self.parts: list[torch.optim.Optimizer] = [torch.optim.Adam(rest, fused=True), torch.optim.SparseAdam(sparse)]
        self.learned = [*rest, *sparse]
        self.clip = clip

    def set_rate(self, rate: float) -> None:
        """Set the learning rate."""
        for part in self.parts:
            for group in part.param_groups:
                group["lr"] = rate

    def step(self, loss: Tensor) -> None:
        """Change the weights by the gradient of the loss."""
        for part in self.parts:
            part.zero_grad()
        loss.backward()
        self._clip()
        for part in self.parts:
            part.step()

    def _clip(self) -> None:
        """Scale down a gradient that is too long. PyTorch's own function does not support sparse gradients."""
        grads = []
        for parameter in self.learned:
            if parameter.grad is not None and parameter.grad.is_sparse:
                parameter.grad = parameter.grad.coalesce()
                grads.append(parameter.grad._values())
            elif parameter.grad is not None:
                grads.append(parameter.grad)
        norm = torch.sqrt(sum(torch.square(torch.linalg.vector_norm(grad)) for grad in grads))
        if norm > self.clip:
            for grad in grads:
                grad.mul_(self.clip / norm)

    def arrays(self, prefix: str) -> dict[str, np.ndarray]:
        """Return the state of Adam, for a checkpoint."""
        arrays: dict[str, np.ndarray] = {}
        for number, part in enumerate(self.parts):
            for index, state in part.state_dict()["state"].items():
                for key, value in state.items():
                    whole = torch.as_tensor(value, dtype=torch.float32).detach().numpy().copy()
                    arrays[f"{prefix}{number}.{index}.{key}"] = whole.reshape(whole.shape or (1,))
        return arrays

    def load(self, arrays: Mapping[str, np.ndarray], prefix: str) -> None:
        """Load the state of a checkpoint. Raise ValueError or KeyError if it does not fit."""
        for number, part in enumerate(self.parts):
            state = part.state_dict()
            owned = [parameter for group in part.param_groups for parameter in group["params"]]
            kept = {}
            for index, parameter in enumerate(owned):
                names = {key: f"{prefix}{number}.{index}.{key}" for key in ("step", "exp_avg", "exp_avg_sq")}
                if not any(name in arrays for name in names.values()):
                    continue  # it had no gradient yet
                moments = {key: arrays[names[key]] for key in ("exp_avg", "exp_avg_sq")}
                step = float(arrays[names["step"]].reshape(1)[0])
                fits = all(array.shape == tuple(parameter.shape) for array in moments.values())
                if not fits or not 0 <= step < 1 << 53 or (moments["exp_avg_sq"] < 0).any():
                    raise ValueError("the state of Adam")
                kept[index] = {
                    # the sparse form counts with an int, the other one with a tensor
                    "step": torch.tensor(step) if isinstance(part, torch.optim.Adam) else int(step),
                    **{key: torch.from_numpy(array.copy()) for key, array in moments.items()},
                }
            part.load_state_dict({**state, "state": kept})


def network_pass(
    network: Network,
    adam: Adam,
    inputs: Inputs,
    gold: Ints,
    order: Longs,
    *,
    rate: float,
    seed: Iterable[int],
    totals: Doubles,
) -> Iterator[int]:
    """Learn from the sentences in about this order; yield the number of sentences after each batch.

    Counts are added to `totals`, as in linear learners (see learn/update.py). All random numbers come from the seed.
    """
    size = network.options.batch
    assert size is not None  # options are complete before training
    numbers = np.random.default_rng([*seed, 1])
    adam.set_rate(rate)
    golden = torch.from_numpy(gold.astype(np.int64))
    sequence = list(batches_of(inputs, order, size, shuffle=numbers))
    network.train()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(numbers.integers(1 << 62)))
        for sentences in sequence:
            batch = make_batch(inputs, sentences, chars=network.chars is not None)
            mine = golden[torch.from_numpy(batch.tokens)]
            loss, emissions = network(batch, mine)
            adam.step(loss)
            _count(network, batch.lengths, emissions.detach(), batch.padded(mine), loss.detach().item(), totals)
            yield len(sentences)


def _count(network: Network, lengths: Tensor, emissions: Tensor, gold: Tensor, loss: float, totals: Doubles) -> None:
    """Add the counts of a batch. The best tags by emissions alone are good enough to watch training."""
    inside = torch.arange(emissions.shape[1]) < lengths.unsqueeze(1)
    right = (emissions.argmax(2) == gold) & inside
    totals[LOSS] += loss * len(lengths)
    totals[TOKENS] += int(inside.sum())
    totals[CORRECT] += int(right.sum())
    totals[UPDATED_SAMPLES] += len(lengths)
    totals[UPDATES] += int(inside.sum())
    totals[CANDIDATES] += getattr(network.layer, "candidates", 0)


class NetworkWeights:
    """A network in training, as a `sapo.learn.records.Learned`: its weights, and its state for a checkpoint."""

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
        """Do nothing: a network is not regularized."""

    def w_complexity(self) -> float:
        with one_thread():  # the same to the last digit for any number of threads
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
        with threads(settings.threads or 1):
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
    """Return a network before its first pass, initialized with word vectors if there are any.

    `corpus` has the tags, `templates` the columns to read and the features. `bans` do not affect training, only
    tagging. Raises SapoError if n is 'auto', or the word vectors cannot be read.
    """
    if isinstance(settings.n, str):
        raise OptionError(f"{learner} cannot measure how many taggings are worth it; give n a number, not {settings.n}")
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
