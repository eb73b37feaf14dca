"""Train a network for one pass over its inputs, with Adam."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import torch
from torch import Tensor

from sapo.kernels import update
from sapo.kernels.types import Doubles, Ints, Longs
from sapo.neural.batches import batches_of, make_batch
from sapo.neural.inputs import Inputs
from sapo.neural.network import Network


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
        """Shrink a gradient that is too long. PyTorch's own function cannot do that for sparse gradients."""
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
                if any(array.shape != tuple(parameter.shape) for array in moments.values()):
                    raise ValueError("the state of Adam")
                step = float(arrays[names["step"]][0])
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

    Counts are added to `totals`, as linear learners do (see kernels/update.py). All random numbers come from the seed.
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
    totals[update.LOSS] += loss * len(lengths)
    totals[update.TOKENS] += int(inside.sum())
    totals[update.CORRECT] += int(right.sum())
    totals[update.UPDATED_SAMPLES] += len(lengths)
    totals[update.UPDATES] += int(inside.sum())
    totals[update.CANDIDATES] += getattr(network.layer, "candidates", 0)
