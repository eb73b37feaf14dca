"""Options of `sapo train` that become `Settings`: how to search, how fast to learn, when to stop."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from sapo.errors import SapoError

F = TypeVar("F", bound=Callable[..., Any])


def _option(*names: str, default: Any, help: str, metavar: str | None = None) -> Callable[[Any], Any]:
    return click.option(*names, default=default, show_default=True, metavar=metavar, help=help)


_OPTIONS = (
    _option(
        "--n",
        "-n",
        default="5",
        metavar="NUMBER",
        help="Taggings to search for at each step; auto measures before each epoch how many are worth it.",
    ),
    _option(
        "--rate",
        default="auto",
        metavar="NUMBER",
        help="Learning rate of the first epoch; auto: chosen on held-out sentences, with the strength.",
    ),
    _option("--strength", default="auto", metavar="NUMBER", help="Strength of the regulariser (lambda)."),
    _option(
        "--schedule",
        default="exponential",
        metavar="NAME",
        help="How the rate falls: exponential (by --decay each epoch), inverse (time) or fixed.",
    ),
    _option("--decay", default="auto", metavar="NUMBER", help="How fast the rate falls; auto: to a tenth in the end."),
    _option(
        "--piece",
        default="auto",
        metavar="NUMBER",
        help="Learn from pieces of this many tokens on average, cut anew in each epoch; 0: from whole sentences. For "
        "sapo.",
    ),
    _option(
        "--average",
        default="auto",
        metavar="SHARE",
        help="Average the weights over this share of the epochs, counted from the end; 0: no average.",
    ),
    _option(
        "--hide",
        default="auto",
        metavar="NUMBER",
        help="Hide rare features at random while learning: one that occurs c times with probability NUMBER / (NUMBER + "
        "c); 0: none. For sapo.",
    ),
    _option("--regulariser", default="l2", metavar="NAME", help="l2, l1 (sparse), group-lasso (by template) or none."),
    _option("--search", default="topn", metavar="NAME", help="How to search: topn, astar (both exact) or beam."),
    _option("--width", default=50, help="Width of the beam."),
    _option(
        "--order",
        default="shuffle",
        metavar="NAME",
        help="shuffle the sentences before each epoch, or draw with replacement.",
    ),
    _option(
        "--stop-ratio",
        default="auto",
        metavar="NUMBER",
        help="Leave out taggings this many times less probable than the best.",
    ),
    _option("--drop", default="auto", metavar="NUMBER", help="Leave weights smaller than this out of the model."),
    click.option(
        "--epochs",
        "-e",
        type=int,
        help="Epochs (passes over the training data), at most.  "
        "[default: for sapo 15, or 30 below 50,000 tokens; for crf-lbfgs 500; else 20]",
    ),
    click.option(
        "--patience",
        type=int,
        help="Epochs without a better dev score before stopping.  [default: 5, 20 for crf-lbfgs]",
    ),
    click.option(
        "--tolerance",
        type=float,
        help="Stop when the relative change of the objective is less than this.  [default: 0.001, 1e-5 for crf-lbfgs]",
    ),
    click.option("--exact", is_flag=True, help="Look at all labels of every token, even if there are more than 100."),
    click.option(
        "--all-pairs",
        is_flag=True,
        help="crf: weights for all pairs of feature and label, even if there are more than 32 labels.",
    ),
    _option("--threads", default=1, help="Learn in several threads: faster, but results differ from run to run."),
    _option("--seed", default=0, help="Fixes everything that is random."),
)


def learning_options(command: F) -> F:
    """Add the options about learning to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def parse_number(name: str, text: str) -> float | str:
    """Return a setting as a number, or 'auto'. Raise SapoError if it is neither.

    >>> parse_number("rate", "0.05"), parse_number("piece", "8"), parse_number("rate", "auto")
    (0.05, 8, 'auto')
    """
    try:
        return "auto" if text.lower() == "auto" else int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise SapoError(f"{name} must be auto or a number, not {text}") from None


def parse_n(n: str) -> int | str:
    """Return n as an integer, or 'auto'. Raise SapoError if it is neither.

    >>> parse_n("5"), parse_n("auto")
    (5, 'auto')
    """
    try:
        return "auto" if n.lower() == "auto" else int(n)
    except ValueError:
        raise SapoError(f"n must be at least 1 or 'auto', not {n}") from None
