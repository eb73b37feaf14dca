"""What a learner sees of a corpus: integers in flat arrays."""

from dataclasses import dataclass, field

import numpy as np

from sapo.kernels.types import Floats, Ints, Longs


def _no_values() -> Floats:
    return np.empty(0, np.float32)


@dataclass(frozen=True, slots=True)
class EncodedCorpus:
    """Sentence s has the tokens offsets[s] up to offsets[s+1]; token t has the features rows[row_offsets[t]:...]."""

    offsets: Longs  # [sentences + 1]
    row_offsets: Longs  # [tokens + 1]
    rows: Ints
    values: Floats = field(default_factory=_no_values)  # one a row; empty where every value is 1
    gold: Ints = field(default_factory=lambda: np.empty(0, np.int32))  # [tokens] the oracle; empty where unknown

    @property
    def sentences(self) -> int:
        return len(self.offsets) - 1

    @property
    def tokens(self) -> int:
        return int(self.offsets[-1])
