"""Score taggings: tokens, sentences, spans or morphology, and the table that conlleval prints."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapo.errors import DataError
from sapo.tags.labels import read_morphology
from sapo.tags.recognition import strict_scheme
from sapo.tags.schemes import UNTYPED, LabelKinds, label_kinds, looks_like_spans
from sapo.tags.spans import Spans, read_spans


@dataclass(frozen=True, slots=True)
class SpanCounts:
    """Numbers of spans: in gold, found, and correct (same borders and same type).

    Scores are fractions, and 0 if there is nothing to divide by.

    >>> counts = SpanCounts(gold=4, found=2, correct=1)
    >>> counts.precision, counts.recall, round(counts.f1, 3)
    (0.5, 0.25, 0.333)
    """

    gold: int
    found: int
    correct: int

    @property
    def precision(self) -> float:
        """The share of the found spans that are correct."""
        return fraction(self.correct, self.found)

    @property
    def recall(self) -> float:
        """The share of the gold spans that were found."""
        return fraction(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return fraction(2 * self.correct, self.gold + self.found)


@dataclass(frozen=True, slots=True)
class FeatureCounts(SpanCounts):
    """The same for the values of one key, such as Case. A value is correct if gold has the same."""

    tokens: int  # that have the key in gold or in the prediction


def fraction(part: int, whole: int) -> float:
    """Return part / whole, and 0 if the whole is 0."""
    return part / whole if whole else 0.0


def correct_spans(kinds: LabelKinds, gold: Spans, found: Spans, tokens: int) -> NDArray[np.bool_]:
    """Return for each found span whether gold has it, too, with the same borders and the same type.

    >>> from sapo.tags.schemes import label_kinds
    >>> from sapo.tags.spans import read_spans
    >>> kinds, offsets = label_kinds(["O", "B-NP", "I-NP"]), np.array([0, 3])
    >>> gold, found = (read_spans(kinds, np.array(tags, np.int32), offsets) for tags in ([1, 2, 1], [1, 1, 1]))
    >>> correct_spans(kinds, gold, found, 3).tolist()
    [False, False, True]
    """
    # at most one span begins at a token: write what begins there as one number, 0 for nothing, and compare
    types = len(kinds.type_names)
    gold_at = np.zeros(tokens, dtype=np.int64)
    gold_at[gold.starts] = gold.ends * types + gold.types
    correct: NDArray[np.bool_] = gold_at[found.starts] == found.ends * types + found.types
    return correct


def count_features(
    labels: Sequence[str], gold: NDArray[np.int32], predicted: NDArray[np.int32]
) -> dict[str, FeatureCounts]:
    """Return the counts of each key that a token has; the part of speech comes first. Empty for other labels.

    >>> labels = ["NOUN|Case=Nom|Number=Sing", "NOUN|Case=Acc", "ADV|_"]
    >>> counts = count_features(labels, np.array([0, 1, 2], np.int32), np.array([0, 0, 2], np.int32))
    >>> list(counts), counts["Number"], counts["Case"].f1
    (['upos', 'Case', 'Number'], FeatureCounts(gold=1, found=2, correct=1, tokens=2), 0.5)
    """
    values = read_morphology(labels)
    if values is None:
        return {}
    # many tokens have the same two labels: look at each such pair once
    pairs, tokens = np.unique(gold.astype(np.int64) * len(labels) + predicted, return_counts=True)
    counts: dict[str, list[int]] = {}
    for pair, times in zip(pairs.tolist(), tokens.tolist(), strict=True):
        right, found = (values[label] for label in divmod(pair, len(labels)))
        for key in right.keys() | found.keys():
            count = counts.setdefault(key, [0, 0, 0, 0])
            count[0] += times * (key in right)
            count[1] += times * (key in found)
            count[2] += times * (right.get(key) == found.get(key))
            count[3] += times
    return {key: FeatureCounts(*counts[key]) for key in sorted(counts, key=_order)}


def _order(key: str) -> tuple[bool, str, str]:
    return key not in ("upos", "pos"), key.lower(), key


@dataclass(frozen=True, slots=True)
class Scores:
    """All counts of one evaluation. As text it is the table that `sapo eval` prints, in a notebook a table, too.

    `overall` is None and `types` is empty if the labels do not mark spans; `features` is empty if they do not hold
    morphology, such as Case=Nom|Number=Sing or NOUN|Case=Nom.

    >>> scores = Scores(10, 2, 9, 1, SpanCounts(3, 4, 2), {"NP": SpanCounts(3, 4, 2)}, False)
    >>> scores.precision, round(scores.f1, 3), scores.accuracy
    (0.5, 0.571, 0.9)
    >>> print(scores)
    processed 10 tokens with 3 phrases; found: 4 phrases; correct: 2.
    accuracy:  90.00%; precision:  50.00%; recall:  66.67%; FB1:  57.14
                   NP: precision:  50.00%; recall:  66.67%; FB1:  57.14  4
    sapo: sentence accuracy:  50.00% (1 of 2 sentences have no wrong tag)
    """

    tokens: int
    sentences: int
    correct_tokens: int
    correct_sentences: int  # with no wrong token
    overall: SpanCounts | None
    types: Mapping[str, SpanCounts]  # sorted by name, only types that gold has or that were found
    strict: bool  # whether only well-formed spans were counted
    features: Mapping[str, FeatureCounts] = field(default_factory=dict)  # by key: the part of speech, then by name
    scheme: str | None = None  # the one that well-formed spans were read by

    @property
    def accuracy(self) -> float:
        """The share of tokens with the gold tag."""
        return fraction(self.correct_tokens, self.tokens)

    @property
    def precision(self) -> float:
        """The share of the found spans that are correct; the accuracy if labels do not mark spans."""
        return self.accuracy if self.overall is None else self.overall.precision

    @property
    def recall(self) -> float:
        """The share of the gold spans that were found; the accuracy if labels do not mark spans."""
        return self.accuracy if self.overall is None else self.overall.recall

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; the accuracy if labels do not mark spans."""
        return self.accuracy if self.overall is None else self.overall.f1

    @property
    def sentence_accuracy(self) -> float:
        """The share of sentences in which all tags are gold tags."""
        return fraction(self.correct_sentences, self.sentences)

    @property
    def main(self) -> tuple[str, float]:
        """The main score: F1 of spans, or else token accuracy."""
        return ("accuracy", self.accuracy) if self.overall is None else ("F1", self.overall.f1)

    @property
    def events(self) -> int:
        """The number of things that the main score counts: gold spans, or else tokens."""
        return self.tokens if self.overall is None else self.overall.gold

    @property
    def error(self) -> float:
        """The standard error of the main score, roughly: as if each event were right or wrong by itself.

        >>> gold, found = np.zeros(100, np.int32), np.arange(100, dtype=np.int32) % 2
        >>> scores = score(["DT", "NN"], gold, found, np.array([0, 100]))
        >>> scores.main, scores.error
        (('accuracy', 0.5), 0.05)
        """
        value = self.main[1]
        return math.sqrt(value * (1 - value) / max(1, self.events))

    def __str__(self) -> str:
        """Return the output of conlleval, letter for letter, and further lines of sapo; without spans, a short table.

        Morphology gets a line for each key.

        >>> print(Scores(10, 2, 9, 1, None, {}, False, {"Case": FeatureCounts(7, 8, 6, 8)}))
        processed 10 tokens in 2 sentences.
        token accuracy:     90.00% (9 of 10)
        sentence accuracy:  50.00% (1 of 2)
        by key, with the number of tokens that have it in gold or prediction:
                     Case: precision:  75.00%; recall:  85.71%; FB1:  80.00  8
        """
        token_accuracy = _percent(self.correct_tokens, self.tokens)
        sentence_accuracy = _percent(self.correct_sentences, self.sentences)
        whole_sentences = f"{self.correct_sentences} of {self.sentences}"
        lines = []
        if self.overall is None:
            lines.append(f"processed {self.tokens} tokens in {self.sentences} sentences.")
            lines.append(f"token accuracy:    {token_accuracy:6.2f}% ({self.correct_tokens} of {self.tokens})")
            lines.append(f"sentence accuracy: {sentence_accuracy:6.2f}% ({whole_sentences})")
            if self.features:
                lines.append("by key, with the number of tokens that have it in gold or prediction:")
            lines += [f"{key:>17}: {_span_scores(counts)}  {counts.tokens}" for key, counts in self.features.items()]
            return "\n".join(lines)

        gold, found, correct = self.overall.gold, self.overall.found, self.overall.correct
        lines.append(f"processed {self.tokens} tokens with {gold} phrases; found: {found} phrases; correct: {correct}.")
        if self.tokens:  # conlleval leaves the line out for an empty file
            lines.append(f"accuracy: {token_accuracy:6.2f}%; {_span_scores(self.overall)}")
        named = sorted((name, counts) for name, counts in self.types.items() if name != UNTYPED)  # that is all spans
        lines += [f"{name:>17}: {_span_scores(counts)}  {counts.found}" for name, counts in named]
        lines.append(
            f"sapo: sentence accuracy: {sentence_accuracy:6.2f}% ({whole_sentences} sentences have no wrong tag)"
        )
        if self.strict:
            by = f" by {self.scheme}, the scheme of the gold tags" if self.scheme else ""
            lines.append(f"sapo: strict{by}: only well-formed spans are counted; conlleval counts the others too")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return counts and fractions under fixed keys, ready for json.dumps.

        `features` is there only for labels that hold them, and `scheme` only if spans were read strictly.

        >>> Scores(10, 2, 9, 1, None, {}, False).as_dict()["main"]
        {'name': 'accuracy', 'value': 0.9}
        """
        name, value = self.main
        return {
            "main": {"name": name, "value": value},
            "tokens": self.tokens,
            "correct_tokens": self.correct_tokens,
            "token_accuracy": self.accuracy,
            "sentences": self.sentences,
            "correct_sentences": self.correct_sentences,
            "sentence_accuracy": self.sentence_accuracy,
            "strict": self.strict,
            **({"scheme": self.scheme} if self.scheme else {}),
            "overall": None if self.overall is None else _span_dict(self.overall),
            "types": {name: _span_dict(counts) for name, counts in self.types.items()},
            **({"features": _feature_dicts(self.features)} if self.features else {}),
        }

    def _repr_html_(self) -> str:
        """Return a table for notebooks: a row for all spans and one for each type, or the accuracies."""
        counts = {"all": self.overall, **self.types} if self.overall else dict(self.features)
        heads = ["", "precision", "recall", "F1", "gold", "found", "correct"] if counts else []
        rows = [
            [escape(name), *(f"{100 * share:.2f}" for share in (one.precision, one.recall, one.f1))]
            + [f"{number:,}" for number in (one.gold, one.found, one.correct)]
            for name, one in counts.items()
            if one is not None and name != UNTYPED
        ]
        cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        head = f"<tr>{''.join(f'<th>{name}</th>' for name in heads)}</tr>"
        accuracies = (
            f"token accuracy {100 * self.accuracy:.2f} % ({self.correct_tokens:,} of {self.tokens:,}), "
            f"sentence accuracy {100 * self.sentence_accuracy:.2f} % ({self.correct_sentences:,} of {self.sentences:,})"
        )
        return f"<table><caption>{accuracies}</caption>{head}{cells}</table>"


def score(
    labels: Sequence[str],
    gold: NDArray[np.int32],
    predicted: NDArray[np.int32],
    offsets: NDArray[np.int64],
    *,
    strict: bool = False,
) -> Scores:
    """Compare predicted with gold tags.

    Tags are places in `labels`, sentence after sentence; sentence s is gold[offsets[s]:offsets[s + 1]]. Gold may
    have labels that are never predicted: `labels` names them all. `strict` counts only spans that are well-formed
    in the scheme of the gold tags (see `sapo.tags.strict_scheme`); it has no effect if labels do not mark spans.

    >>> labels = ["O", "B-NP", "I-NP", "B-VP"]
    >>> gold, predicted = np.array([1, 2, 3, 0, 1], dtype=np.int32), np.array([1, 2, 0, 0, 3], dtype=np.int32)
    >>> scores = score(labels, gold, predicted, np.array([0, 4, 5]))
    >>> scores.accuracy, scores.overall
    (0.6, SpanCounts(gold=3, found=2, correct=1))
    >>> scores.main
    ('F1', 0.4)
    """
    _check(labels, gold, predicted, offsets)
    wrong = gold != predicted
    wrong_so_far = np.append(0, np.cumsum(wrong))
    correct_sentences = np.count_nonzero(wrong_so_far[offsets[1:]] == wrong_so_far[offsets[:-1]])

    with_spans = looks_like_spans(labels) or set(labels) == {"O"}  # a file in which no span was found or marked
    types: dict[str, SpanCounts] = {}
    scheme = None
    if with_spans:
        kinds = label_kinds(labels)
        if strict:
            kinds = replace(kinds, scheme=strict_scheme(labels, gold, offsets) or kinds.scheme)
            scheme = kinds.scheme.name
        gold_spans = read_spans(kinds, gold, offsets, strict=strict)
        found_spans = read_spans(kinds, predicted, offsets, strict=strict)
        types = _count_by_type(kinds, gold_spans, found_spans, len(gold))
    return Scores(
        tokens=len(gold),
        sentences=len(offsets) - 1,
        correct_tokens=len(gold) - int(wrong_so_far[-1]),
        correct_sentences=int(correct_sentences),
        overall=_sum(types) if with_spans else None,
        types=types,
        strict=strict and with_spans,
        scheme=scheme,
        features=count_features(labels, gold, predicted),
    )


def score_tags(y_true: Sequence[Sequence[str]], y_pred: Sequence[Sequence[str]], *, strict: bool = False) -> Scores:
    """Compare lists of predicted tags with lists of gold tags, sentence by sentence.

    >>> scores = score_tags([["B-PER", "I-PER", "O"], ["O"]], [["B-PER", "I-PER", "O"], ["B-PER"]])
    >>> scores.f1, scores.accuracy
    (0.6666666666666666, 0.75)
    """
    if len(y_true) != len(y_pred):
        raise DataError(f"score_tags: {len(y_true)} gold sentences but {len(y_pred)} predicted ones; give one for each")
    for number, (gold, found) in enumerate(zip(y_true, y_pred, strict=True), 1):
        if isinstance(gold, str) or isinstance(found, str):
            raise DataError(f"score_tags: sentence {number} is a string; give a list of tags for each sentence")
        if len(gold) != len(found):
            raise DataError(f"score_tags: sentence {number} has {len(gold)} gold tags but {len(found)} predicted ones")
    places: dict[str, int] = {}
    numbers = [
        np.array([places.setdefault(str(tag), len(places)) for tags in sentences for tag in tags], np.int32)
        for sentences in (y_true, y_pred)
    ]
    offsets = np.cumsum([0, *map(len, y_true)])
    return score(list(places), numbers[0], numbers[1], offsets, strict=strict)


def _count_by_type(kinds: LabelKinds, gold: Spans, found: Spans, tokens: int) -> dict[str, SpanCounts]:
    names = kinds.type_names
    correct = correct_spans(kinds, gold, found, tokens)
    columns = [np.bincount(t, minlength=len(names)).tolist() for t in (gold.types, found.types, found.types[correct])]
    counts = {name: SpanCounts(*row) for name, *row in zip(names, *columns, strict=True)}
    return {name: counts[name] for name in sorted(names) if counts[name].gold or counts[name].found}


def _sum(types: Mapping[str, SpanCounts]) -> SpanCounts:
    return SpanCounts(
        gold=sum(counts.gold for counts in types.values()),
        found=sum(counts.found for counts in types.values()),
        correct=sum(counts.correct for counts in types.values()),
    )


def _check(
    labels: Sequence[str], gold: NDArray[np.int32], predicted: NDArray[np.int32], offsets: NDArray[np.int64]
) -> None:
    if len(gold) != len(predicted):
        raise DataError(
            f"score: gold has {len(gold)} tokens, predicted has {len(predicted)}; both must tag the same tokens"
        )
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(gold) or np.any(offsets[1:] < offsets[:-1]):
        ends = f"{offsets[0]} to {offsets[-1]}" if len(offsets) else "none"
        raise DataError(
            f"score: offsets must rise from 0 to the number of tokens, {len(gold)}, found {ends}; "
            "give the start of every sentence and the end of the last"
        )
    for name, tags in (("gold", gold), ("predicted", predicted)):
        if len(tags) and not 0 <= tags.min() <= tags.max() < len(labels):
            raise DataError(
                f"score: {name} tags must be places in the {len(labels)} labels, found {tags.min()} to {tags.max()}; "
                "add the missing labels to the list"
            )


def text_table(rows: Sequence[Sequence[str]], left: Collection[int] = (0,), gap: str = "  ") -> list[str]:
    """Return a line for each row, with the columns `left` aligned to the left and the others to the right.

    >>> text_table([["", "F1"], ["new", "90.1"], ["old", "8.0"]])
    ['       F1', 'new  90.1', 'old   8.0']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        gap.join(
            cell.ljust(width) if at in left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _span_scores(counts: SpanCounts) -> str:
    # F1 from percentages, as conlleval computes it: from fractions the last digit printed could differ
    precision = _percent(counts.correct, counts.found)
    recall = _percent(counts.correct, counts.gold)
    f1 = 2 * precision * recall / (precision + recall) if counts.correct else 0.0
    return f"precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}"


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _span_dict(counts: SpanCounts) -> dict[str, object]:
    return {name: getattr(counts, name) for name in ("gold", "found", "correct", "precision", "recall", "f1")}


def _feature_dicts(features: Mapping[str, FeatureCounts]) -> dict[str, object]:
    return {key: {"tokens": counts.tokens, **_span_dict(counts)} for key, counts in features.items()}
