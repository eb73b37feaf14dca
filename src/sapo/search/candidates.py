"""What a search gives back: taggings, their scores, and their probabilities among themselves."""

from dataclasses import dataclass

import numpy as np

from sapo.kernels.types import Doubles, Ints


@dataclass(frozen=True, slots=True)
class Candidates:
    """The n best taggings (the paper's Y_n), best first."""

    paths: Ints  # [found, tokens]
    scores: Doubles  # [found]

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def probabilities(self) -> Doubles:
        """The paper's P_k: relative to these candidates only, not to all taggings."""
        if not len(self.scores):
            return self.scores
        mass = np.exp(self.scores - self.scores[0])
        probabilities: Doubles = mass / mass.sum()
        return probabilities
