"""The two searches and the two normalizers for a batch side by side, and a step of each last layer: Markdown tables.

    python benchmarks/neural_topn.py

Milliseconds of processor time a batch, in one thread. The lattices are random, seed 0, 25 tokens and 22 labels, in the
likeness of a trained chunker's: at each token one label stands out. Each number is the median of several rounds in
which the candidates take turns. A step of a layer is the loss and its gradient, without a network below it.
"""

import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from sapo.neural import CrfLayer, PerceptronLayer, SapoLayer, SoftmaxLayer, kernel_top_n, torch_top_n
from sapo.neural.chains import kernel_log_normalizer, torch_log_normalizer

TOKENS, LABELS, N = 25, 22, 5
BATCHES = (1, 32, 256)
ROUNDS = 9


def lattices(batch: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    nodes = 3 * torch.randn(batch, TOKENS, LABELS, generator=generator)
    raised = torch.randint(LABELS, (batch, TOKENS, 1), generator=generator)
    return nodes.scatter_add(2, raised, torch.full(raised.shape, 6.0)), torch.randn(LABELS, LABELS, generator=generator)


def table(title: str, makers: dict[str, Callable[[int], Callable[[], object]]]) -> None:
    """One column for each size of batch; a maker gives what is to be measured for a size."""
    print(f"| {title} | {' | '.join(f'batch {batch}' for batch in BATCHES)} |")
    print("|---" + "|--:" * len(BATCHES) + "|")
    spent: dict[str, list[float]] = {name: [] for name in makers}
    for batch in BATCHES:
        work = {name: make(batch) for name, make in makers.items()}
        times: dict[str, list[float]] = {name: [] for name in makers}
        repeats = max(1, 64 // batch)
        for measured in [False] + [True] * ROUNDS:  # the first round compiles and warms up
            for name, do in work.items():
                started = time.process_time()
                for _ in range(repeats):
                    do()
                if measured:
                    times[name].append((time.process_time() - started) * 1000 / repeats)
        for name, found in times.items():
            spent[name].append(statistics.median(found))
    for name, values in spent.items():
        print(f"| {name} | {' | '.join(f'{value:.2f}' for value in values)} |")
    print(flush=True)


def search(find: Callable[[Tensor, Tensor, Tensor, int], object]) -> Callable[[int], Callable[[], object]]:
    def make(batch: int) -> Callable[[], object]:
        nodes, edges = lattices(batch)
        lengths = torch.full((batch,), TOKENS)
        return lambda: find(nodes, edges, lengths, N)

    return make


def normalizer(find: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[[int], Callable[[], object]]:
    """With its gradient."""

    def make(batch: int) -> Callable[[], object]:
        nodes, edges = (scores.requires_grad_() for scores in lattices(batch))
        lengths = torch.full((batch,), TOKENS)
        return lambda: find(nodes, edges, lengths).sum().backward()

    return make


def step(layer: torch.nn.Module) -> Callable[[int], Callable[[], object]]:
    def make(batch: int) -> Callable[[], object]:
        emissions = lattices(batch)[0].requires_grad_()
        tags = torch.randint(LABELS, (batch, TOKENS), generator=torch.Generator().manual_seed(1))
        return lambda: layer(emissions, tags).backward()

    return make


def main() -> None:
    torch.set_num_threads(1)
    table(f"search, n = {N}", {"kernel": search(kernel_top_n), "PyTorch": search(torch_top_n)})
    ways = {"kernel": kernel_log_normalizer, "PyTorch": torch_log_normalizer}
    table("normalizer of a CRF and its gradient", {name: normalizer(find) for name, find in ways.items()})
    layers = {
        "softmax": SoftmaxLayer(LABELS),
        "perceptron": PerceptronLayer(LABELS),
        f"SAPO, n = {N}": SapoLayer(LABELS, n=N),
        "CRF": CrfLayer(LABELS),
    }
    table("step of a layer", {name: step(layer) for name, layer in layers.items()})


if __name__ == "__main__":
    main()
