"""Options of `sapo train` for networks only."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--vectors", metavar="FILE", help="Networks: word vectors to start from, as text or in word2vec format."
    ),
    click.option("--chars", metavar="NAME", help="Networks: read characters by none (default), cnn or lstm."),
    click.option("--features", is_flag=True, default=None, help="Networks: add the template's features as inputs."),
    click.option("--batch", type=int, help="Networks: sentences in a step (the paper: 1). Default: 32, or fewer."),
    click.option("--hidden", type=int, help="Networks: size of the LSTM in each direction. Default: 100."),
    click.option("--dropout", type=float, help="Networks: share of what is left out in training. Default: 0.5."),
    click.option(
        "--token-loss",
        type=float,
        help="Networks: weight of the tokens' cross-entropy beside the loss. Default: 0.1 for bilstm-sapo, "
        "bilstm-perceptron; else 0.",
    ),
    click.option(
        "--margin",
        type=float,
        help="Networks: what bilstm-sapo adds to the scores of wrong labels while learning. Default: 0.5.",
    ),
)


def neural_options(command: F) -> F:
    """Add the options about networks to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
