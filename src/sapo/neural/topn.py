"""Scores of a batch in, the n best taggings of each of its sentences out. Exact, and nothing here has a gradient.

Two ways that find the same. The kernel takes one sentence after the other, and is the faster one on a CPU (see
benchmarks/neural_topn.py). The other is a Viterbi search that keeps the n best ways to every label, in PyTorch for all
sentences at once; it runs where the scores are, on a GPU too, and in their precision.
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

    paths: Tensor  # int64[B, n, T] 0 where there is no token or no candidate
    valid: Tensor  # bool[B, n] there may be fewer than n taggings


def top_n(nodes: Tensor, edges: Tensor, lengths: Tensor, n: int) -> Found:
    """By the faster way: on a CPU the kernel, elsewhere PyTorch.

    >>> found = top_n(torch.eye(2)[None], torch.zeros(2, 2), torch.tensor([2]), 2)
    >>> found.paths.tolist()
    [[[0, 1], [0, 0]]]
    """
    return (kernel_top_n if nodes.device.type == "cpu" else torch_top_n)(nodes, edges, lengths, n)


def as_numpy(scores: Tensor) -> np.ndarray:
    """On the CPU, in a precision that NumPy knows."""
    known = scores.dtype in (torch.float32, torch.float64)
    return scores.detach().cpu().to(scores.dtype if known else torch.float32).numpy()


def kernel_top_n(
    nodes: Tensor,  # [B, T, L] padded behind each sentence
    edges: Tensor,  # [L, L] edges[p, y]: y after p
    lengths: Tensor,  # int64[B]
    n: int,
) -> Found:
    """By sidetracks, in single precision (see kernels/topn.py)."""
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
    """As `kernel_top_n`, for all sentences of the batch at once."""
    B, T, L = nodes.shape
    device = nodes.device
    paths = torch.zeros((B, n, T), dtype=torch.int64, device=device)
    valid = torch.zeros((B, n), dtype=torch.bool, device=device)
    valid[lengths == 0, 0] = True  # the empty tagging
    if T == 0:
        return Found(paths, valid)
    best = nodes[:, :1]  # [B, K, L] the k-th best score of a way to y; minus infinity where there are fewer ways
    came = []  # [B, K, L] from which (j, p), as j * L + p, the k-th way to y came
    for t in range(1, T):
        # best'[k,y] = node[t,y] + the k-th largest of best[j,p] + edge[p,y] over all j, p
        ways = (best.unsqueeze(3) + edges).flatten(1, 2)
        K = min(n, ways.shape[1])
        values, origin = ways.topk(K, dim=1)
        # behind the end of its sentence, every way stays where it is
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
