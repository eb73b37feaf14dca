"""The layer of pytorch-crf (`torchcrf.CRF`), computed by the chains of sapo.

    from sapo.compat.torchcrf import CRF        # was: from torchcrf import CRF

Its parameters have the names and shapes of pytorch-crf, so the `state_dict` of one loads into the other. On a CPU the
normalizer and the search are kernels; elsewhere they are PyTorch code (see sapo/neural/chains.py).
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from sapo.errors import OptionError
from sapo.neural.chains import log_normalizer, top_n


class CRF(nn.Module):  # type: ignore[misc]
    """A linear-chain CRF: `forward` returns log-likelihoods, which are to be maximized, and `decode` the best tags.

    Emissions are [T, B, tags], or [B, T, tags] if `batch_first`. A mask has the same two dimensions; it is true for the
    first tokens of each sequence, at least one, and then false.

    >>> crf = CRF(2)
    >>> for parameter in crf.parameters():
    ...     _ = nn.init.zeros_(parameter)
    >>> emissions = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]])
    >>> crf.decode(emissions)
    [[0, 1]]
    >>> round(crf(emissions, torch.tensor([[0], [1]])).item(), 4)
    -0.6265
    """

    reductions: ClassVar = ("none", "sum", "mean", "token_mean")

    def __init__(self, num_tags: int, batch_first: bool = False) -> None:
        if num_tags <= 0:
            raise OptionError(f"invalid number of tags: {num_tags}")
        super().__init__()
        self.num_tags = num_tags
        self.batch_first = batch_first
        self.start_transitions = nn.Parameter(torch.empty(num_tags))
        self.end_transitions = nn.Parameter(torch.empty(num_tags))
        self.transitions = nn.Parameter(torch.empty(num_tags, num_tags))  # transitions[p, y]: y after p
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters from the uniform distribution between -0.1 and 0.1."""
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.1, 0.1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_tags={self.num_tags})"

    def forward(self, emissions: Tensor, tags: Tensor, mask: Tensor | None = None, reduction: str = "sum") -> Tensor:
        """Return the log-likelihood of the tags: of each sequence (none), their sum, mean, or mean over tokens."""
        if reduction not in self.reductions:
            raise OptionError(f"invalid reduction: {reduction}; use {', '.join(self.reductions)}")
        if emissions.shape[:2] != tags.shape:
            raise OptionError(
                "the first two dimensions of emissions and tags must match, "
                f"got {tuple(emissions.shape[:2])} and {tuple(tags.shape)}"
            )
        scores, lengths = self._scores(emissions, mask)
        if not self.batch_first:
            tags = tags.transpose(0, 1)
        inside = torch.arange(tags.shape[1], device=tags.device) < lengths.unsqueeze(1)
        tags = tags.masked_fill(~inside, 0)  # padding may hold any number
        nodes = scores.gather(2, tags.unsqueeze(2)).squeeze(2)
        gold = (nodes * inside).sum(1) + (self.transitions[tags[:, :-1], tags[:, 1:]] * inside[:, 1:]).sum(1)
        found = gold - log_normalizer(scores, self.transitions, lengths)
        if reduction == "none":
            return found
        if reduction == "sum":
            return found.sum()
        return found.mean() if reduction == "mean" else found.sum() / lengths.sum()

    def decode(self, emissions: Tensor, mask: Tensor | None = None) -> list[list[int]]:
        """Return the best tags of each sequence."""
        with torch.no_grad():
            scores, lengths = self._scores(emissions, mask)
            paths = top_n(scores, self.transitions, lengths, 1).paths[:, 0].tolist()
        return [path[:length] for path, length in zip(paths, lengths.tolist(), strict=True)]

    def _scores(self, emissions: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the scores of nodes, [B, T, tags], with those of start and end, and the length of each sequence."""
        if emissions.dim() != 3:
            raise OptionError(f"emissions must have dimension of 3, got {emissions.dim()}")
        if emissions.shape[2] != self.num_tags:
            raise OptionError(f"expected last dimension of emissions is {self.num_tags}, got {emissions.shape[2]}")
        if mask is not None and emissions.shape[:2] != mask.shape:
            raise OptionError(
                "the first two dimensions of emissions and mask must match, "
                f"got {tuple(emissions.shape[:2])} and {tuple(mask.shape)}"
            )
        if not self.batch_first:
            emissions = emissions.transpose(0, 1)
            mask = None if mask is None else mask.transpose(0, 1)
        B, T, _ = emissions.shape
        steps = torch.arange(T, device=emissions.device)
        if mask is None:
            lengths = torch.full((B,), T, device=emissions.device)
        else:
            lengths = mask.bool().sum(1)
            if not bool(mask[:, :1].bool().all()):
                raise OptionError("mask of the first timestep must all be on")
            if not torch.equal(mask.bool(), steps < lengths.unsqueeze(1)):
                raise OptionError("mask must be on for the first timesteps of each sequence, and off from there on")
        first, last = (steps == 0).view(1, T, 1), (steps == lengths.unsqueeze(1) - 1).unsqueeze(2)
        return emissions + first * self.start_transitions + last * self.end_transitions, lengths
