"""Prepare the gold tags for training, with the user's options about labels.

These are: which tags are missing, how much each token counts, in which scheme the labels are learned, and which
taggings are forbidden.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sapo.corpus.files import check_utf8, read_chunks, show_path
from sapo.errors import DataError, ModelError, OptionError, check_limit, current_limits
from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Floats, Ints, Longs
from sapo.learn.samples import importance_of_tokens
from sapo.learn.settings import AUTO
from sapo.tagger.model import Model, shown_places
from sapo.tags.constraints import EXAMPLE, Constraints, bans_of, find_constraints
from sapo.tags.labels import LearnedLabels, learn_as, open_missing
from sapo.tags.recognition import recognize, transition_counts
from sapo.tags.schemes import TABLE, notation_of, prefixed
from sapo.training.plan import LabelOptions

# Types that are learned as BIOES, and how many more if at least this share of the tokens is outside of all spans:
# there it gains up to 0.95 F1, and less for phrases, which take as much longer (docs/explanation/defaults.md)
FEW_TYPES, MOST_TYPES, OUTSIDE = 7, 48, 0.25


def read_rules(path: str | Path) -> list[str]:
    """Return the rules of a file, which has one per line, and comments after #.

    Raises SapoError if the file has no rules or cannot be read.
    """
    name, pieces, size = show_path(path), [], 0
    for chunk in read_chunks(path):
        pieces.append(chunk)
        size += len(chunk)
        check_limit("rules", size, name, "bytes of rules")
    data = b"".join(pieces)
    check_utf8(data, name, 1)
    lines = data.decode("utf-8").splitlines()
    found = [rule for rule in (re.sub(r"(^|\s)#.*", "", line).strip() for line in lines) if rule]
    if not found:
        raise DataError(f"{name}: contains no rule; {EXAMPLE}")
    return found


@dataclass(frozen=True, slots=True)
class Gold:
    """Training sentences with the labels to learn and their constraints."""

    labels: list[str]  # the labels that are learned
    outer: list[str]  # the labels that are shown
    shown: tuple[str, ...]  # the name that each learned label is shown by; empty if all are shown as learned
    corpus: EncodedCorpus
    constraints: Constraints
    bans: Floats
    notes: list[str]  # messages for the user

    @property
    def shown_places(self) -> Ints | None:
        """The index in `outer` of each learned label, or None if the two are the same."""
        return shown_places(self.shown, self.outer)


def make_gold(labels: Sequence[str], corpus: EncodedCorpus, options: LabelOptions) -> Gold:
    """Return the gold tags to learn.

    The gold tags of `corpus` are indices in `labels`, which may contain marks of missing tags. Raises SapoError if the
    options do not fit the data.
    """
    what = "training data"
    check_number(labels, what)
    outer, gold = open_missing(labels, corpus.gold, options.marks, what)
    importance = _importance(outer, gold, corpus, options.sample_weight, options.class_weight)
    learned, shown = list(outer), tuple[str, ...]()
    allowed = corpus.allowed
    notes: list[str] = []
    scheme, automatic = options.scheme, options.scheme == AUTO
    if scheme is not None:
        counts = transition_counts(gold, corpus.offsets, len(outer))
        scheme = scheme_to_learn(outer, counts, options)
    if scheme is not None:
        inner, notes = _in_scheme(scheme, outer, gold, corpus, complete=automatic)
        learned, shown, gold, allowed = inner.labels, inner.shown, inner.gold, inner.allowed
        outer = list(dict.fromkeys([*(shown or learned), *outer]))
        check_number(learned, what)
    rules = options.rules
    constraints, bans, more = find_constraints(
        learned,
        gold,
        corpus.offsets,
        scheme=scheme,
        rules=read_rules(rules) if isinstance(rules, str | Path) else list(rules),
        on=options.constraints,
        shown=shown,
        allowed=allowed,
    )
    corpus = dataclasses.replace(corpus, gold=gold, importance=importance, allowed=allowed)
    return Gold(learned, outer, shown, corpus, constraints, bans, [*notes, *more])


def check_number(labels: Sequence[str], what: str) -> None:
    """Raise SapoError if there are more labels than the limit."""
    if len(labels) > current_limits().labels:
        raise DataError(
            f"{what}: {len(labels):,} labels are more than {current_limits().labels:,}; is it the right column? "
            f"Name it with `label`, or use `allow_limits(labels={len(labels)})`"
        )


def _importance(
    labels: Sequence[str],
    gold: Ints,
    corpus: EncodedCorpus,
    sample_weight: Sequence[float] | None,
    class_weight: Mapping[str, float] | str | None,
) -> Floats:
    """Return how much each token counts; an empty array if no weights were given."""
    if sample_weight is None and class_weight is None:
        return corpus.importance
    return importance_of_tokens(labels, gold, corpus.offsets, sample_weight=sample_weight, class_weight=class_weight)


def scheme_to_learn(labels: Sequence[str], counts: Longs, options: LabelOptions) -> str | None:
    """Return the scheme to learn the labels in; None if they are learned as they are.

    `counts` are those of the transitions between the labels. Raises SapoError if the user names a scheme that the
    labels cannot be learned in.
    """
    scheme = options.scheme
    if scheme == AUTO:
        return _best_scheme(labels, counts) if options.constraints else None
    if scheme is None:
        return None
    if not options.constraints:
        raise OptionError("a scheme needs constraints: without them, the output cannot be converted back")
    found = recognize(labels, counts)
    if found is None or (found[0] != "iob2" and not (found[0] == scheme and not found[1].any())):
        actual = f"is {found[0]}" if found else "follows no scheme"
        raise OptionError(
            f"scheme {scheme}: the training data must have IOB2 tags, and it {actual}; "
            "convert it first: sapo convert IN OUT --scheme iob2"
        )
    return scheme


def already_in(scheme: str, labels: Sequence[str], counts: Longs) -> bool:
    """Return whether the labels are in a scheme already, without a fault; never for IOB2."""
    found = recognize(labels, counts)
    return scheme != "iob2" and found is not None and found[0] == scheme and not found[1].any()


def _best_scheme(labels: Sequence[str], counts: Longs) -> str | None:
    """Return the scheme to learn the labels in if the user names none: BIOES, where the tags are IOB2 without a fault.

    This finds entities better (docs/explanation/defaults.md). But the time of a search grows with the square of the
    number of labels, so we do it only if there are few.
    """
    if not all(TABLE["iob2"].fits(label) for label in labels):
        return None
    found = recognize(labels, counts)
    if found is None or found[0] != "iob2" or found[1].any():
        return None
    types = sum(label.startswith("B-") for label in labels)
    tokens = counts[:-1].sum(axis=0)
    outside = tokens[list(labels).index("O")] / tokens.sum() if "O" in labels else 0.0
    return "bioes" if 0 < types <= (MOST_TYPES if outside >= OUTSIDE else FEW_TYPES) else None


def _in_scheme(
    scheme: str, labels: list[str], gold: Ints, corpus: EncodedCorpus, *, complete: bool
) -> tuple[LearnedLabels, list[str]]:
    if already_in(scheme, labels, transition_counts(gold, corpus.offsets, len(labels))):
        return LearnedLabels(labels, gold, (), 0, corpus.allowed), []
    inner = learn_as(scheme, labels, gold, corpus.offsets, complete=complete)
    return inner, mended_notes(inner.mended)


def mended_notes(mended: int) -> list[str]:
    """Return the note about spans that begin with I-, if there are any."""
    if not mended:
        return []
    spans = f"{mended} spans begin" if mended > 1 else "1 span begins"
    return [f"{spans} with I- in the training data and {'are' if mended > 1 else 'is'} learned as B-"]


def grown_gold(
    model: Model,
    labels: Sequence[str],
    corpus: EncodedCorpus,
    marks: Sequence[str],
    *,
    sample_weight: Sequence[float] | None = None,
    class_weight: Mapping[str, float] | str | None = None,
) -> Gold:
    """Return the gold tags of new sentences for a model that is trained already.

    `labels` begins with the labels that the model shows. The model's scheme and rules apply to new labels as well;
    transitions that occur in the new sentences are allowed even if the scheme forbids them. Raises SapoError if a label
    does not fit the scheme.
    """
    what = "new data"
    check_number(labels, what)
    known, kept = list(model.labels), model.constraints
    for mark in marks:
        if mark in model.outer_labels:
            raise DataError(
                f"{what}: '{mark}' is a label of the model and cannot mark a missing tag; choose another mark"
            )
    outer, gold = open_missing(labels, corpus.gold, marks, what)
    importance = _importance(outer, gold, corpus, sample_weight, class_weight)
    learned, shown, allowed = list(outer), tuple[str, ...](), corpus.allowed
    if model.shown:
        if kept.scheme is None:  # no training makes such a model
            raise ModelError(
                "this model shows labels in another form without a tag scheme; it cannot learn new sentences"
            )
        inner = learn_as(kept.scheme, outer, gold, corpus.offsets, known=known)
        learned, shown, gold, allowed = inner.labels, inner.shown, inner.gold, inner.allowed
        check_number(learned, what)
    constraints = kept
    if kept != Constraints():
        scheme = kept.scheme
        notation = notation_of(known)
        for label in learned:
            if scheme and not TABLE[scheme].fits(prefixed(label, notation)):
                raise DataError(f"{what}: label '{label}' does not fit the model's {scheme.upper()} scheme")
        constraints, _, _ = find_constraints(
            learned,
            gold,
            corpus.offsets,
            scheme=scheme,
            rules=kept.rules,
            on=scheme is not None,
            shown=shown,
            allowed=allowed,
            what=what,
        )
        exceptions = tuple(dict.fromkeys([*kept.exceptions, *constraints.exceptions]))
        constraints = dataclasses.replace(constraints, exceptions=exceptions)
    bans = bans_of(constraints, learned, shown)
    if kept == Constraints():  # keep bans that were set by hand
        old, size = model.parameters.bans, len(known)
        bans[:size, :size], bans[-2:, :size] = old[:size], old[size:]
    corpus = dataclasses.replace(corpus, gold=gold, importance=importance, allowed=allowed)
    return Gold(learned, outer, shown, corpus, constraints, bans, [])
