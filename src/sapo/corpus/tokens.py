"""Sentences as Python lists of tokens in, a block out."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from io import IOBase
from itertools import chain
from typing import Any

from sapo.corpus.blocks import Block, Sentence, block_from_sentences, block_from_values
from sapo.errors import SapoError

TO_LIST = ("to_pylist", "as_py", "to_list", "tolist")  # the methods of Arrow, its scalars, pandas and polars, NumPy


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
    if not tags and (plain := _plain_values(sentences, len(columns))) is not None:
        return block_from_values(plain, list(map(len, sentences)), tuple(columns), "input")
    listed = []
    for number, tokens in enumerate(sentences):
        place = f"sentence {first + number + 1}"
        rows = [_row(token, columns, trained, f"{place}, token {count}") for count, token in enumerate(tokens, 1)]
        values = zip(*rows, strict=True) if rows else [() for _ in columns]
        listed.append(
            Sentence(dict(zip(columns, map(tuple, values), strict=True)), tuple(tags[number]) if tags else None)
        )
    return block_from_sentences(listed, "input")


def _plain_values(sentences: Sequence[Sequence[Any]], width: int) -> list[str] | None:
    """Return the values of all tokens in a row, or None unless each token is what a model of this width takes.

    Nearly all sentences are like that, and to look at each token on its own would take longer than to tag it.
    """
    tokens = list(chain.from_iterable(sentences))
    if width > 1:
        if not all(type(token) in (tuple, list) and len(token) == width for token in tokens):
            return None
        tokens = list(chain.from_iterable(tokens))
    return tokens if set(map(type, tokens)) <= {str} else None


def plain_sentence(tokens: Any, place: str, way: str = "split it first") -> Sequence[Any]:
    """Return the tokens of a sentence as a list or tuple: arrays and columns of tables become lists.

    Raises SapoError if this is not a sentence; a string is a sequence of letters. `way` is the way out then.

    >>> import numpy as np
    >>> plain_sentence(np.array(["no", "rain"]), "sentence 1")
    ['no', 'rain']
    """
    if isinstance(tokens, list | tuple):
        return tokens
    if isinstance(tokens, str):
        raise SapoError(f"{place}: expected a list of tokens, found the string {tokens[:40]!r}; {way}")
    from sapo.corpus.tables import check_no_table  # which imports this module

    check_no_table(tokens, place)
    for method in TO_LIST:
        if hasattr(tokens, method):
            return plain_sentence(getattr(tokens, method)(), place, way)
    if not isinstance(tokens, Iterable) or isinstance(tokens, bytes | Mapping | Set | IOBase):
        raise SapoError(f"{place}: expected a list of tokens, found {tokens!r:.40}")
    return list(tokens)


def check_labels(labels: Sequence[str], place: str) -> None:
    """Raise SapoError if a label is not valid Unicode: models and files could not hold it."""
    try:
        "".join(labels).encode()
    except UnicodeEncodeError:
        (bad, *_) = [label for label in labels if not label.isascii() and re.search("[\ud800-\udfff]", label)]
        raise SapoError(
            f"{place}: the tag {bad!a} has half of a surrogate pair, which is not valid text; correct it"
        ) from None


def _row(token: Any, columns: Sequence[str], trained: Sequence[str], place: str) -> tuple[str, ...]:
    row = (token,) if isinstance(token, str) else tuple(token) if isinstance(token, (tuple, list)) else ()
    if len(row) == len(trained) != len(columns):
        row = tuple(value for value, column in zip(row, trained, strict=True) if column in columns)
    if len(row) != len(columns) or not all(isinstance(value, str) for value in row):
        wanted = "a string" if len(columns) == 1 else f"({', '.join(columns)}), {len(columns)} strings"
        tagged = len(columns) == 1 and len(row) == 2 and all(isinstance(value, str) for value in row)
        way = "; the model reads words alone: give [word for word, tag in sentence]" if tagged else ""
        raise SapoError(f"{place}: expected {wanted}, found {token!r:.60}{way}")
    return row
