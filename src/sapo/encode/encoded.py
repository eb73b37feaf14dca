"""An encoded corpus: all that a learner sees of it, as integers in flat arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sapo.kernels.types import Bools, Floats, Ints, Longs, Samples


def _no_floats() -> Floats:
    return np.empty(0, np.float32)


def _no_ints() -> Ints:
    return np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class EncodedCorpus:
    """Sentence s has the tokens offsets[s] up to offsets[s+1]; token t has the features rows[row_offsets[t]:...]."""

    offsets: Longs  # [sentences + 1]
    row_offsets: Longs  # [tokens + 1]
    rows: Ints
    values: Floats = field(default_factory=_no_floats)  # one a row; empty if every value is 1
    gold: Ints = field(default_factory=_no_ints)  # [tokens] the oracle, or what is known of it; empty if unknown
    edge_row_offsets: Longs = field(default_factory=lambda: np.zeros(1, np.int64))  # [tokens + 1]; [1] where none
    edge_rows: Ints = field(default_factory=_no_ints)  # the edge features of each token
    importance: Floats = field(default_factory=_no_floats)  # [tokens]; empty if every token counts alike
    token_bans: Floats = field(
        default_factory=lambda: np.empty((0, 0), np.float32)
    )  # [tokens, labels] 0 or minus infinity, in tagging; empty where no token has a forced tag
    allowed: Bools = field(
        default_factory=lambda: np.empty((0, 0), np.bool_)
    )  # [sets, labels] gold is -1 where any tag will do, and -2 - s where one of allowed[s] will
    words: Ints = field(default_factory=_no_ints)  # [tokens] which word each is, -1 if unknown; empty where nobody asks
    cuts: Bools = field(default_factory=lambda: np.empty(0, np.bool_))  # [tokens] where pieces begin; empty: no pieces
    zero_offsets: Longs = field(default_factory=lambda: np.zeros(1, np.int64))  # [tokens + 1]; [1] where none
    zero_rows: Ints = field(default_factory=_no_ints)  # ready-made features of value 0: no score, but seen with a tag
    part_of: int = 0  # sentences of the corpus that this is a part of; 0 where it is the whole

    @property
    def sentences(self) -> int:
        return len(self.offsets) - 1

    @property
    def tokens(self) -> int:
        return int(self.offsets[-1])

    @property
    def sentences_in_all(self) -> int:
        """The number of sentences of the whole corpus: the regulariser is shared out among them."""
        return self.part_of or self.sentences

    @property
    def samples(self) -> Samples:
        """The corpus as kernels take it."""
        return Samples(
            self.offsets,
            self.row_offsets,
            self.rows,
            self.values,
            self.gold,
            self.edge_row_offsets,
            self.edge_rows,
            self.importance,
            self.allowed,
            self.words,
            self.cuts,
        )


def join_encoded(parts: Sequence[EncodedCorpus]) -> EncodedCorpus:
    """Return several encoded blocks as one corpus."""

    def ends(arrays: list[Longs]) -> Longs:
        return np.cumsum(np.concatenate([np.zeros(1, np.int64), *map(np.diff, arrays)]))

    gold: Ints = np.concatenate([part.gold for part in parts])
    return EncodedCorpus(
        ends([part.offsets for part in parts]),
        ends([part.row_offsets for part in parts]),
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.values for part in parts]),
        gold,
        ends([part.edge_row_offsets for part in parts]),
        np.concatenate([part.edge_rows for part in parts]),
        words=np.concatenate([part.words for part in parts]),
    )
