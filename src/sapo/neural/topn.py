"""Find the n best taggings of each sentence of a batch, exactly. Nothing here has a gradient.

There are two implementations. The kernel takes one sentence at a time, and is faster on a CPU (see
benchmarks/neural_topn.py). The other is a Viterbi search in PyTorch that keeps the n best paths to every label, for all
sentences at once; it runs on the device of the scores, such as a GPU, and in their precision.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sapo import kernels
from sapo.kernels import batch


@dataclass(frozen=True, slots=True)
class Found:
    """The candidates of a batch, best first."""

    paths: Tensor  # int64[B, n, T] padded with 0
    valid: Tensor  # bool[B, n] false for padding, if a sentence has fewer than n taggings


def top_n(nodes: Tensor, edges: Tensor, lengths: Tensor, n: int) -> Found:
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
) -> Found:
    """Return the n best taggings of each sentence, by sidetracks, in single precision (see kernels/topn.py).

    >>> kernel_top_n(torch.eye(2)[None], torch.zeros(2, 2), torch.tensor([2]), 2).valid.tolist()
    [[True, True]]
    """
    kernels.compile_kernels()
    node = np.ascontiguousarray(as_numpy(nodes), np.float32)
    edge = np.ascontiguousarray(as_numpy(edges), np.float32)[np.newaxis]
    sizes = lengths.cpu().numpy().astype(np.int64)
    paths = np.zeros((len(node), n, node.shape[1]), np.int64)
    found = np.empty(len(node), np.int32)
    batch.top_n_batch(node, edge, np.ascontiguousarray(edge.transpose(0, 2, 1)), sizes, n, paths, found)
    valid = np.arange(n) < found[:, np.newaxis]
    return Found(torch.from_numpy(paths).to(nodes.device), torch.from_numpy(valid).to(nodes.device))


@torch.no_grad()
def torch_top_n(nodes: Tensor, edges: Tensor, lengths: Tensor, n: int) -> Found:
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
        return Found(paths, valid)
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
    return Found(paths * inside.unsqueeze(1) * valid.unsqueeze(2), valid)
