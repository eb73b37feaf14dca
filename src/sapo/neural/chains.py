"""Search and sum over the label chains of a batch of sentences, as PyTorch functions.

There are two implementations of each. Kernels take one sentence at a time, and are faster on a CPU (see
benchmarks/neural_topn.py). The PyTorch code takes all sentences of a batch at once, on the device of the scores, such
as a GPU, and in their precision.

`top_n` in PyTorch is a Viterbi search that keeps the n best paths to every label. `log_normalizer` in PyTorch is the
forward algorithm, as in pytorch-crf, with the gradient from autograd; the kernel finds the gradient, which is the
marginals of tokens and pairs, on the way. If a gradient is itself differentiated (`create_graph=True`), the PyTorch
code takes over, since a kernel has no second derivative.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sapo import jit
from sapo.search.sums import normalize_batch, top_n_batch


@dataclass(frozen=True, slots=True)
class BestPaths:
    """The candidates of a batch, best first."""

    paths: Tensor  # int64[B, n, T] padded with 0
    valid: Tensor  # bool[B, n] false for padding, if a sentence has fewer than n taggings


def top_n(nodes: Tensor, edges: Tensor, lengths: Tensor, n: int) -> BestPaths:
    """Return the n best taggings of each sentence: by the kernel on a CPU, otherwise by PyTorch.

    The arguments are those of `kernel_top_n`.

    >>> found = top_n(torch.eye(2)[None], torch.zeros(2, 2), torch.tensor([2]), 2)
    >>> found.paths.tolist()
    [[[0, 1], [0, 0]]]
    """
    return (kernel_top_n if nodes.device.type == "cpu" else torch_top_n)(nodes, edges, lengths, n)


def as_numpy(scores: Tensor) -> np.ndarray:
    """Return the scores as a NumPy array, in a precision that NumPy has."""
    known = scores.dtype in (torch.float32, torch.float64)
    return scores.detach().cpu().to(scores.dtype if known else torch.float32).numpy()


def kernel_top_n(
    nodes: Tensor,  # [B, T, L] padded at the end of each sentence
    edges: Tensor,  # [L, L] edges[p, y]: the score of y after p
    lengths: Tensor,  # int64[B]
    n: int,
) -> BestPaths:
    """Return the n best taggings of each sentence, by sidetracks, in single precision (see search/topn.py).

    >>> kernel_top_n(torch.eye(2)[None], torch.zeros(2, 2), torch.tensor([2]), 2).valid.tolist()
    [[True, True]]
    """
    jit.compile_kernels()
    node = np.ascontiguousarray(as_numpy(nodes), np.float32)
    edge = np.ascontiguousarray(as_numpy(edges), np.float32)[np.newaxis]
    sizes = lengths.cpu().numpy().astype(np.int64)
    paths = np.zeros((len(node), n, node.shape[1]), np.int64)
    found = np.empty(len(node), np.int32)
    top_n_batch(node, edge, np.ascontiguousarray(edge.transpose(0, 2, 1)), sizes, n, paths, found)
    valid = np.arange(n) < found[:, np.newaxis]
    return BestPaths(torch.from_numpy(paths).to(nodes.device), torch.from_numpy(valid).to(nodes.device))


@torch.no_grad()
def torch_top_n(nodes: Tensor, edges: Tensor, lengths: Tensor, n: int) -> BestPaths:
    """Return the same as `kernel_top_n`, in PyTorch, for all sentences of the batch at once.

    >>> torch_top_n(torch.eye(2)[None], torch.zeros(2, 2), torch.tensor([2]), 1).paths.tolist()
    [[[0, 1]]]
    """
    B, T, L = nodes.shape
    device = nodes.device
    paths = torch.zeros((B, n, T), dtype=torch.int64, device=device)
    valid = torch.zeros((B, n), dtype=torch.bool, device=device)
    valid[lengths == 0, 0] = True  # the empty tagging
    if T == 0:
        return BestPaths(paths, valid)
    best = nodes[:, :1]  # [B, K, L] the k-th best score of a path to y; minus infinity if there are fewer paths
    came = []  # [B, K, L] from which (j, p), as j * L + p, the k-th path to y came
    for t in range(1, T):
        # best'[k,y] = node[t,y] + the k-th largest of best[j,p] + edge[p,y] over all j, p
        ways = (best.unsqueeze(3) + edges).flatten(1, 2)
        K = min(n, ways.shape[1])
        values, origin = ways.topk(K, dim=1)
        # beyond the end of its sentence, every path stays where it is
        going = (t < lengths).view(B, 1, 1)
        none = best.new_full((B, K - best.shape[1], L), -math.inf)
        stay = torch.arange(K * L, device=device).clamp(max=ways.shape[1] - 1).view(1, K, L)
        came.append(torch.where(going, origin, stay))
        best = torch.where(going, values + nodes[:, t : t + 1], torch.cat([best, none], dim=1))
    count = min(n, best[0].numel())
    scores, place = best.flatten(1).topk(count, dim=1)
    for t in range(T - 1, -1, -1):
        paths[:, :count, t] = place % L
        if t > 0:
            place = came[t - 1].flatten(1).gather(1, place)
    valid[:, :count] |= (scores > -math.inf) & (lengths > 0).unsqueeze(1)
    inside = torch.arange(T, device=device) < lengths.view(B, 1)
    return BestPaths(paths * inside.unsqueeze(1) * valid.unsqueeze(2), valid)


def log_normalizer(nodes: Tensor, edges: Tensor, lengths: Tensor) -> Tensor:
    """Return the log normalizer of each sentence, [B]: by the kernel on a CPU, otherwise by PyTorch.

    The arguments are those of `kernel_log_normalizer`.

    >>> log_normalizer(torch.zeros(1, 3, 2), torch.zeros(2, 2), torch.tensor([3])).exp().round()
    tensor([8.])
    """
    return (kernel_log_normalizer if nodes.device.type == "cpu" else torch_log_normalizer)(nodes, edges, lengths)


def kernel_log_normalizer(
    nodes: Tensor,  # [B, T, L] padded at the end of each sentence
    edges: Tensor,  # [L, L] edges[p, y]: the score of y after p
    lengths: Tensor,  # int64[B]
) -> Tensor:
    """Return the log normalizer of each sentence, [B], by forward-backward (see search/marginals.py)."""
    return _Normalizer.apply(nodes, edges, lengths)


class _Normalizer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, nodes: Tensor, edges: Tensor, lengths: Tensor) -> Tensor:
        jit.compile_kernels()
        precision: Any = np.float64 if nodes.dtype == torch.float64 else np.float32
        node = np.ascontiguousarray(as_numpy(nodes), precision)
        edge = np.ascontiguousarray(as_numpy(edges), precision)[np.newaxis]
        log_z = np.empty(len(node), np.float64)
        marginals, pairs = np.zeros_like(node), np.zeros((len(node), *edge.shape[1:]), precision)
        normalize_batch(node, edge, lengths.cpu().numpy().astype(np.int64), log_z, marginals, pairs)
        found = torch.from_numpy(marginals).to(nodes), torch.from_numpy(pairs).to(edges)
        ctx.save_for_backward(nodes, edges, lengths, *found)
        return torch.from_numpy(log_z).to(nodes)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        nodes, edges, lengths, marginals, pairs = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient will be differentiated: the kernel's marginals would be constants
            inputs = [one for one, needed in zip((nodes, edges), ctx.needs_input_grad, strict=False) if needed]
            log_z = torch_log_normalizer(nodes, edges, lengths)
            found = list(torch.autograd.grad(log_z, inputs, grad, create_graph=True, allow_unused=True))
            return found.pop(0) if ctx.needs_input_grad[0] else None, found[0] if found else None, None
        return marginals * grad.view(-1, 1, 1), torch.tensordot(grad, pairs, 1), None


def torch_log_normalizer(nodes: Tensor, edges: Tensor, lengths: Tensor) -> Tensor:
    """Return the same as `kernel_log_normalizer`, in PyTorch, for all sentences of the batch at once."""
    B, T, _ = nodes.shape
    if T == 0:
        return nodes.sum((1, 2))
    forward = nodes[:, 0]
    for t in range(1, T):
        # forward'[y] = node[t,y] + log of the sum over p of exp(forward[p] + edge[p,y])
        onwards = torch.logsumexp(forward.unsqueeze(2) + edges, dim=1) + nodes[:, t]
        forward = torch.where((t < lengths).unsqueeze(1), onwards, forward)
    return torch.where(lengths > 0, torch.logsumexp(forward, dim=1), forward.new_zeros(B))
