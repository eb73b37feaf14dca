"""A tag for every token in, the spans they mark out, by the rules of conlleval.

The rules also give every invalid sequence a reading: I-X after O begins a span, and so does a change of type.
They are those of the Perl script for IOB tags and of its well-known Python version for E and S. For labels of
other prefixes the spans begin where conlleval begins them; conlleval may forget such a span without ending it,
here it ends where the next one begins.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sapo.tags.label_kinds import LabelKinds, Prefix, Scheme

_Number = TypeVar("_Number", np.int8, np.int32)

_OUT = {Prefix.OUTSIDE, Prefix.DOT}


def _begins(new_type: bool, before: Prefix, here: Prefix) -> bool:
    """Whether a span begins at a token with prefix `here`."""
    return (
        here in {Prefix.BEGIN, Prefix.SINGLE, Prefix.BRACKET}
        or (before in {Prefix.OUTSIDE, Prefix.END, Prefix.SINGLE} and here in {Prefix.INSIDE, Prefix.END})
        or (new_type and here not in _OUT)
    )


def _ended(new_type: bool, before: Prefix, here: Prefix) -> bool:
    """Whether the span of the token before ended with it."""
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
    """Spans in the order of the text, token numbers counted through all sentences."""

    starts: NDArray[np.int64]  # [spans], first token
    ends: NDArray[np.int64]  # [spans], one past the last token
    types: NDArray[np.int32]  # [spans], places in LabelKinds.type_names


def spans(kinds: LabelKinds, tags: NDArray[np.int32], offsets: NDArray[np.int64], *, strict: bool = False) -> Spans:
    """Find the spans; no span runs over the border of a sentence.

    `tags` has the label of every token, sentence after sentence; sentence s is tags[offsets[s]:offsets[s + 1]].
    `strict` keeps only spans well-formed in the scheme of the labels: B I* in IOB2, B I* E or S in BIOES, I* E
    in IOE2. Strict is not for IOB1, whose labels look like IOB2.

    >>> from sapo.tags.label_kinds import label_kinds
    >>> kinds = label_kinds(["O", "B-NP", "I-NP", "I-VP"])
    >>> tags, offsets = np.array([1, 2, 3, 0, 2, 2], dtype=np.int32), np.array([0, 5, 6])
    >>> found = spans(kinds, tags, offsets)
    >>> [(a, b, kinds.type_names[t]) for a, b, t in zip(found.starts.tolist(), found.ends.tolist(), found.types)]
    [(0, 2, 'NP'), (2, 3, 'VP'), (4, 5, 'NP'), (5, 6, 'NP')]
    >>> strictly = spans(kinds, tags, offsets, strict=True)
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
    return _well_formed(found, prefix, kinds.scheme) if strict else found


def correct_spans(kinds: LabelKinds, gold: Spans, found: Spans, tokens: int) -> NDArray[np.bool_]:
    """Which of the found spans are in gold too, with the same borders and the same type."""
    # at most one span begins at a token: write what begins there as one number, 0 for nothing, and compare
    types = len(kinds.type_names)
    gold_at = np.zeros(tokens, dtype=np.int64)
    gold_at[gold.starts] = gold.ends * types + gold.types
    correct: NDArray[np.bool_] = gold_at[found.starts] == found.ends * types + found.types
    return correct


def _shifted(values: NDArray[_Number], first: NDArray[np.bool_], at_border: int) -> NDArray[_Number]:
    """The value of the token before, within the sentence."""
    before = np.empty_like(values)
    before[1:] = values[:-1]
    before[first] = at_border
    return before


def _well_formed(found: Spans, prefix: NDArray[np.int8], scheme: Scheme) -> Spans:
    """Only the spans whose prefixes the scheme allows."""
    opening, closing = prefix[found.starts], prefix[found.ends - 1]
    marks_so_far = np.append(0, np.cumsum(prefix != Prefix.INSIDE))
    marks = marks_so_far[found.ends] - marks_so_far[found.starts]  # how many tokens of the span are not I
    if scheme is Scheme.BIOES:
        several = (marks == 2) & (opening == Prefix.BEGIN) & (closing == Prefix.END)
        keep = several | ((marks == 1) & (opening == Prefix.SINGLE))
    elif scheme is Scheme.IOB2:
        keep = (marks == 1) & (opening == Prefix.BEGIN)
    elif scheme is Scheme.IOE2:
        keep = (marks == 1) & (closing == Prefix.END)
    else:
        keep = marks == 0
    return Spans(found.starts[keep], found.ends[keep], found.types[keep])
