"""The tags of a whole corpus in, the spans that conlleval reads in them out, as arrays.

The rules give invalid tags a reading, too: I-X after O begins a span, and so does a change of type. They are those of
the Perl script for IOB tags, and of its well-known Python version for E and S. With other letters, spans begin where
conlleval begins them; conlleval may forget such a span without ending it, here it ends where the next one begins.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sapo.tags.kinds import PREFIXES, LabelKinds, Prefix
from sapo.tags.letters import Scheme

_Number = TypeVar("_Number", np.int8, np.int32)

_OUT = {Prefix.OUTSIDE, Prefix.DOT}


def _begins(new_type: bool, before: Prefix, here: Prefix) -> bool:
    """Tell whether a span begins at a token with prefix `here`."""
    return (
        here in {Prefix.BEGIN, Prefix.SINGLE, Prefix.BRACKET}
        or (before in {Prefix.OUTSIDE, Prefix.END, Prefix.SINGLE} and here in {Prefix.INSIDE, Prefix.END})
        or (new_type and here not in _OUT)
    )


def _ended(new_type: bool, before: Prefix, here: Prefix) -> bool:
    """Tell whether the span of the token before ended with it."""
    return (
        before in {Prefix.END, Prefix.SINGLE, Prefix.BRACKET}
        or (before in {Prefix.BEGIN, Prefix.INSIDE} and here in {Prefix.OUTSIDE, Prefix.BEGIN, Prefix.SINGLE})
        or (new_type and before not in _OUT)
    )


_CASES = [(new_type, before, here) for new_type in (False, True) for before in Prefix for here in Prefix]
_BEGINS = np.array([_begins(*case) for case in _CASES])
_ENDED = np.array([_ended(*case) for case in _CASES])


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans in the order of the text; tokens are counted through all sentences."""

    starts: NDArray[np.int64]  # [spans], first token
    ends: NDArray[np.int64]  # [spans], one past the last token
    types: NDArray[np.int32]  # [spans], places in LabelKinds.type_names


def read_spans(
    kinds: LabelKinds, tags: NDArray[np.int32], offsets: NDArray[np.int64], *, strict: bool = False
) -> Spans:
    """Return the spans of all sentences. No span crosses the border of a sentence.

    `tags` has the label of every token, sentence after sentence; sentence s is tags[offsets[s]:offsets[s + 1]].
    `strict` keeps only the spans that are well-formed in the scheme of the labels: B I* in IOB2, B I* E or S in BIOES,
    I* E in IOE2, and in IOB1 I+, or B I* right after a span of the same type. The scheme is that of `kinds`.

    >>> from sapo.tags.kinds import label_kinds
    >>> kinds = label_kinds(["O", "B-NP", "I-NP", "I-VP"])
    >>> tags, offsets = np.array([1, 2, 3, 0, 2, 2], dtype=np.int32), np.array([0, 5, 6])
    >>> found = read_spans(kinds, tags, offsets)
    >>> [(a, b, kinds.type_names[t]) for a, b, t in zip(found.starts.tolist(), found.ends.tolist(), found.types)]
    [(0, 2, 'NP'), (2, 3, 'VP'), (4, 5, 'NP'), (5, 6, 'NP')]
    >>> strictly = read_spans(kinds, tags, offsets, strict=True)
    >>> strictly.starts.tolist(), strictly.ends.tolist()
    ([0], [2])
    """
    first = np.zeros(len(tags), dtype=np.bool_)
    first[offsets[:-1][offsets[:-1] < len(tags)]] = True  # an empty last sentence begins past the last token

    prefix, type_ = kinds.prefixes.take(tags), kinds.types.take(tags)
    # a sentence begins as if after O
    prefix_before = _shifted(prefix, first, Prefix.OUTSIDE)
    new_type = type_ != _shifted(type_, first, 0)

    case = (new_type * len(Prefix) + prefix_before) * len(Prefix) + prefix  # the place in _CASES
    begins, ended = _BEGINS.take(case), _ENDED.take(case)
    borders = np.flatnonzero(begins | ended | first)
    next_borders = np.append(borders, len(tags))[1:]
    is_start = begins[borders]
    starts = borders[is_start]
    found = Spans(starts, next_borders[is_start], type_[starts])
    return _well_formed(found, prefix, ~new_type, kinds.scheme) if strict else found


def _shifted(values: NDArray[_Number], first: NDArray[np.bool_], at_border: int) -> NDArray[_Number]:
    """Return the value of the token before, or `at_border` for the first token of a sentence."""
    before = np.empty_like(values)
    before[1:] = values[:-1]
    before[first] = at_border
    return before


def _well_formed(found: Spans, prefix: NDArray[np.int8], same_type: NDArray[np.bool_], scheme: Scheme) -> Spans:
    """Keep only the spans that are written as the scheme writes them; `same_type` is that of the token before."""
    first, inside, last, single = (
        PREFIXES[letter] for letter in (scheme.first, scheme.inside, scheme.last, scheme.single)
    )
    opening, closing = prefix[found.starts], prefix[found.ends - 1]
    others_so_far = np.append(0, np.cumsum(prefix != inside))
    others = others_so_far[found.ends - 1] - others_so_far[found.starts + 1]  # between the two
    one, opens = opening == single, opening == first
    if scheme.touching:
        touching = (opening == PREFIXES[scheme.touching]) & same_type[found.starts]
        one, opens = one | touching, opens | touching
    keep = np.where(found.ends - found.starts == 1, one, opens & (others == 0) & (closing == last))
    return Spans(found.starts[keep], found.ends[keep], found.types[keep])
