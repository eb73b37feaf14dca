"""Compute the log of the sum of exp(score) over all taggings, with its gradient, for a batch.

There are two implementations. The kernel takes one sentence at a time, and finds the gradient, which is the marginals
of tokens and pairs, on the way; it is faster on a CPU (see benchmarks/neural_topn.py). The other is the forward
algorithm in PyTorch for all sentences at once, as in pytorch-crf, with the gradient from autograd. It also takes over
where a gradient is itself differentiated (`create_graph=True`), since a kernel has no second derivative.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from sapo import kernels
from sapo.kernels import batch
from sapo.neural.topn import as_numpy


def log_normaliser(nodes: Tensor, edges: Tensor, lengths: Tensor) -> Tensor:
    """Return the log normaliser of each sentence, [B]: by the kernel on a CPU, otherwise by PyTorch.

    The arguments are those of `kernel_log_normaliser`.

    >>> log_normaliser(torch.zeros(1, 3, 2), torch.zeros(2, 2), torch.tensor([3])).exp().round()
    tensor([8.])
    """
    return (kernel_log_normaliser if nodes.device.type == "cpu" else torch_log_normaliser)(nodes, edges, lengths)


def kernel_log_normaliser(
    nodes: Tensor,  # [B, T, L] padded at the end of each sentence
    edges: Tensor,  # [L, L] edges[p, y]: the score of y after p
    lengths: Tensor,  # int64[B]
) -> Tensor:
    """Return the log normaliser of each sentence, [B], by forward-backward (see kernels/forward.py)."""
    return _Normaliser.apply(nodes, edges, lengths)


class _Normaliser(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, nodes: Tensor, edges: Tensor, lengths: Tensor) -> Tensor:
        kernels.compile_kernels()
        precision: Any = np.float64 if nodes.dtype == torch.float64 else np.float32
        node = np.ascontiguousarray(as_numpy(nodes), precision)
        edge = np.ascontiguousarray(as_numpy(edges), precision)[np.newaxis]
        log_z = np.empty(len(node), np.float64)
        marginals, pairs = np.zeros_like(node), np.zeros((len(node), *edge.shape[1:]), precision)
        batch.normalise_batch(node, edge, lengths.cpu().numpy().astype(np.int64), log_z, marginals, pairs)
        found = torch.from_numpy(marginals).to(nodes), torch.from_numpy(pairs).to(edges)
        ctx.save_for_backward(nodes, edges, lengths, *found)
        return torch.from_numpy(log_z).to(nodes)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        nodes, edges, lengths, marginals, pairs = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient will be differentiated: the kernel's marginals would be constants
            inputs = [one for one, needed in zip((nodes, edges), ctx.needs_input_grad, strict=False) if needed]
            log_z = torch_log_normaliser(nodes, edges, lengths)
            found = list(torch.autograd.grad(log_z, inputs, grad, create_graph=True, allow_unused=True))
            return found.pop(0) if ctx.needs_input_grad[0] else None, found[0] if found else None, None
        return marginals * grad.view(-1, 1, 1), torch.tensordot(grad, pairs, 1), None


def torch_log_normaliser(nodes: Tensor, edges: Tensor, lengths: Tensor) -> Tensor:
    """Return the same as `kernel_log_normaliser`, in PyTorch, for all sentences of the batch at once."""
    B, T, _ = nodes.shape
    if T == 0:
        return nodes.sum((1, 2))
    forward = nodes[:, 0]
    for t in range(1, T):
        # forward'[y] = node[t,y] + log of the sum over p of exp(forward[p] + edge[p,y])
        onwards = torch.logsumexp(forward.unsqueeze(2) + edges, dim=1) + nodes[:, t]
        forward = torch.where((t < lengths).unsqueeze(1), onwards, forward)
    return torch.where(lengths > 0, torch.logsumexp(forward, dim=1), forward.new_zeros(B))
