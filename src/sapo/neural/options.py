"""The neural systems by name, and how their networks are made: every option once. Knows no PyTorch."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from sapo.corpus import Block
from sapo.errors import SapoError

LAYERS = {
    "bilstm": "softmax",
    "bilstm-crf": "crf",
    "bilstm-sapo": "sapo",
    "bilstm-perceptron": "perceptron",
}  # the last layer of each system
TOKEN_LOSS = {"sapo": 0.1, "perceptron": 0.1}  # layers that need a token loss beside their own: see network.py
CHARS = ("none", "cnn", "lstm")
RATE = 0.002  # of Adam, where none is given
BATCH = 32  # sentences in a step,
STEPS = 50  # if a pass then has at least so many steps: with fewer, little data is not learned in some 20 passes


@dataclass(frozen=True, slots=True)
class Texts:
    """The strings of a run, which networks read."""

    train: tuple[Block, ...]
    dev: tuple[Block, ...] = ()


def need_torch() -> None:
    """Raise, in words that help, where PyTorch is not installed."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise SapoError(
            "the neural systems need PyTorch, which is not here; install it: pip install 'sapo-nlp[neural]'"
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuralOptions:
    """The shape of a network, and how its batches are made.

    >>> NeuralOptions(dropout=1.5)
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: dropout must be a number from 0 up to, but not, 1, not 1.5
    """

    vectors: str | Path | None = None  # a file of word vectors
    word_size: int = 50  # of the vector of a word; that of the file, where there is one
    column_size: int = 20  # of the vector of a value of a further column, such as the part of speech
    chars: str = "none"  # how characters are read
    char_size: int = 25
    features: bool = False  # the features of the template as further inputs
    feature_size: int = 50
    hidden: int = 100  # of the LSTM, in each direction
    depth: int = 1  # LSTMs on top of each other
    dropout: float = 0.5
    word_dropout: float = 0.05  # share of the words that are taken for unknown, so that the unknown word is learned
    batch: int | None = None  # sentences in a step; the paper has 1. None: 32, or fewer where there is little data
    clip: float = 5.0  # the largest norm of a gradient
    token_loss: float | None = None  # weight of the tokens' cross-entropy beside the loss; None: see TOKEN_LOSS

    def __post_init__(self) -> None:
        for name in ("word_size", "column_size", "char_size", "feature_size", "hidden", "depth", "batch"):
            if name != "batch" or self.batch is not None:
                self._settle(name, Integral, int, "a whole number, at least 1", lambda value: value >= 1)
        for name in ("dropout", "word_dropout"):
            self._settle(name, Real, float, "a number from 0 up to, but not, 1", lambda value: 0 <= value < 1)
        if self.token_loss is not None:
            self._settle("token_loss", Real, float, "a number, 0 or more", lambda value: 0 <= value < 1e9)
        self._settle("clip", Real, float, "a number more than 0", lambda value: value > 0)
        self._check("chars", f"one of {', '.join(CHARS)}", self.chars in CHARS)
        self._check("features", "true or false", isinstance(self.features, bool))
        self._check("vectors", "the path of a file", self.vectors is None or isinstance(self.vectors, str | Path))

    def settled(self, learner: str, sentences: int) -> "NeuralOptions":
        """All that depends on the learner and on how much there is to learn from, decided.

        >>> options = NeuralOptions().settled("bilstm-sapo", 500)
        >>> options.batch, options.token_loss
        (10, 0.1)
        """
        batch = min(BATCH, max(1, sentences // STEPS)) if self.batch is None else self.batch
        token_loss = TOKEN_LOSS.get(LAYERS[learner], 0.0) if self.token_loss is None else self.token_loss
        return dataclasses.replace(self, batch=batch, token_loss=token_loss)

    def _settle(
        self, name: str, kind: type, exact: Callable[[Any], Any], rule: str, holds: Callable[[Any], bool]
    ) -> None:
        """Numbers of NumPy become those of Python, which a model file can hold."""
        value = getattr(self, name)
        self._check(name, rule, isinstance(value, kind) and not isinstance(value, bool) and holds(value))
        object.__setattr__(self, name, exact(value))

    def _check(self, name: str, rule: str, holds: bool) -> None:
        if not holds:
            raise SapoError(f"{name} must be {rule}, not {getattr(self, name)}")

    def as_json(self) -> dict[str, Any]:
        """For model files, which do not tell where the vectors lay."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**values, "vectors": None if self.vectors is None else Path(self.vectors).name}


OPTION_NAMES = frozenset(field.name for field in dataclasses.fields(NeuralOptions))
