"""How text is cut: a table of rules that a model keeps. Without training data it is close to the Penn Treebank.

A rule says for a mark and its neighbours (see `atoms.mark_key`) which of them it stays with:

    alone   a token of its own: dog|.        left    with what stands before it: U.S.
    both    inside a token: o'clock          right   with what follows: -5
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sapo.errors import SapoError

ALONE, LEFT, RIGHT, BOTH = "alone", "left", "right", "both"
WORDS, CHARACTERS, IDEOGRAPHS = "words", "characters", "ideographs"
CLITICS = ("'d", "'ll", "'m", "'re", "'s", "'ve", "n't")
TITLES = ("Mr.", "Mrs.", "Ms.", "Dr.", "Prof.", "St.", "Jr.", "Sr.")
KEPT = (*TITLES, "vs.", "etc.", "Inc.", "Co.", "Ltd.", "Corp.", "Ph.D.")
MOST_STRINGS = 100_000  # in a list of a model file
MOST_CLITICS, LONGEST_CLITIC = 1000, 20  # all are tried at each place


@dataclass(frozen=True, slots=True)
class Rules:
    """How to cut text into tokens and sentences.

    >>> Rules.from_json(Rules().as_json()) == Rules()
    True
    """

    unit: str = WORDS  # or each character, or each ideograph and other words whole
    marks: Mapping[str, str] = field(default_factory=dict)  # learned: "a-a" -> "alone"
    runs: str = "'*-.=_`"  # marks that make one token with equal ones behind them
    clitics: tuple[str, ...] = CLITICS
    kept: frozenset[str] = frozenset(KEPT)  # tokens that other rules would cut
    pieces: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # words in several tokens: "cannot" -> (3, 3)
    units: frozenset[str] = frozenset()  # letters that are tokens behind digits: 5|pm
    ends: Mapping[str, str] = field(default_factory=dict)  # learned: before which classes a token is an end

    def as_json(self) -> dict[str, Any]:
        """Return the rules for the header of a model file."""
        return {
            "unit": self.unit,
            "marks": dict(sorted(self.marks.items())),
            "runs": self.runs,
            "clitics": list(self.clitics),
            "kept": sorted(self.kept),
            "pieces": {word: list(sizes) for word, sizes in sorted(self.pieces.items())},
            "units": sorted(self.units),
            "ends": dict(sorted(self.ends.items())),
        }

    @classmethod
    def from_json(cls, value: Any) -> "Rules":
        """Return the rules of `as_json`; raise SapoError if they are anything else."""
        try:
            rules = cls(
                value["unit"],
                _strings(value["marks"]),
                value["runs"],
                tuple(value["clitics"]),
                frozenset(value["kept"]),
                {word: tuple(sizes) for word, sizes in value["pieces"].items()},
                frozenset(value["units"]),
                _strings(value["ends"]),
            )
            _check(rules)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SapoError(f"the rules for text are damaged ({error!r:.60})") from None
        return rules


def _strings(value: Any) -> dict[str, str]:
    table = dict(value)
    if not all(isinstance(text, str) for pair in table.items() for text in pair):
        raise ValueError("table")
    return table


def _check(rules: Rules) -> None:
    lists = (rules.clitics, rules.kept, rules.units, rules.pieces)
    if rules.unit not in (WORDS, CHARACTERS, IDEOGRAPHS) or not isinstance(rules.runs, str):
        raise ValueError("unit")
    if not all(isinstance(text, str) and text for listed in lists for text in listed):
        raise ValueError("list")
    if any(len(listed) > MOST_STRINGS for listed in lists):
        raise ValueError("size")
    if len(rules.clitics) > MOST_CLITICS or any(len(clitic) > LONGEST_CLITIC for clitic in rules.clitics):
        raise ValueError("clitics")
    if not set(rules.marks.values()) <= {ALONE, LEFT, RIGHT, BOTH}:
        raise ValueError("marks")
    for word, sizes in rules.pieces.items():
        if not all(type(size) is int and size > 0 for size in sizes) or sum(sizes) != len(word):
            raise ValueError("pieces")
