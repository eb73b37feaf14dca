"""Options of `sapo train`: how to learn, labels, networks, large data; and which of them the learner does not use."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sapo.cli.options import parse_numbers
from sapo.errors import SapoError

if TYPE_CHECKING:
    from sapo.training.plan import Plan

F = TypeVar("F", bound=Callable[..., Any])

RATE = ("rate", "schedule", "decay")
PENALTY = ("strength", "regularizer")
SEARCH = ("search", "width", "stop_ratio")


def _all_of(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return a decorator that adds options to a command, in this order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def _option(*names: str, default: Any, help: str, metavar: str | None = None) -> Callable[[Any], Any]:
    return click.option(*names, default=default, show_default=True, metavar=metavar, help=help)


# how to search, how fast to learn, when to stop
learning_options = _all_of(
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
    _option("--strength", default="auto", metavar="NUMBER", help="Strength of the regularizer (lambda)."),
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
    _option("--regularizer", default="l2", metavar="NAME", help="l2, l1 (sparse) or none."),
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
    click.option("--exact", is_flag=True, help="Look at all labels of every token, even if there are more than 300."),
    click.option(
        "--all-pairs",
        is_flag=True,
        help="crf: weights for all pairs of feature and label, even if there are more than 32 labels.",
    ),
    _option("--threads", default=1, help="Learn in several threads: faster, but results differ from run to run."),
    _option("--seed", default=0, help="Fixes everything that is random."),
)

# which labels may follow each other, how they are learned, and their weights
label_options = _all_of(
    click.option(
        "--constraints/--no-constraints",
        default=True,
        show_default=True,
        help="Keep to the tag scheme (IOB2, BIOES ...) of the training data, in learning and in tagging.",
    ),
    click.option(
        "--rules",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Rules, one a line: 'forbid A B' (B after A), 'allow A B', 'start A ...', 'end A ...'; * for anything.",
    ),
    click.option(
        "--scheme",
        default="auto",
        show_default=True,
        metavar="NAME",
        help="Learn the labels in this scheme (bioes, bilou, iob2; keep: as they are); tags come out in the scheme of "
        "the training data. auto: in bioes, where that is better.",
    ),
    click.option("--missing", metavar="MARK", help="How a missing tag is written, such as '_': it may be any tag."),
    click.option(
        "--class-weight",
        metavar="WEIGHTS",
        help="Weights of labels, such as B-X=2,I-X=2; or balanced: the rarer a label, the larger its weight.",
    ),
)

neural_options = _all_of(
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


def parse_class_weight(text: str) -> dict[str, float] | str:
    """Return the weights in a text such as B-X=2,I-X=2; a text without = is returned as it is.

    >>> parse_class_weight("B-X=2,O=0.5")
    {'B-X': 2.0, 'O': 0.5}
    """
    if "=" not in text:
        return text
    weights: dict[str, float] = {}
    for label, weight in parse_numbers([text], "--class-weight"):
        if label in weights:
            raise SapoError(f"--class-weight has two weights for '{label}'; give one")
        weights[label] = weight
    return weights


def unused_options(plan: "Plan", given: Collection[str]) -> list[str]:
    """Return a message for each of the given settings that changes nothing in this run."""
    names = _of_no_use(plan.learner)
    told = [f"--{_dashed(name)} is not used by {plan.learner}" for name in given if name in names]
    settings = plan.settings
    for name, unused, reason in (
        ("width", settings.search != "beam", "is not used: it is the width of --search beam"),
        ("decay", settings.schedule == "fixed", "is not used: --schedule fixed keeps the rate"),
        ("strength", settings.regularizer == "none", "is not used: --regularizer none has no strength"),
        ("patience", plan.dev is None, "is not used: it counts dev scores; give --dev FILE"),
    ):
        if name in given and name not in names and unused:
            told.append(f"--{_dashed(name)} {reason}")
    return told


def _of_no_use(name: str) -> set[str]:
    """Return the settings that a learner does not use."""
    from sapo.learn import LEARNERS
    from sapo.learn.batch_crf import CRF_LBFGS
    from sapo.neural.options import LAYERS

    if name in LAYERS:
        nbest = () if LAYERS[name] == "sapo" else ("n", "stop_ratio")
        return {*PENALTY, "search", "width", "piece", "average", "hide", "exact", "all_pairs", *nbest}
    if name == CRF_LBFGS:
        return {"n", *RATE, *SEARCH, "piece", "average", "hide", "order", "seed"}
    learner, unused = LEARNERS[name], set[str]()
    if not learner.n_best:
        unused |= {"n", "stop_ratio"}
    if not learner.regularized:
        unused |= {*RATE, *PENALTY, "stop_ratio"}
    if not name.startswith(("sapo", "mira")):  # these sum over all taggings, or take the best one
        unused |= {*SEARCH}
    if not learner.all_labels:
        unused |= {"all_pairs"}
    return unused


def _dashed(name: str) -> str:
    return name.replace("_", "-")
