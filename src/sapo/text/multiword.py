"""Learn which tokens have several words, and split them: don't is do and n't, zum is zu and dem.

A token that was seen is split as it was most often. Others are split by the rule of their longest known ending, such
as 's -> " 's": replace the ending by words. A rule needs two different tokens, and most tokens with its ending.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sapo.errors import ModelError

LONGEST_ENDING = 10  # characters
LEAST = 2  # different tokens for a rule
MOST_ENTRIES = 200_000  # of a table in a file
Rule = tuple[str, str]  # the ending, and the words it becomes, separated by blanks
WHOLE: Rule = "", ""  # the token is one word


@dataclass(frozen=True, slots=True)
class MultiwordRules:
    """How tokens become words.

    >>> rules = MultiwordRules({"zum": "zu dem"}, {"'s": ("'s", " 's")})
    >>> rules.split("Zum"), rules.split("Kim's"), rules.split("Haus")
    (['Zu', 'dem'], ['Kim', "'s"], ['Haus'])
    """

    known: Mapping[str, str] = field(default_factory=dict)  # tokens in lower case, and their words; "" for one word
    endings: Mapping[str, Rule] = field(default_factory=dict)

    def split(self, token: str) -> list[str]:
        """Return the words of a token: often the token itself."""
        if not self.known:
            return [token]
        lower = token.lower()
        words = self.known.get(lower)
        if words is not None:
            return _like(token, words.split(" ")) if words else [token]
        for size in range(min(LONGEST_ENDING, len(lower) - 1), 0, -1):
            rule = self.endings.get(lower[-size:])
            if rule is not None:
                ending, new = rule
                return [token] if rule == WHOLE else (token[: len(token) - len(ending)] + new).split(" ")
        return [token]

    def as_json(self) -> dict[str, Any]:
        """Return the rules for the header of a file."""
        endings = {ending: list(rule) for ending, rule in sorted(self.endings.items())}
        return {"known": dict(sorted(self.known.items())), "endings": endings}

    @classmethod
    def from_json(cls, value: Any) -> "MultiwordRules":
        """Return the rules of `as_json`. Raise ModelError if the value makes no sense."""
        try:
            known = dict(value["known"])
            endings = {ending: (str(old), str(new)) for ending, (old, new) in value["endings"].items()}
            if max(len(known), len(endings)) > MOST_ENTRIES:
                raise ValueError("size")
            for token, words in known.items():
                if not token or (words and not all(words.split(" "))):
                    raise ValueError("known")
            for ending, (old, new) in endings.items():
                if not ending.endswith(old) or ((old, new) != WHOLE and not (old and all(f"x{new}".split(" ")))):
                    raise ValueError("endings")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelError(f"the rules for multiword tokens are damaged ({error!r:.60})") from None
        return cls(known, endings)


def learn_multiword(tokens: Iterable[tuple[str, Sequence[str]]]) -> MultiwordRules:
    """Return the rules that split tokens most like these, each of which has its words."""
    seen: dict[str, Counter[str]] = {}
    for token, words in tokens:
        split = " ".join(words).lower()
        whole = len(words) == 1 or any(" " in word or not word for word in words)
        seen.setdefault(token.lower(), Counter())["" if whole else split] += 1
    usual = {token: counts.most_common(1)[0][0] for token, counts in seen.items()}
    if not any(usual.values()):
        return MultiwordRules()
    rules = {token: _rule(token, words) for token, words in usual.items() if words}
    endings = {ending for token, rule in rules.items() if rule != WHOLE for ending in _endings(token, len(rule[0]))}
    votes: dict[str, Counter[Rule]] = {}
    for form in usual:
        for ending in _endings(form, 1):
            if ending in endings:
                votes.setdefault(ending, Counter())[rules.get(form, WHOLE)] += 1
    found: dict[str, Rule] = {}
    for ending in sorted(votes, key=len):  # an ending is of use if it says something else than the next shorter one
        rule, count = votes[ending].most_common(1)[0]
        if 2 * count <= votes[ending].total() or count < LEAST:
            continue
        shorter = next((found[part] for at in range(1, len(ending)) if (part := ending[at:]) in found), WHOLE)
        if rule != shorter and ending.endswith(rule[0]):
            found[ending] = rule
    # a token with one word is only listed if a rule would split it
    by_rules = MultiwordRules({"": ""}, found)
    known = {token: words for token, words in usual.items() if words or len(by_rules.split(token)) > 1}
    return MultiwordRules(known, found)


def _common_prefix(one: str, other: str) -> int:
    """Return how many characters two strings begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _endings(token: str, least: int) -> list[str]:
    """Return the endings of a token, shorter than it."""
    return [token[-size:] for size in range(least, min(LONGEST_ENDING, len(token) - 1) + 1)]


def _rule(token: str, words: str) -> Rule:
    """Return what is replaced at the end of the token; WHOLE if no character before it stays, or none is replaced.

    >>> _rule("kim's", "kim 's"), _rule("zum", "zu dem"), _rule("du", "de le")
    (("'s", " 's"), ('m', ' dem'), ('u', 'e le'))
    """
    same = _common_prefix(token, words)
    return (token[same:], words[same:]) if 0 < same < len(token) else WHOLE


def _like(token: str, words: list[str]) -> list[str]:
    """Return words in the case of a token: as its characters where they are the same, and capitals as in it."""
    if "".join(words) == token.lower():
        cut, at = [], 0
        for word in words:
            cut.append(token[at : at + len(word)])
            at += len(word)
        return cut
    if len(token) > 1 and token.isupper():
        return [word.upper() for word in words]
    if token[0].isupper():
        return [words[0][:1].upper() + words[0][1:], *words[1:]]
    return words
