"""Options of `sapo train` about labels: which may follow each other, how they are learned, and their weights."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from sapo.errors import SapoError

_OPTIONS = (
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


def label_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about labels to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


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


def parse_numbers(texts: list[str] | tuple[str, ...], option: str) -> list[tuple[str, float]]:
    """Return the labels and numbers in texts such as O=1,B-X=2; a label may contain '=' itself.

    Raises SapoError, with the name of the option, if a text has another form.

    >>> parse_numbers(["O=1,==2", "O=3"], "--bias")
    [('O', 1.0), ('=', 2.0), ('O', 3.0)]
    """
    numbers = []
    for text in texts:
        for part in text.split(","):
            label, equals, number = part.strip().rpartition("=")
            try:
                numbers.append((label, float(number)))
            except ValueError:
                equals = ""
            if not equals or not label:
                raise SapoError(f"{option} must be LABEL=NUMBER, as O=0.5, not '{part}'")
    return numbers
