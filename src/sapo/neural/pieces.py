"""Cut the sentences of a batch into pieces, each of them a row of its own. What crosses a cut is left out.

A few candidates of a long sentence differ in one or two places; those of each of its pieces differ in each piece. See
sapo.learn.pieces, which draws the cuts.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Pieces:
    """Where the pieces of a batch of sentences [B, T] are."""

    sentences: Tensor  # int64[P] the sentence of each piece
    places: Tensor  # int64[P, longest] the position of each token in [B * T]
    lengths: Tensor  # int64[P]

    def of(self, values: Tensor) -> Tensor:
        """Return the values of tokens, [B, T, ...], as [P, longest, ...], padded with zeros."""
        inside = torch.arange(self.places.shape[1], device=values.device) < self.lengths.unsqueeze(1)
        found = values.flatten(0, 1)[self.places]
        return torch.where(inside.view(*inside.shape, *(1,) * (values.dim() - 2)), found, values.new_zeros(()))

    def sums(self, values: Tensor, sentences: int) -> Tensor:
        """Return the sum of the pieces' values, [P], for each of so many sentences."""
        return values.new_zeros(sentences).index_add(0, self.sentences, values)


def find_pieces(cuts: Tensor, lengths: Tensor) -> Pieces:
    """Return the pieces of sentences of these lengths, int64[B]; `cuts`, bool[B, T], says where pieces begin.

    A sentence begins with a piece in any case, unless it is empty.

    >>> cuts = torch.tensor([[False, False, True], [True, False, True]])
    >>> pieces = find_pieces(cuts, torch.tensor([3, 2]))
    >>> pieces.sentences.tolist(), pieces.lengths.tolist()
    ([0, 0, 1], [2, 1, 2])
    """
    T = cuts.shape[1]
    place = torch.arange(T, device=cuts.device)
    begins = (cuts | (place == 0)) & (place < lengths.unsqueeze(1))
    first = begins.flatten().nonzero().squeeze(1)
    sentences = first // max(1, T)
    ends = torch.cat([first, first.new_tensor([cuts.numel()])])[1:]  # at most: a sentence may end before
    sizes = torch.minimum(ends, sentences * T + lengths[sentences]) - first
    longest = int(sizes.max()) if len(sizes) else 0
    steps = torch.arange(longest, device=cuts.device)
    # padding looks at the first token, and is replaced by zeros
    places = first.unsqueeze(1) + torch.where(steps < sizes.unsqueeze(1), steps, 0)
    return Pieces(sentences, places, sizes)
