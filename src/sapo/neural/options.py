"""Define the neural systems by name, and the options of their networks. This module does not import PyTorch."""

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sapo.corpus.blocks import Block
from sapo.errors import OptionError, pip_install
from sapo.learn.settings import Option, settle

LAYERS = {
    "bilstm": "softmax",
    "bilstm-crf": "crf",
    "bilstm-sapo": "sapo",
    "bilstm-perceptron": "perceptron",
}  # the output layer of each system
TOKEN_LOSS = {"sapo": 0.1, "perceptron": 0.1}  # layers that add a token loss to their own: see network.py
MARGIN = {"sapo": 0.5}  # layers that raise the scores of wrong labels while learning: see network.py
RATE = 0.002  # Adam's rate, if none is given
WIDEST = 1 << 16  # largest size of a layer or vector, and largest number of sentences in a step
DEEPEST = 100  # LSTMs on top of each other
BATCH = 32  # sentences in a step, if there is enough data,
STEPS = 50  # that is, if a pass then has this many steps; with fewer, small data is not learned in 20 passes or so
FILE = Option(rule="the path of a file")
SIZE = Option(int, f"a whole number from 1 to {WIDEST:,}", 1, WIDEST)
SHARE = Option(float, "a number from 0 up to, but not, 1", high=math.nextafter(1, 0))
WEIGHT = Option(float, "a number, 0 or more", high=1e9)


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
        raise OptionError(f"networks need PyTorch: {pip_install('neural')}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuralOptions:
    """The shape of a network, and how its batches are made. Raises SapoError if a value breaks its rule.

    >>> NeuralOptions(hidden=50).depth
    1

    >>> NeuralOptions(dropout=1.5)
    Traceback (most recent call last):
    ...
    sapo.errors.OptionError: dropout must be a number from 0 up to, but not, 1, not 1.5
    """

    vectors: str | Path | None = FILE.field(  # noqa: RUF009 (it returns a field)
        None, "A file of word vectors to start from, as text, in the format of word2vec, or safetensors."
    )
    word_size: int = SIZE.field(50, "Length of a word's vector; with vectors, that of the file.")
    column_size: int = SIZE.field(20, "Length of the vector of a value in another column, such as the part of speech.")
    chars: str = Option(choices=("none", "cnn", "lstm")).field("none", "How to read characters: none, cnn or lstm.")
    char_size: int = SIZE.field(25, "Length of a character's vector.")
    features: bool = Option(bool).field(False, "Use the template's features as inputs, too.")
    feature_size: int = SIZE.field(50, "Length of a feature's vector.")
    hidden: int = SIZE.field(100, "Size of the LSTM in each direction.")
    depth: int = Option(int, f"a whole number from 1 to {DEEPEST}", 1, DEEPEST).field(
        1, "Number of LSTMs on top of each other."
    )
    dropout: float = SHARE.field(0.5, "Share of the values that are set to 0 before and after the LSTM.")
    word_dropout: float = SHARE.field(
        0.05, "Share of the words that are read as unknown, so that unknown words are learned."
    )
    batch: int | None = SIZE.field(None, "Sentences in a step (the paper: 1); 32, or fewer for little data.")
    clip: float = Option(float, "a number more than 0", 1e-30).field(5.0, "Maximum norm of a gradient.")
    token_loss: float | None = WEIGHT.field(
        None, "Weight of the tokens' cross-entropy in the loss; 0.1 for bilstm-sapo and bilstm-perceptron, else 0."
    )
    margin: float | None = WEIGHT.field(
        None, "What bilstm-sapo adds to the scores of wrong labels while learning; 0.5 for bilstm-sapo."
    )

    def __post_init__(self) -> None:
        settle(self)

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

    def as_json(self) -> dict[str, Any]:
        """Return the options for a model file, without the directory of the vectors."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if not self.margin:
            del values["margin"]
        return {**values, "vectors": None if self.vectors is None else Path(self.vectors).name}
