"""Decide what the labels of a sharded corpus are learned as, by counts that add up over its shards.

The result is that of `make_gold` (training/gold.py) for the whole corpus in memory, without missing tags.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.errors import SapoError
from sapo.kernels.types import Ints, Longs
from sapo.learn.settings import AUTO
from sapo.model.checks import check_constraints
from sapo.tags import TABLE, Constraints, bans_of, learn_as, transition_counts
from sapo.tags.constraints import broken_rules, constraints_of
from sapo.training.gold import Gold, already_in, check_number, mended_notes, scheme_to_learn
from sapo.training.plan import LabelOptions
from sapo.training.rules import read_rules

Tags = Callable[[], Iterator[tuple[Ints, Longs]]]  # the tags of each shard as they are read, and its offsets
WHAT = "training data"


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a sharded corpus, as a manifest keeps them."""

    read: list[str]  # in the order in which they come in the input
    learned: list[str]
    outer: list[str]  # as they are shown
    shown: tuple[str, ...]
    scheme: str | None  # that they are rewritten in; None if they are learned as they are
    constraints: Constraints
    notes: list[str]

    def as_json(self) -> dict[str, Any]:
        """Return the labels as JSON values."""
        values = {name: getattr(self, name) for name in ("read", "learned", "outer", "scheme", "notes")}
        return {**values, "shown": list(self.shown), "constraints": self.constraints.as_json()}

    @classmethod
    def from_json(cls, stored: Any) -> "Labels":
        """Return what `as_json` wrote. Raise KeyError, TypeError or ValueError if it makes no sense."""
        kept = {**stored, "shown": tuple(stored["shown"]), "constraints": Constraints.from_json(stored["constraints"])}
        labels = cls(**kept)
        names = [*labels.read, *labels.learned, *labels.outer, *labels.shown, *labels.notes]
        if not all(isinstance(name, str) for name in names) or len(labels.shown) not in (0, len(labels.learned)):
            raise ValueError("labels")
        if not labels.learned or len(set(labels.learned)) != len(labels.learned):
            raise ValueError("labels")
        if labels.outer != list(dict.fromkeys(labels.shown or labels.learned)):
            raise ValueError("labels")
        if labels.scheme is not None and labels.scheme not in TABLE:
            raise ValueError("scheme")
        check_constraints(labels.constraints, labels.learned, labels.shown)
        return labels

    def learn(self, gold: Ints, offsets: Longs) -> Ints:
        """Return the tags of a shard as they are learned."""
        if self.scheme is None:
            return gold
        return learn_as(self.scheme, self.read, gold, offsets, known=self.learned).gold

    def gold(self, sample: EncodedCorpus) -> Gold:
        """Return the labels with some sentences, as training takes them."""
        bans = bans_of(self.constraints, self.learned, self.shown)
        return Gold(self.learned, self.outer, self.shown, sample, self.constraints, bans, self.notes)


def decide_labels(labels: Sequence[str], tags: Tags, options: LabelOptions) -> Labels:
    """Decide what to learn. Raise SapoError if a tag is missing, or the options do not fit the data."""
    read = list(labels)
    check_number(read)
    for mark in set(read) & set(options.marks):
        raise SapoError(f"{WHAT}: some tags are missing ({mark!r}); --stream needs all of them")
    counts = _counts(tags, lambda gold, offsets: gold, len(read))
    scheme = scheme_to_learn(read, counts, options)
    learned, shown, notes = read, tuple[str, ...](), list[str]()
    if scheme is not None and not already_in(scheme, read, counts):
        learned, shown, mended = _learned(scheme, read, tags, complete=options.scheme == AUTO)
        notes = mended_notes(mended)
        rewritten = scheme
    else:
        rewritten = None
    outer = read if scheme is None else list(dict.fromkeys([*(shown or learned), *read]))
    found = Labels(read, learned, outer, shown, rewritten, Constraints(), [])
    if rewritten is not None:
        counts = _counts(tags, found.learn, len(learned))
    rules = read_rules(options.rules) if isinstance(options.rules, str | Path) else list(options.rules)
    constraints, bans, more = constraints_of(
        learned, counts, scheme=scheme, rules=rules, on=options.constraints, shown=shown
    )
    if counts[bans < 0].any():
        before = 0
        for gold, offsets in tags():
            inner = found.learn(gold, offsets)
            if transition_counts(inner, offsets, len(learned))[bans < 0].any():
                raise broken_rules(bans, constraints, inner, offsets, counts, f"{WHAT}: after {before:,} sentences")
            before += len(offsets) - 1
    return Labels(read, learned, outer, shown, rewritten, constraints, [*notes, *more])


def _counts(tags: Tags, learn: Callable[[Ints, Longs], Ints], labels: int) -> Longs:
    """Return how often each label follows each other one in the whole corpus."""
    total = np.zeros((labels + 2, labels), np.int64)
    for gold, offsets in tags():
        total += transition_counts(learn(gold, offsets), offsets, labels)
    return total


def _learned(scheme: str, read: list[str], tags: Tags, *, complete: bool) -> tuple[list[str], tuple[str, ...], int]:
    """Return the labels in a scheme in the order in which they come, how they are shown, and what was mended."""
    known: list[str] = []
    mended = 0
    for gold, offsets in tags():
        inner = learn_as(scheme, read, gold, offsets, known=known)
        known, mended = inner.labels, mended + inner.mended
    none = np.empty(0, np.int32)
    last = learn_as(scheme, read, none, np.zeros(1, np.int64), known=known, complete=complete)
    return last.labels, last.shown, mended
