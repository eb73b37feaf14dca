"""Provide output layers for any network: they turn emissions into a loss or into taggings.

    layer = SapoLayer(labels=9, n=5)
    loss = layer(emissions, tags, mask)        # emissions [B, T, L], tags [B, T], mask bool [B, T]
    taggings = layer.decode(emissions, mask)   # a list of tags for each sentence
    ranked = layer.nbest(emissions, mask, 3)   # its 3 best taggings, with scores and P_k

The score of a tagging is the sum of its emissions and of its transitions, including the start and the end. The layers
differ in what they compare the score of the oracle (the gold tagging) with: the paper's top-n taggings, all taggings,
or the best one.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from sapo.errors import OptionError
from sapo.neural.chains import log_normalizer, top_n

REDUCTIONS = ("sum", "mean", "none")


@dataclass(frozen=True, slots=True)
class Ranked:
    """One of the n best taggings of a sentence.

    >>> Ranked([0, 1], score=2.0, p_k=0.9).tags
    [0, 1]
    """

    tags: list[int]
    score: float
    p_k: float  # among these n only, as in the paper


class TopNLoss(nn.Module):
    """The loss that Algorithm 1 of the paper minimizes: -score(oracle) + log of the sum of exp(score) over the top-n.

    The gradient flows through the scores only; the choice of the top-n taggings is taken as given. If the oracle is not
    among them, the normalizer is still over the top-n only, as in the paper. `reduction` is sum, mean or none.

    >>> loss = TopNLoss()
    >>> round(loss(torch.tensor([1.0]), torch.tensor([[2.0, 1.0]])).item(), 4)
    1.3133
    """

    def __init__(self, reduction: str = "sum") -> None:
        super().__init__()
        self.reduction = _check_reduction(reduction)

    def forward(
        self,
        oracle: Tensor,  # [B] scores
        candidates: Tensor,  # [B, n] scores
        valid: Tensor | None = None,  # bool[B, n] false for padding, if there are fewer than n candidates
    ) -> Tensor:
        """Return the loss of a batch."""
        if valid is not None:
            candidates = candidates.masked_fill(~valid, -math.inf)
        return _reduced(torch.logsumexp(candidates, dim=1) - oracle, self.reduction)


class SequenceLayer(nn.Module):
    """The base class of the layers: transitions, scores and decoding.

    Raises SapoError if the shape or type of an argument is wrong.
    """

    def __init__(self, labels: int, *, reduction: str = "sum") -> None:
        super().__init__()
        if labels < 1:
            raise OptionError(f"labels must be at least 1, not {labels}")
        self.labels = labels
        self.reduction = _check_reduction(reduction)
        self.transitions = nn.Parameter(torch.empty(labels, labels))  # [p, y]: the score of y after p
        self.start = nn.Parameter(torch.empty(labels))
        self.end = nn.Parameter(torch.empty(labels))
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.1, 0.1)

    def forward(self, emissions: Tensor, tags: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the loss of a batch: the sum or the mean over sentences, or the loss of each.

        Sentences are padded at the end; `mask` is true for their tokens.
        """
        lengths = self._lengths(emissions, tags, mask)
        return _reduced(self.losses(self.nodes(emissions, lengths), tags, lengths), self.reduction)

    def losses(self, nodes: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        """Return the loss of each sentence."""
        raise NotImplementedError

    @torch.no_grad()
    def decode(self, emissions: Tensor, mask: Tensor | None = None) -> list[list[int]]:
        """Return the best tagging of each sentence."""
        lengths = self._lengths(emissions, None, mask)
        found = top_n(self.nodes(emissions, lengths), self.transitions, lengths, 1)
        return [path[0][:size] for path, size in zip(found.paths.tolist(), lengths.tolist(), strict=True)]

    @torch.no_grad()
    def nbest(self, emissions: Tensor, mask: Tensor | None = None, n: int = 5) -> list[list[Ranked]]:
        """Return the n best taggings of each sentence, best first, with their scores and P_k."""
        if n < 1:
            raise OptionError(f"n must be at least 1, not {n}")
        lengths = self._lengths(emissions, None, mask)
        nodes = self.nodes(emissions, lengths)
        found = top_n(nodes, self.transitions, lengths, n)
        scores = self.score_paths(nodes, found.paths, lengths).masked_fill(~found.valid, -math.inf)
        shares = torch.softmax(scores, dim=1)
        rows = zip(*(part.tolist() for part in (found.paths, scores, shares, found.valid, lengths)), strict=True)
        return [
            [
                Ranked(path[:size], score, share)
                for path, score, share, real in zip(paths, row, weights, there, strict=True)
                if real
            ]
            for paths, row, weights, there, size in rows
        ]

    def nodes(self, emissions: Tensor, lengths: Tensor) -> Tensor:
        """Return the emissions with the start and end scores added, so that only nodes and edges are left."""
        # where, not multiplication by 0: forbidden scores are minus infinity, and padding may contain anything
        zero = emissions.new_zeros(())
        place = torch.arange(emissions.shape[1], device=emissions.device)
        ends = lengths.unsqueeze(1)
        nodes = torch.where((place < ends).unsqueeze(2), emissions, zero)
        nodes = nodes + torch.where(((place == 0) & (place < ends)).unsqueeze(2), self.start, zero)
        return nodes + torch.where((place == ends - 1).unsqueeze(2), self.end, zero)

    def score_paths(self, nodes: Tensor, paths: Tensor, lengths: Tensor) -> Tensor:
        """Return the scores, [B, n], of the taggings `paths`, int64[B, n, T]; they have a gradient."""
        T = nodes.shape[1]
        inside = torch.arange(T, device=nodes.device) < lengths.unsqueeze(1)  # [B, T]
        values = nodes.gather(2, paths.transpose(1, 2))  # [B, T, n]
        zero = values.new_zeros(())
        scores = torch.where(inside.unsqueeze(2), values, zero).sum(1)
        if T > 1:
            pairs = paths[:, :, :-1] * self.labels + paths[:, :, 1:]
            steps = self.transitions.flatten().index_select(0, pairs.flatten()).view(pairs.shape)
            scores = scores + torch.where(inside[:, 1:].unsqueeze(1), steps, zero).sum(2)
        return scores

    def score(self, emissions: Tensor, tags: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the score, [B], of one tagging for each sentence."""
        lengths = self._lengths(emissions, tags, mask)
        return self._oracle(self.nodes(emissions, lengths), tags, lengths)

    def _oracle(self, nodes: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        inside = torch.arange(tags.shape[1], device=tags.device) < lengths.unsqueeze(1)
        return self.score_paths(nodes, (tags * inside).unsqueeze(1), lengths).squeeze(1)

    def _lengths(self, emissions: Tensor, tags: Tensor | None, mask: Tensor | None) -> Tensor:
        """Check the arguments, and return the number of tokens of each sentence."""
        if emissions.dim() != 3 or emissions.shape[2] != self.labels:
            raise OptionError(f"emissions must be [batch, tokens, {self.labels} labels], not {list(emissions.shape)}")
        shape = emissions.shape[:2]
        if mask is None:
            mask = torch.ones(shape, dtype=torch.bool, device=emissions.device)
        if mask.shape != shape or mask.dtype != torch.bool:
            raise OptionError(f"the mask must be bool {list(shape)}, not {mask.dtype} {list(mask.shape)}")
        lengths = mask.sum(1)
        if not torch.equal(mask, torch.arange(shape[1], device=mask.device) < lengths.unsqueeze(1)):
            raise OptionError("the mask must be true for the tokens of a sentence and false after them, without gaps")
        if tags is not None:
            if tags.shape != shape or tags.dtype != torch.int64:
                raise OptionError(f"tags must be int64 {list(shape)}, not {tags.dtype} {list(tags.shape)}")
            wrong = mask & ((tags < 0) | (tags >= self.labels))
            if wrong.any():
                raise OptionError(f"tags must be from 0 to {self.labels - 1}, found {tags[wrong][0].item()}")
        return lengths

    def extra_repr(self) -> str:
        return f"labels={self.labels}"


class SapoLayer(SequenceLayer):
    """SAPO: search for the top-n taggings, and compare the oracle with them (see `TopNLoss`).

    With n = 1 this is the structured perceptron, with n = all taggings a CRF. `stop_ratio` leaves out candidates that
    are this many times less probable than the best one. `margin` is added to the scores of wrong labels in the loss:
    the oracle must be better by this much for each of them.

    >>> layer = SapoLayer(labels=3, n=2)
    >>> emissions = torch.eye(3)[None] * 5
    >>> layer.decode(emissions)
    [[0, 1, 2]]
    >>> bool(layer(emissions, torch.tensor([[0, 1, 2]])) < layer(emissions, torch.tensor([[0, 1, 1]])))
    True
    """

    def __init__(
        self,
        labels: int,
        *,
        n: int = 5,
        stop_ratio: float = math.inf,
        margin: float = 0.0,
        reduction: str = "sum",
    ) -> None:
        super().__init__(labels, reduction=reduction)
        if n < 1:
            raise OptionError(f"n must be at least 1, not {n}")
        if not stop_ratio >= 1:
            raise OptionError(f"stop_ratio must be at least 1, not {stop_ratio}")
        if not 0 <= margin < math.inf:
            raise OptionError(f"margin must be a finite number, 0 or more, not {margin}")
        self.n = n
        self.stop_ratio = stop_ratio
        self.margin = margin
        self.candidates = 0  # number of candidates in the last batch
        self.loss = TopNLoss("none")

    def losses(self, nodes: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        inside = torch.arange(tags.shape[1], device=tags.device) < lengths.unsqueeze(1)
        oracles = (tags * inside).unsqueeze(1)
        if self.margin:
            raised = torch.full_like(nodes, self.margin)
            nodes = nodes + raised.scatter(2, oracles.transpose(1, 2), 0.0)
        found = top_n(nodes, self.transitions, lengths, self.n)
        # the oracle and the candidates are scored together
        paths = torch.cat([oracles, found.paths], dim=1)
        oracle, scores = self.score_paths(nodes, paths, lengths).split([1, self.n], dim=1)
        scores = scores.masked_fill(~found.valid, -math.inf)
        if self.stop_ratio < math.inf:
            scores = scores.masked_fill(scores < scores[:, :1] - math.log(self.stop_ratio), -math.inf)
        self.candidates = int((scores > -math.inf).sum())
        return self.loss(oracle.squeeze(1), scores)

    def extra_repr(self) -> str:
        return f"labels={self.labels}, n={self.n}"


class PerceptronLayer(SapoLayer):
    """The structured perceptron: compare the oracle with the best tagging only.

    >>> PerceptronLayer(labels=3).decode(torch.eye(3)[None] * 5)
    [[0, 1, 2]]
    """

    def __init__(self, labels: int, *, reduction: str = "sum") -> None:
        super().__init__(labels, n=1, reduction=reduction)


class CrfLayer(SequenceLayer):
    """A CRF: compare the oracle with all taggings, by the forward algorithm.

    >>> layer = CrfLayer(labels=2)
    >>> bool(layer(torch.zeros(1, 3, 2), torch.tensor([[0, 1, 0]])) > 0)
    True
    """

    def losses(self, nodes: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        return log_normalizer(nodes, self.transitions, lengths) - self._oracle(nodes, tags, lengths)


class SoftmaxLayer(SequenceLayer):
    """No structure: each token is tagged by itself.

    The transitions exist, so that decoding works as in the other layers, but they are 0 and are not trained.

    >>> SoftmaxLayer(labels=2).decode(torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]))
    [[0, 1]]
    """

    def __init__(self, labels: int, *, reduction: str = "sum") -> None:
        super().__init__(labels, reduction=reduction)
        for parameter in self.parameters():
            parameter.requires_grad_(False).zero_()

    def losses(self, nodes: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        inside = torch.arange(tags.shape[1], device=tags.device) < lengths.unsqueeze(1)
        losses = functional.cross_entropy(nodes.flatten(0, 1), (tags * inside).flatten(), reduction="none")
        return (losses.view(tags.shape) * inside).sum(1)


def make_layer(
    kind: str, labels: int, *, n: int = 5, stop_ratio: float = math.inf, margin: float = 0.0
) -> SequenceLayer:
    """Return the output layer of a system (see options.LAYERS), whose loss is the mean over sentences."""
    if kind == "sapo":
        return SapoLayer(labels, n=n, stop_ratio=stop_ratio, margin=margin, reduction="mean")
    simple = {"crf": CrfLayer, "perceptron": PerceptronLayer, "softmax": SoftmaxLayer}
    return simple[kind](labels, reduction="mean")


def _check_reduction(reduction: str) -> str:
    if reduction not in REDUCTIONS:
        raise OptionError(f"reduction must be one of {', '.join(REDUCTIONS)}, not {reduction}")
    return reduction


def _reduced(losses: Tensor, reduction: str) -> Tensor:
    if reduction == "sum":
        return losses.sum()
    return losses.mean() if reduction == "mean" else losses
