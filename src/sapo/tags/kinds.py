"""Label names in; for each label the role of its letter (first token, inside, ...) and its type out, as numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from sapo.tags.letters import ALWAYS_BEGIN, ALWAYS_END, SPAN_LETTERS, TABLE, Scheme
from sapo.tags.notation import as_prefixed


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


_BY_BEGIN_AND_END = {
    (False, False): Prefix.INSIDE,
    (True, False): Prefix.BEGIN,
    (False, True): Prefix.END,
    (True, True): Prefix.SINGLE,
}
PREFIXES = {
    "O": Prefix.OUTSIDE,
    ".": Prefix.DOT,
    "[": Prefix.BRACKET,
    "]": Prefix.BRACKET,
    **{letter: _BY_BEGIN_AND_END[letter in ALWAYS_BEGIN, letter in ALWAYS_END] for letter in SPAN_LETTERS},
}
_IN_SPANS = frozenset(_BY_BEGIN_AND_END.values())
_FEWEST_LETTERS_FIRST = ("io", "iob2", "ioe2", "bioes")  # bilou has the prefixes of bioes, iob1 those of iob2


@dataclass(frozen=True, slots=True)
class LabelKinds:
    """Prefix and type of every label. Type 0 is the empty type, that of O."""

    prefixes: NDArray[np.int8]  # [labels], values of Prefix
    types: NDArray[np.int32]  # [labels], places in type_names
    type_names: tuple[str, ...]
    scheme: Scheme  # for strict reading: the smallest that has all prefixes, unless gold tags tell (`strict_scheme`)


def label_kinds(labels: Sequence[str]) -> LabelKinds:
    """Return prefix and type of every label, which is split at its first '-', as conlleval does.

    Labels in another notation (see notation.py) are split where that has its letter.

    >>> kinds = label_kinds(["O", "B-cell-type", "I-cell-type", "L-DNA"])
    >>> kinds.type_names
    ('', 'cell-type', 'DNA')
    >>> kinds.types.tolist()
    [0, 1, 1, 2]
    >>> [Prefix(prefix).name for prefix in kinds.prefixes]
    ['OUTSIDE', 'BEGIN', 'INSIDE', 'END']
    >>> kinds.scheme.name
    'bioes'
    """
    type_ids = {"": 0}
    prefixes = np.empty(len(labels), dtype=np.int8)
    types = np.empty(len(labels), dtype=np.int32)
    for i, label in enumerate(as_prefixed(labels)):
        letter, _, type_name = label.partition("-")
        prefixes[i] = PREFIXES.get(letter, Prefix.OTHER)
        types[i] = type_ids.setdefault(type_name, len(type_ids))
    used = _IN_SPANS.intersection(prefixes.tolist())
    scheme = next(name for name in _FEWEST_LETTERS_FIRST if used <= {PREFIXES[x] for x in TABLE[name].letters})
    return LabelKinds(prefixes, types, tuple(type_ids), TABLE[scheme])
