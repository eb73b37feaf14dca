"""Sentences as Python lists of tokens in, a block out."""

import re
from collections.abc import Sequence
from typing import Any

from sapo.corpus.blocks import Block, Sentence, block_from_sentences
from sapo.errors import SapoError


def sentence_block(
    sentences: Sequence[Sequence[Any]],
    columns: Sequence[str],
    tags: Sequence[Any] = (),
    *,
    first: int = 0,
    trained: Sequence[str] = (),
) -> Block:
    """Return sentences of strings (one column) or tuples (several columns) as a block.

    `tags` has the tags of each sentence; `first` is how many sentences came before these, for messages. A token may
    also have all columns of the training data, `trained`.

    >>> sentence_block([["a", "dog"]], ["word"], [["DT", "NN"]]).columns
    ('word', 'label')
    """
    listed = []
    for number, tokens in enumerate(sentences):
        place = f"sentence {first + number + 1}"
        rows = [_row(token, columns, trained, f"{place}, token {count}") for count, token in enumerate(tokens, 1)]
        values = zip(*rows, strict=True) if rows else [() for _ in columns]
        listed.append(
            Sentence(dict(zip(columns, map(tuple, values), strict=True)), tuple(tags[number]) if tags else None)
        )
    return block_from_sentences(listed, "input")


def check_sentence(tokens: Any, place: str) -> None:
    """Raise SapoError unless this is a list of tokens. A string is not: it is a sequence of letters."""
    if isinstance(tokens, str):
        raise SapoError(f"{place}: expected a list of tokens, found the string {tokens[:40]!r}; split it first")
    if not isinstance(tokens, Sequence):
        raise SapoError(f"{place}: expected a list of tokens, found {tokens!r:.40}")


def check_labels(labels: Sequence[str], place: str) -> None:
    """Raise SapoError if a label is not valid Unicode: models and files could not hold it."""
    try:
        "".join(labels).encode()
    except UnicodeEncodeError:
        (bad, *_) = [label for label in labels if not label.isascii() and re.search("[\ud800-\udfff]", label)]
        raise SapoError(
            f"{place}: the tag {bad!a} has half of a surrogate pair, which is no text; correct it"
        ) from None


def _row(token: Any, columns: Sequence[str], trained: Sequence[str], place: str) -> tuple[str, ...]:
    row = (token,) if isinstance(token, str) else tuple(token) if isinstance(token, (tuple, list)) else ()
    if len(row) == len(trained) != len(columns):
        row = tuple(value for value, column in zip(row, trained, strict=True) if column in columns)
    if len(row) != len(columns) or not all(isinstance(value, str) for value in row):
        wanted = "a string" if len(columns) == 1 else f"({', '.join(columns)}), {len(columns)} strings"
        raise SapoError(f"{place}: expected {wanted}, found {token!r:.60}")
    return row
