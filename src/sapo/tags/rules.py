"""The user's rules in, bans out.

    forbid B-NP B-VP     B-VP may not follow B-NP
    allow O I-NP         lifts what the tag scheme or a rule above forbids
    start O B-*          a sentence begins with one of these
    end . ! ?            a sentence ends with one of these

Each line is a rule; '*' stands for any characters, and '#' after a blank begins a comment.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from sapo import limits
from sapo.errors import SapoError
from sapo.kernels.types import Floats

BORDERS = {"start": 0, "end": 1}  # their rows, counted from the number of labels
EXAMPLE = "write for example 'forbid B-NP B-VP', 'allow O I-NP', 'start O B-*' or 'end .'"


def apply_rules(bans: Floats, rules: Sequence[str], labels: Sequence[str]) -> None:
    """Change the bans by the rules, one after the other. Several rules for the start, or for the end, add up.

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
            raise SapoError(f"rule {rule!r}: expected a string; {EXAMPLE}")
        limits.check("rule", len(rule), f"rule '{rule[:40]}...'", "characters")
        word, *patterns = rule.split() or [""]
        if word not in ("forbid", "allow", *BORDERS):
            raise SapoError(f"rule '{rule}': unknown word '{word}'; {EXAMPLE}")
        if word in BORDERS and not patterns:
            raise SapoError(f"rule '{rule}': names no label; {EXAMPLE}")
        if word not in BORDERS and len(patterns) != 2:
            raise SapoError(f"rule '{rule}': expected two labels, found {len(patterns)}; {EXAMPLE}")
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
        raise SapoError(f"rule '{rule}': no label is '{pattern}'; the labels are {some}")
    return found


def _fits(parts: Sequence[str], label: str) -> bool:
    """Return whether a label is these parts in this order, with anything between them.

    The first place of each part is as good as any other, so that nothing is ever tried twice.

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
