"""Find lemmas by what was seen: the lemma of the same word with the same tags, or the rule of the longest ending.

A rule replaces the ending of a word: houses -> house is s -> nothing. Rules are chosen by UPOS and ending.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sapo.apps.ud.multiword import common_prefix
from sapo.tagger.edits import EditItem

LONGEST_ENDING = 8  # characters
MOST_ENTRIES = 2_000_000
Rule = tuple[int, str, bool]  # characters to cut off, what to add, and whether the word is put in lower case first
SAME: Rule = 0, "", False
Key = tuple[str, ...]


class LemmaRules:
    """Lemmas of words with their context, of which the first value is UPOS."""

    def __init__(self, known: Mapping[Key, str], endings: Mapping[Key, Rule]) -> None:
        self.known, self.endings = known, endings

    def predict_many(self, items: Iterable[EditItem]) -> list[str]:
        """Return the lemma of each word."""
        remembered: dict[tuple[str, Key], str] = {}
        found = []
        for item in items:
            key = item.form, item.context
            if key not in remembered:
                remembered[key] = self._lemma(*key)
            found.append(remembered[key])
        return found

    def _lemma(self, form: str, context: Key) -> str:
        for size in range(len(context), -1, -1):  # with all tags, with UPOS only, with none
            lemma = self.known.get((form, *context[:size]))
            if lemma is not None:
                return lemma
        lower = form.lower()
        for size in range(min(LONGEST_ENDING, len(form)), -1, -1):
            for depth in range(len(context), 0, -1):
                rule = self.endings.get((lower[len(lower) - size :], *context[:depth]))
                if rule is not None:
                    return _changed(form, rule) or form
        return form

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, object]]:
        """Return the tables for a file."""
        lines = ["\t".join([lemma, *key]) for key, lemma in sorted(self.known.items())]
        rules = [
            "\t".join([str(cut), new, "l" if low else "", *key])
            for key, (cut, new, low) in sorted(self.endings.items())
        ]
        return {
            name: np.frombuffer("\n".join(one).encode(), np.uint8)
            for name, one in (("known", lines), ("endings", rules))
        }, {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> "LemmaRules":
        """Return what `to_arrays` stored. Raise ValueError or KeyError if it is damaged."""
        lines = {name: arrays[name].tobytes().decode().split("\n") for name in ("known", "endings")}
        if max(map(len, lines.values())) > MOST_ENTRIES:
            raise ValueError("too many lemmas")
        known: dict[Key, str] = {}
        for line in filter(None, lines["known"]):
            lemma, *key = line.split("\t")
            known[tuple(key)] = lemma
        endings: dict[Key, Rule] = {}
        for line in filter(None, lines["endings"]):
            cut, new, low, *key = line.split("\t")
            if not 0 <= int(cut) <= LONGEST_ENDING + 1:
                raise ValueError("endings")
            endings[tuple(key)] = int(cut), new, low == "l"
        return cls(known, endings)


def learn_lemmas(items: Iterable[EditItem]) -> LemmaRules:
    """Learn from items with outputs."""
    seen: dict[Key, Counter[str]] = {}
    votes: dict[Key, Counter[Rule]] = {}
    for item in items:
        assert item.output is not None
        for depth in range(len(item.context) + 1):
            seen.setdefault((item.form, *item.context[:depth]), Counter())[item.output] += item.count
        rule = _rule(item.form, item.output)
        if rule is None:
            continue
        lower = item.form.lower()
        for size in range(min(LONGEST_ENDING, len(lower)) + 1):
            for depth in range(1, len(item.context) + 1):
                votes.setdefault((lower[len(lower) - size :], *item.context[:depth]), Counter())[rule] += 1
    known = {key: counts.most_common(1)[0][0] for key, counts in seen.items()}
    # with fewer tags, only what differs from nothing known is of use: all of it, since tags may be wrong
    return LemmaRules(known, {key: counts.most_common(1)[0][0] for key, counts in votes.items()})


def _rule(form: str, lemma: str) -> Rule | None:
    """Return how to make the lemma; None if the ending that changes is too long.

    >>> _rule("houses", "house"), _rule("The", "the"), _rule("went", "go")
    ((1, '', False), (0, '', True), (4, 'go', False))
    """
    low = form != form.lower() and lemma == lemma.lower()
    form = form.lower() if low else form
    same = common_prefix(form, lemma)
    cut = len(form) - same
    return (cut, lemma[same:], low) if cut <= LONGEST_ENDING else None


def _changed(form: str, rule: Rule) -> str:
    cut, new, low = rule
    form = form.lower() if low else form
    return form[: len(form) - cut] + new if cut <= len(form) else form
