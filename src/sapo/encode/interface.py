"""What the rest of the house knows of an encoder: templates, ready-made features and networks fill it alike.

An encoder turns sentences into integers (`EncodedCorpus`): the rows of the features of each token, and their values.
With the weights of the model (`Parameters`) they give the scores of a sentence. The features of a network are the
scores of the labels, and its weights the identity.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels.types import Ints


class Session(Protocol):
    """Encodes block after block, and remembers what is new; not to be shared between threads."""

    def encode(self, block: Any, gold: Ints | None = None) -> EncodedCorpus:
        """Encode a block of a file; or a batch of sentences, where the features are ready-made."""


class Encoder(Protocol):
    """An encoder with all that training has shown; it does not change."""

    kind: str  # its name in model files
    linear: bool  # whether scores are sums of weights of features, which can be inspected and updated

    @property
    def columns(self) -> Iterable[str]:
        """The columns that it reads; none where the features are ready-made."""

    @property
    def features(self) -> int:
        """How many features have weights."""

    @property
    def edge_features(self) -> int:
        """How many edge features have weights."""

    @property
    def transitions(self) -> bool:
        """Whether pairs of labels have weights of their own."""

    def session(self) -> Any:
        """Return a fresh session."""

    def feature_names(self, rows: Iterable[int]) -> list[str]:
        """Return features as people read them."""

    def edge_feature_names(self, rows: Iterable[int]) -> list[str]:
        """Return edge features as people read them."""

    def growing(self) -> Any:
        """Return a copy that learns new strings and features in place."""

    def description(self) -> dict[str, Any]:
        """Return what `sapo inspect` shows: the template's text, or the shape of a network."""

    def header(self) -> dict[str, Any]:
        """Return what is not an array, for a model file."""

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the arrays of a model file."""
