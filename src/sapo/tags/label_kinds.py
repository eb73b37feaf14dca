"""Label names in; for each label its prefix (B, I, O, E, S, ...) and its type out, as numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class Prefix(IntEnum):
    """What a label says about the place of its token in a span."""

    OUTSIDE = 0
    BEGIN = 1
    INSIDE = 2
    END = 3
    SINGLE = 4
    DOT = 5  # conlleval: not the start of a span, even if the type changes
    BRACKET = 6  # conlleval: a span of one token
    OTHER = 7  # conlleval has no rule: only a change of type begins or ends a span


class Scheme(IntEnum):
    """How a set of labels writes spans. IOB1 has the labels of IOB2 and cannot be told from it."""

    IO = 0
    IOB2 = 1
    IOE2 = 2
    BIOES = 3


_PREFIXES = {
    "O": Prefix.OUTSIDE,
    "B": Prefix.BEGIN,
    "I": Prefix.INSIDE,
    "E": Prefix.END,
    "L": Prefix.END,
    "S": Prefix.SINGLE,
    "U": Prefix.SINGLE,
    ".": Prefix.DOT,
    "[": Prefix.BRACKET,
    "]": Prefix.BRACKET,
}
_SPAN_PREFIXES = frozenset("BIESLU")


@dataclass(frozen=True, slots=True)
class LabelKinds:
    """Prefix and type of every label. Type 0 is the empty type, that of O."""

    prefixes: NDArray[np.int8]  # [labels], values of Prefix
    types: NDArray[np.int32]  # [labels], places in type_names
    type_names: tuple[str, ...]
    scheme: Scheme


def label_kinds(labels: Sequence[str]) -> LabelKinds:
    """Split every label at its first '-', as conlleval does.

    >>> kinds = label_kinds(["O", "B-cell-type", "I-cell-type", "L-DNA"])
    >>> kinds.type_names
    ('', 'cell-type', 'DNA')
    >>> kinds.types.tolist()
    [0, 1, 1, 2]
    >>> [Prefix(prefix).name for prefix in kinds.prefixes]
    ['OUTSIDE', 'BEGIN', 'INSIDE', 'END']
    """
    type_ids = {"": 0}
    prefixes = np.empty(len(labels), dtype=np.int8)
    types = np.empty(len(labels), dtype=np.int32)
    for i, label in enumerate(labels):
        prefix, _, type_name = label.partition("-")
        prefixes[i] = _PREFIXES.get(prefix, Prefix.OTHER)
        types[i] = type_ids.setdefault(type_name, len(type_ids))
    return LabelKinds(prefixes, types, tuple(type_ids), _scheme(set(prefixes.tolist())))


def looks_like_spans(labels: Sequence[str]) -> bool:
    """Whether every label is O or PREFIX-type with a prefix of BIESLU, and not all are O.

    >>> looks_like_spans(["O", "B-NP", "I-NP"])
    True
    >>> looks_like_spans(["NN", "VB", "O"])
    False
    """
    inside = [label.partition("-") for label in labels if label != "O"]
    return bool(inside) and all(prefix in _SPAN_PREFIXES and type_name for prefix, _, type_name in inside)


def _scheme(prefixes: set[int]) -> Scheme:
    if Prefix.SINGLE in prefixes or {Prefix.BEGIN, Prefix.END} <= prefixes:
        return Scheme.BIOES
    if Prefix.BEGIN in prefixes:
        return Scheme.IOB2
    return Scheme.IOE2 if Prefix.END in prefixes else Scheme.IO
