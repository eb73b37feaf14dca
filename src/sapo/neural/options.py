"""Define the neural systems by name, and the options of their networks. This module does not import PyTorch."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from sapo.corpus.blocks import Block
from sapo.errors import SapoError, choice

LAYERS = {
    "bilstm": "softmax",
    "bilstm-crf": "crf",
    "bilstm-sapo": "sapo",
    "bilstm-perceptron": "perceptron",
}  # the output layer of each system
TOKEN_LOSS = {"sapo": 0.1, "perceptron": 0.1}  # layers that add a token loss to their own: see network.py
MARGIN = {"sapo": 0.5}  # layers that raise the scores of wrong labels while learning: see network.py
CHARS = ("none", "cnn", "lstm")
RATE = 0.002  # Adam's rate, if none is given
WIDEST = 1 << 16  # largest size of a layer or vector, and largest number of sentences in a step
DEEPEST = 100  # LSTMs on top of each other
BATCH = 32  # sentences in a step, if a pass then has at least
STEPS = 50  # steps; with fewer, small data is not learned in about 20 passes


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a training run, which networks read."""

    train: tuple[Block, ...]
    dev: tuple[Block, ...] = ()


def need_torch() -> None:
    """Raise SapoError if PyTorch is not installed, and say how to install it."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise SapoError(
            "the neural systems need PyTorch, which is not installed; pip install 'sapo-nlp[neural]'"
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuralOptions:
    """The shape of a network, and how its batches are made. Raises SapoError if a value breaks its rule.

    >>> NeuralOptions(hidden=50).depth
    1

    >>> NeuralOptions(dropout=1.5)
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: dropout must be a number from 0 up to, but not, 1, not 1.5
    """

    vectors: str | Path | None = None  # a file with word vectors
    word_size: int = 50  # length of a word's vector; with `vectors`, that of the file
    column_size: int = 20  # length of the vector of a value in another column, such as the part of speech
    chars: str = "none"  # how to read characters: none, cnn or lstm
    char_size: int = 25
    features: bool = False  # use the template's features as inputs, too
    feature_size: int = 50
    hidden: int = 100  # size of the LSTM in each direction
    depth: int = 1  # number of LSTMs on top of each other
    dropout: float = 0.5
    word_dropout: float = 0.05  # share of words that are treated as unknown, so that the unknown word is learned
    batch: int | None = None  # sentences in a step (in the paper 1); None means 32, or fewer for little data
    clip: float = 5.0  # maximum norm of a gradient
    token_loss: float | None = None  # weight of the cross-entropy of tokens in the loss; None: see TOKEN_LOSS
    margin: float | None = None  # added to the scores of wrong labels in the loss of SAPO; None: see MARGIN

    def __post_init__(self) -> None:
        for name in ("word_size", "column_size", "char_size", "feature_size", "hidden", "depth", "batch"):
            if name != "batch" or self.batch is not None:
                most = DEEPEST if name == "depth" else WIDEST
                self._settle(name, Integral, int, f"a whole number from 1 to {most:,}", range(1, most + 1).__contains__)
        for name in ("dropout", "word_dropout"):
            self._settle(name, Real, float, "a number from 0 up to, but not, 1", lambda value: 0 <= value < 1)
        for name in ("token_loss", "margin"):
            if getattr(self, name) is not None:
                self._settle(name, Real, float, "a number, 0 or more", lambda value: 0 <= value < 1e9)
        self._settle("clip", Real, float, "a number more than 0", lambda value: value > 0)
        object.__setattr__(self, "chars", choice(self.chars, CHARS))
        self._check("chars", f"one of {', '.join(CHARS)}", self.chars in CHARS)
        self._check("features", "true or false", isinstance(self.features, bool))
        self._check("vectors", "the path of a file", self.vectors is None or isinstance(self.vectors, str | Path))

    def settled(self, learner: str, sentences: int) -> "NeuralOptions":
        """Return the options with defaults filled in that depend on the learner and on the amount of data.

        >>> options = NeuralOptions().settled("bilstm-sapo", 500)
        >>> options.batch, options.token_loss, options.margin
        (10, 0.1, 0.5)
        """
        batch = min(BATCH, max(1, sentences // STEPS)) if self.batch is None else self.batch
        layer = LAYERS[learner]
        token_loss = TOKEN_LOSS.get(layer, 0.0) if self.token_loss is None else self.token_loss
        margin = MARGIN.get(layer, 0.0) if self.margin is None else self.margin
        return dataclasses.replace(self, batch=batch, token_loss=token_loss, margin=margin)

    def _settle(
        self, name: str, kind: type, exact: Callable[[Any], Any], rule: str, holds: Callable[[Any], bool]
    ) -> None:
        """Check a number, and turn NumPy numbers into Python ones, which a model file can store."""
        value = getattr(self, name)
        self._check(name, rule, isinstance(value, kind) and not isinstance(value, bool) and holds(value))
        object.__setattr__(self, name, exact(value))

    def _check(self, name: str, rule: str, holds: bool) -> None:
        if not holds:
            raise SapoError(f"{name} must be {rule}, not {getattr(self, name)}")

    def as_json(self) -> dict[str, Any]:
        """Return the options for a model file, without the directory of the vectors."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if not self.margin:
            del values["margin"]
        return {**values, "vectors": None if self.vectors is None else Path(self.vectors).name}


OPTION_NAMES = frozenset(field.name for field in dataclasses.fields(NeuralOptions))
