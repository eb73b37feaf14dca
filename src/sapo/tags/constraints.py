"""Find the constraints of gold tags, add the user's rules, and check that every sentence has a tagging.

A scheme forbids transitions (see tags/recognition.py), but never those that occur in the gold tags: these are
exceptions. So the output is valid if the training data is valid; otherwise it has only faults of the training data.
The user can add rules, one per line:

    forbid B-NP B-VP     B-VP may not follow B-NP
    allow O I-NP         lifts what the tag scheme or a rule above forbids
    start O B-*          a sentence begins with one of these
    end . ! ?            a sentence ends with one of these

'*' stands for any characters, and '#' after a blank begins a comment.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sapo.errors import DataError, OptionError, SapoError, check_limit
from sapo.jit.arrays import Bools, Floats, Ints, Longs
from sapo.tags.recognition import Transition, faults_in, first_forbidden, recognize, scheme_bans, transition_counts
from sapo.tags.schemes import SCHEMES

LONGEST = 1000  # tokens up to which lengths are tried, if the sets of reachable labels never repeat
BORDERS = {"start": 0, "end": 1}  # their rows, counted from the number of labels
EXAMPLE = "write for example 'forbid B-NP B-VP', 'allow O I-NP', 'start O B-*' or 'end .'"


def impossible_length(bans: Floats) -> int:
    """Return the length of the shortest sentence that has no tagging; 0 if every sentence has one.

    >>> bans = np.zeros((4, 2), np.float32)
    >>> impossible_length(bans)
    0
    >>> bans[:2] = -np.inf
    >>> impossible_length(bans)
    2
    """
    L = bans.shape[1]
    steps, reached, ends = bans[:L] == 0, bans[L] == 0, bans[L + 1] == 0
    seen = set()
    for length in range(1, LONGEST):
        if not (reached & ends).any():
            return length
        if reached.tobytes() in seen:
            return 0
        seen.add(reached.tobytes())
        reached = steps[reached].any(axis=0)
    return 0


def impossible_sentence(bans: Floats, allowed: Bools, chosen: Bools, offsets: Longs) -> int | None:
    """Return the number, from 0, of the first sentence that has no tagging; None if every sentence has one.

    `allowed[t, y]` says whether token t may have the label y. Only sentences with a token t where `chosen[t]` are
    examined.

    >>> bans, allowed = np.zeros((4, 2), np.float32), np.array([[True, True], [True, False], [False, True]])
    >>> bans[0, 1] = -np.inf  # label 1 may not follow label 0
    >>> impossible_sentence(bans, allowed, np.array([False, True, True]), np.array([0, 1, 3]))
    1
    """
    L = bans.shape[1]
    steps, starts, ends = bans[:L] == 0, bans[L] == 0, bans[L + 1] == 0
    so_far = np.append(0, np.cumsum(chosen))
    for sentence in np.flatnonzero(so_far[offsets[1:]] > so_far[offsets[:-1]]).tolist():
        first, last = offsets[sentence : sentence + 2].tolist()
        reached = starts & allowed[first]
        for token in range(first + 1, last):
            reached = steps[reached].any(axis=0) & allowed[token]
        if not (reached & ends).any():
            return sentence
    return None


def apply_rules(bans: Floats, rules: Sequence[str], labels: Sequence[str]) -> None:
    """Apply the rules to the bans, one after the other. Several rules for the start, or for the end, add up.

    >>> bans = np.zeros((4, 2), np.float32)
    >>> apply_rules(bans, ["forbid A B", "end B"], ["A", "B"])
    >>> bans.tolist()
    [[0.0, -inf], [0.0, 0.0], [0.0, 0.0], [-inf, 0.0]]
    """
    borders = {word: np.zeros(len(labels), bool) for word in BORDERS}
    for word, first, second in parse_rules(rules, labels):
        if word in BORDERS:
            borders[word][first] = True
        else:
            bans[np.ix_(first, second)] = 0 if word == "allow" else -np.inf
    for word, wanted in borders.items():
        if wanted.any():
            bans[len(labels) + BORDERS[word], ~wanted] = -np.inf


def parse_rules(rules: Sequence[str], labels: Sequence[str]) -> Iterator[tuple[str, list[int], list[int]]]:
    """Yield the word of each rule, and the places of the labels that it names. Raise SapoError if a rule is wrong.

    >>> list(parse_rules(["forbid B-* O", "start O"], ["O", "B-X", "B-Y"]))
    [('forbid', [1, 2], [0]), ('start', [0], [])]
    """
    for rule in rules:
        if not isinstance(rule, str):
            raise OptionError(f"rule {rule!r}: expected a string; {EXAMPLE}")
        check_limit("rule", len(rule), f"rule '{rule[:40]}...'", "characters")
        word, *patterns = rule.split() or [""]
        if word not in ("forbid", "allow", *BORDERS):
            raise OptionError(f"rule '{rule}': unknown word '{word}'; {EXAMPLE}")
        if word in BORDERS and not patterns:
            raise OptionError(f"rule '{rule}': names no label; {EXAMPLE}")
        if word not in BORDERS and len(patterns) != 2:
            raise OptionError(f"rule '{rule}': expected two labels, found {len(patterns)}; {EXAMPLE}")
        places = [_matching(pattern, labels, rule) for pattern in patterns]
        if word in BORDERS:
            yield word, sorted({place for some in places for place in some}), []
        else:
            yield word, places[0], places[1]


def _matching(pattern: str, labels: Sequence[str], rule: str) -> list[int]:
    parts = pattern.split("*")
    found = [place for place, label in enumerate(labels) if _fits(parts, label)]
    if not found:
        some = ", ".join(labels[:20]) + (", ..." if len(labels) > 20 else "")
        raise OptionError(f"rule '{rule}': no label matches '{pattern}'; the labels are {some}")
    return found


def _fits(parts: Sequence[str], label: str) -> bool:
    """Return whether a label consists of these parts in this order, with anything between them.

    If any match exists, so does one with the first occurrence of each part, so there is no backtracking.

    >>> _fits(["B-", ""], "B-NP"), _fits(["", "a", "b"], "xaab"), _fits(["a", "a"], "a")
    (True, True, False)
    """
    first, *rest = parts
    if not rest or not label.startswith(first):
        return label == first
    at = len(first)
    for part in rest[:-1]:
        at = label.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return len(label) - at >= len(rest[-1]) and label.endswith(rest[-1])


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints on the taggings of a model, which stores them. They also apply to labels that are added later."""

    scheme: str | None = None
    exceptions: tuple[Transition, ...] = ()  # the scheme forbids them, but the training data has them
    rules: tuple[str, ...] = ()  # of the user

    def as_json(self) -> dict[str, Any]:
        """Return the constraints as JSON values.

        >>> Constraints("iob2", exceptions=(("O", "I-NP"),)).as_json()
        {'scheme': 'iob2', 'exceptions': [['O', 'I-NP']], 'rules': []}
        """
        return {"scheme": self.scheme, "exceptions": [list(pair) for pair in self.exceptions], "rules": [*self.rules]}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Constraints":
        """Return the constraints that `as_json` wrote. Raise ValueError if the values make no sense."""
        pairs = [tuple(pair) for pair in stored["exceptions"]]
        names = [name for pair in pairs for name in pair]
        if (
            stored["scheme"] not in (None, *SCHEMES)
            or not all(len(pair) == 2 for pair in pairs)
            or not all(name is None or isinstance(name, str) for name in names)
            or not all(isinstance(rule, str) for rule in stored["rules"])
        ):
            raise ValueError("constraints")
        return cls(stored["scheme"], tuple(pairs), tuple(stored["rules"]))


def bans_of(constraints: Constraints, labels: Sequence[str], shown: Sequence[str] = ()) -> Floats:
    """Return the bans for these labels.

    Rules name labels as they are shown; `shown` has these names if they differ (see tags/labels.py).

    >>> bans_of(Constraints(rules=("forbid A B", "end B")), ["A", "B"]).tolist()
    [[0.0, -inf], [0.0, 0.0], [0.0, 0.0], [-inf, 0.0]]
    """
    bans = np.zeros((len(labels) + 2, len(labels)), np.float32)
    if constraints.scheme is not None:
        bans = scheme_bans(labels, constraints.scheme)
        place = {label: number for number, label in enumerate(labels)}
        for before, after in constraints.exceptions:
            if before is None:
                bans[len(labels), place[after or ""]] = 0
            elif after is None:
                bans[len(labels) + 1, place[before]] = 0
            else:
                bans[place[before], place[after]] = 0
    if not constraints.rules:
        return bans
    if not shown:
        apply_rules(bans, constraints.rules, labels)
        return bans
    names = list(dict.fromkeys(shown))
    of_rules = np.zeros((len(names) + 2, len(names)), np.float32)
    apply_rules(of_rules, constraints.rules, names)
    place_of = np.array([names.index(name) for name in shown])
    bans += of_rules[np.concatenate([place_of, [len(names), len(names) + 1]])][:, place_of]
    return bans


def find_constraints(
    labels: Sequence[str],
    gold: Ints,
    offsets: Longs,
    *,
    scheme: str | None = None,
    rules: Sequence[str] = (),
    on: bool = True,
    shown: Sequence[str] = (),
    allowed: Bools | None = None,  # [sets, labels] of gold tags -2 - s
    what: str = "training data",
) -> tuple[Constraints, Floats, list[str]]:
    """Return the constraints for gold tags, their bans, and notes for the user.

    The scheme is recognized unless it is given. If `on` is false, only the user's rules apply. `shown` are the names of
    the labels in rules, as for `bans_of`; `what` names the data in messages. Raise SapoError if the rules leave some
    sentence without a tagging, or if the gold tags break them.

    >>> gold, offsets = np.array([0, 1, 2, 0], np.int32), np.array([0, 4])
    >>> find_constraints(["O", "B-NP", "I-NP"], gold, offsets)[0].scheme
    'iob2'
    """
    counts = transition_counts(gold, offsets, len(labels))
    constraints, bans, notes = constraints_of(labels, counts, scheme=scheme, rules=rules, on=on, shown=shown)
    if counts[bans < 0].any():
        raise broken_rules(bans, constraints, gold, offsets, counts, what)
    _check_open(bans, gold, allowed, offsets, what)
    return constraints, bans, notes


def constraints_of(
    labels: Sequence[str],
    counts: Longs,
    *,
    scheme: str | None = None,
    rules: Sequence[str] = (),
    on: bool = True,
    shown: Sequence[str] = (),
) -> tuple[Constraints, Floats, list[str]]:
    """Return the constraints, their bans and notes for gold tags with these counts of transitions.

    Everything else is as for `find_constraints`, but whether the gold tags obey the rules is not checked.
    """
    found, notes = _of_scheme(labels, counts, scheme) if on else (Constraints(), [])
    length = 0 if found.scheme is None else impossible_length(bans_of(found, labels))
    if length:
        notes = [f"constraints are off: no sentence of {length} tokens would have a valid {found.scheme} tagging"]
        found = Constraints()
    constraints = replace(found, rules=tuple(rules))
    bans = bans_of(constraints, labels, shown)
    length = impossible_length(bans) if (bans < 0).any() else 0
    if length:
        raise DataError(
            f"the rules leave no tagging for a sentence of {length} token{'s' * (length > 1)}; "
            f"allow more ({'; '.join(constraints.rules)})"
        )
    return constraints, bans, notes


def _of_scheme(labels: Sequence[str], counts: Longs, scheme: str | None) -> tuple[Constraints, list[str]]:
    if scheme is None:
        recognized = recognize(labels, counts)
        if recognized is None:
            return Constraints(), []
        scheme, faults = recognized
    else:
        faults = faults_in(labels, counts, scheme)
    borders = len(labels), len(labels) + 1
    exceptions: list[Transition] = []
    for row, tag in np.argwhere(faults).tolist():
        before, after = (
            (labels[tag], None) if row == borders[1] else (None if row == borders[0] else labels[row], labels[tag])
        )
        exceptions.append((before, after))
    if not exceptions:
        return Constraints(scheme), []
    times = int(faults.sum())
    number = f"{times} transitions of the training data are" if times > 1 else "1 transition of the training data is"
    so = "so are" if times > 1 else "so is"
    pairs = ", ".join(f"{before or 'start'} {after or 'end'}" for before, after in exceptions[:3])
    note = (
        f"{number} not valid {scheme}, and {so} allowed in the output, too ({pairs}{', ...' * (len(exceptions) > 3)})"
    )
    if scheme == "iob2":
        note += "; with the scheme iob2 they are read as conlleval reads them, and all output is valid"
    return Constraints(scheme, tuple(exceptions)), [note]


def broken_rules(
    bans: Floats, constraints: Constraints, gold: Ints, offsets: Longs, counts: Longs, what: str
) -> SapoError:
    """Return the error for gold tags that break the rules; it names the first such sentence."""
    sentence = first_forbidden(bans, gold, offsets) or 0
    times = int(counts[bans < 0].sum())
    return DataError(
        f"{what}: sentence {sentence + 1} breaks the rules ({'; '.join(constraints.rules)}), which happens {times} "
        f"time{'s' * (times > 1)}; correct the data or the rules"
    )


def _check_open(bans: Floats, gold: Ints, allowed: Bools | None, offsets: Longs, what: str) -> None:
    """Raise SapoError unless every sentence with open tags has a tagging that fits."""
    is_open = gold < 0
    if not ((bans < 0).any() and is_open.any()):
        return
    fits = (gold == -1)[:, np.newaxis] | (gold[:, np.newaxis] == np.arange(bans.shape[1]))
    in_set = gold < -1
    if allowed is not None and in_set.any():
        fits[in_set] = allowed[-2 - gold[in_set]]
    impossible = impossible_sentence(bans, fits, is_open, offsets)
    if impossible is not None:
        raise DataError(
            f"{what}: sentence {impossible + 1}: no tags fit where some are missing; correct it, or use "
            "`constraints=False`"
        )
