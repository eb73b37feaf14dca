"""Find what a model gets wrong in a labeled file, and compare models with other systems.

A mistake is a wrong token, or a wrong span: a gold span with the found one that overlaps it most, or one alone. A doubt
is the token of a sentence that the model is least sure of, whether it is right or wrong.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.blocks import LABEL, Block
from sapo.corpus.files import is_model
from sapo.errors import DataError
from sapo.evaluate.comparison import Comparison
from sapo.evaluate.files import compare_files
from sapo.evaluate.scores import Scores, score
from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Doubles
from sapo.search.marginals import span_reading
from sapo.tagger.decoding import best_tags, each_block, encoded_blocks, label_names, marginal, sentence_distribution
from sapo.tagger.files import check_no_missing, check_same_task, read_blocks
from sapo.tagger.model import Model
from sapo.tagger.tagger import Tagger
from sapo.tags.schemes import looks_like_spans
from sapo.tags.spans import Span, loose_spans, type_of

MISSED, EXTRA, TYPE, BORDER, BOTH, WRONG_LABEL = "missed", "extra", "type", "border", "border and type", "label"
KINDS = {  # in the order in which they are shown
    MISSED: "spans that the model does not find",
    EXTRA: "spans that are not in the gold tags",
    TYPE: "the right words with the wrong type",
    BORDER: "the right type with the wrong words",
    BOTH: "overlapping words with another type",
    WRONG_LABEL: "tokens with the wrong label",
}
NOTHING = "-"  # the type of a missing span
SURE = 0.9  # if the model is so sure of its tag, and gives less than UNLIKELY to gold, gold may be wrong
UNLIKELY = 0.05
KEPT = 100  # doubts


@dataclass(frozen=True, slots=True)
class Mistake:
    """A span or a token that the model gets wrong. Tokens are counted from 0 in the sentence."""

    kind: str
    file: str
    line: int
    words: tuple[str, ...]  # of the sentence
    gold: Span | None  # for a token, a span of one token with the label as its type
    found: Span | None
    gold_probability: float = 0.0  # of the gold span, by the model; 0 if there is none
    found_probability: float = 0.0

    @property
    def gold_type(self) -> str:
        """The type or label in the gold tags."""
        return self.gold.type if self.gold else NOTHING

    @property
    def found_type(self) -> str:
        """The type or label that the model finds."""
        return self.found.type if self.found else NOTHING

    @property
    def start(self) -> int:
        """The first token of the mistake."""
        return min(span.start for span in (self.gold, self.found) if span)

    @property
    def end(self) -> int:
        """The token after the mistake."""
        return max(span.end for span in (self.gold, self.found) if span)

    def as_dict(self) -> dict[str, Any]:
        """Return the mistake for programs."""
        return {
            "kind": self.kind,
            "file": self.file,
            "line": self.line,
            "words": list(self.words),
            "gold": _span_dict(self.gold, self.gold_probability),
            "found": _span_dict(self.found, self.found_probability),
        }


def _span_dict(span: Span | None, probability: float) -> dict[str, Any] | None:
    if span is None:
        return None
    return {"start": span.start, "end": span.end, "label": span.type, "probability": round(probability, 6)}


def paired_spans(gold: Sequence[str], found: Sequence[str]) -> Iterator[tuple[Span | None, Span | None]]:
    """Yield the wrong spans of a sentence: each gold span with the found one that overlaps it most, or one alone.

    >>> list(paired_spans(["B-X", "I-X", "O", "B-Y"], ["B-X", "O", "B-Z", "O"]))[0]
    (Span(start=0, end=2, type='X'), Span(start=0, end=1, type='X'))
    """
    right, wrong = loose_spans(gold), loose_spans(found)
    missing = [span for span in right if span not in wrong]
    extra = [span for span in wrong if span not in right]
    for span in missing:
        rival = max(extra, key=lambda other: _overlap(span, other), default=None)
        if rival is not None and _overlap(span, rival) > 0:
            extra.remove(rival)
            yield span, rival
        else:
            yield span, None
    for span in extra:
        yield None, span


def paired_tokens(gold: Sequence[str], found: Sequence[str]) -> Iterator[tuple[Span, Span]]:
    """Yield the wrong tokens of a sentence, as spans of one token.

    >>> list(paired_tokens(["DT", "NN"], ["DT", "VB"]))
    [(Span(start=1, end=2, type='NN'), Span(start=1, end=2, type='VB'))]
    """
    for place, (right, wrong) in enumerate(zip(gold, found, strict=True)):
        if right != wrong:
            yield Span(place, place + 1, right), Span(place, place + 1, wrong)


def kind_of(gold: Span | None, found: Span | None) -> str:
    """Return what is wrong with a span.

    >>> kind_of(Span(0, 2, "PER"), Span(0, 1, "PER")), kind_of(None, Span(0, 1, "PER"))
    ('border', 'extra')
    """
    if found is None or gold is None:
        return MISSED if found is None else EXTRA
    same_words, same_type = (gold.start, gold.end) == (found.start, found.end), gold.type == found.type
    return TYPE if same_words else BORDER if same_type else BOTH


def _overlap(a: Span, b: Span) -> int:
    return min(a.end, b.end) - max(a.start, b.start)


@dataclass(frozen=True, slots=True)
class Doubt:
    """The token of a sentence that the model is least sure of."""

    file: str
    line: int
    words: tuple[str, ...]
    token: int
    gold: str
    found: str
    probability: float  # of the found label
    rival: str  # the second label
    rival_probability: float

    def as_dict(self) -> dict[str, Any]:
        """Return the doubt for programs."""
        return {
            **asdict(self),
            "words": list(self.words),
            "probability": round(self.probability, 6),
            "rival_probability": round(self.rival_probability, 6),
        }


@dataclass(frozen=True)
class ErrorReport:
    """What a model gets wrong in a file."""

    file: str
    scores: Scores
    mistakes: Sequence[Mistake]  # in the order of the file
    least_sure: Sequence[Doubt]  # at most one of each sentence, the least sure first

    @cached_property
    def by_kind(self) -> Counter[str]:
        """The number of mistakes of each kind."""
        return Counter(mistake.kind for mistake in self.mistakes)

    @cached_property
    def confusion(self) -> Counter[tuple[str, str]]:
        """How often a type or label of gold was confused with another one; '-' is no span."""
        return Counter(
            (mistake.gold_type, mistake.found_type)
            for mistake in self.mistakes
            if mistake.gold_type != mistake.found_type
        )

    @cached_property
    def suspects(self) -> list[Mistake]:
        """The mistakes in which the gold tags may be wrong: the model is sure of something else. The surest first."""
        sure = [
            mistake
            for mistake in self.mistakes
            if mistake.found and mistake.found_probability >= SURE and mistake.gold_probability <= UNLIKELY
        ]
        return sorted(sure, key=lambda mistake: -mistake.found_probability)

    def as_dict(self) -> dict[str, Any]:
        """Return the report for programs. Tokens count from 0."""
        return {
            "file": self.file,
            "scores": self.scores.as_dict(),
            "kinds": dict(self.by_kind.most_common()),
            "confusion": [
                {"gold": gold, "found": found, "count": count} for (gold, found), count in self.confusion.most_common()
            ],
            "mistakes": [mistake.as_dict() for mistake in self.mistakes],
            "least_sure": [doubt.as_dict() for doubt in self.least_sure],
            "suspects": [mistake.as_dict() for mistake in self.suspects],
        }


def find_errors(
    tagger: Tagger,
    path: str | Path,
    *,
    format: str | None = None,
    encoding: str | None = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
) -> ErrorReport:
    """Tag a labeled file, and return the mistakes. The file is read like the training file, unless options differ.

    Raises SapoError if the file cannot be read, or has other labels than the model.

    >>> import sapo
    >>> from sapo.corpus.sample import COLUMNS, sample_path
    >>> tagger = sapo.train(sample_path("train"), template="ner", columns=COLUMNS, label="entity", epochs=3)
    >>> report = find_errors(tagger, sample_path("test"))
    >>> len(report.mistakes) > 0, report.scores.main[0]
    (True, 'F1')
    """
    model = tagger.model
    mistakes, doubts = list[Mistake](), list[Doubt]()
    golds, founds, sizes = list[str](), list[str](), [0]
    blocks = read_blocks(tagger, path, labeled=True, format=format, encoding=encoding, label=label, columns=columns)
    for block, corpus in encoded_blocks(model, blocks):
        gold, found = block.strings(LABEL), label_names(model, best_tags(model, corpus))
        sentences = _Sentences(model, block, corpus, gold, found)
        mistakes += sentences.mistakes()
        doubts = heapq.nsmallest(KEPT, [*doubts, *sentences.doubts()], key=lambda doubt: doubt.probability)
        golds += gold
        founds += found
        sizes += np.diff(block.offsets).tolist()
    if len(sizes) == 1:
        raise DataError(f"{path}: has no sentences")
    check_no_missing(model, golds, path)
    check_same_task(model, sorted(set(golds)), path)
    return ErrorReport(str(path), _scores(model, golds, founds, sizes), mistakes, doubts)


def _scores(model: Model, gold: Sequence[str], found: Sequence[str], sizes: Sequence[int]) -> Scores:
    labels = list(dict.fromkeys([*model.outer_labels, *gold]))
    place = {label: number for number, label in enumerate(labels)}
    right, wrong = (np.array([place[tag] for tag in tags], np.int32) for tags in (gold, found))
    return score(labels, right, wrong, np.cumsum(sizes, dtype=np.int64))


def _words(block: Block) -> list[str]:
    """Return what to show of each token: its word, or else the first of its features."""
    names = [name for name in block.columns if name != LABEL]
    if names:
        return block.strings("word" if "word" in names else names[0])
    return [_first_feature(token) for sentence in block.features or () for token in sentence]


def _first_feature(token: Any) -> str:
    for name in token:
        value = token[name] if isinstance(token, Mapping) else None
        return f"{name}:{value}" if isinstance(value, str) else str(name)
    return ""


class _Sentences:
    """The sentences of a block with their gold and predicted tags."""

    def __init__(
        self, model: Model, block: Block, corpus: EncodedCorpus, gold: Sequence[str], found: Sequence[str]
    ) -> None:
        self.model, self.block, self.corpus, self.gold, self.found = model, block, corpus, gold, found
        self.words = _words(block)
        self.spans = looks_like_spans(model.outer_labels)
        self.bounds = list(pairwise(block.offsets.tolist()))
        names = map(type_of, model.outer_labels) if self.spans else model.outer_labels
        self.types = {name: place for place, name in enumerate(names)}  # of spans, or the labels themselves

    def line(self, token: int) -> int:
        """Return the line of a token of the block."""
        assert self.block.origin is not None
        sentence = int(np.searchsorted(self.block.offsets, token, side="right")) - 1
        return self.block.origin.line_of(token, sentence)

    def mistakes(self) -> Iterator[Mistake]:
        """Yield what is wrong, sentence by sentence."""
        for number, (begin, end) in enumerate(self.bounds):
            gold, found = self.gold[begin:end], self.found[begin:end]
            if gold == found:
                continue
            words = tuple(self.words[begin:end])
            pairs = list(paired_spans(gold, found) if self.spans else paired_tokens(gold, found))
            for (right, wrong), (p, q) in zip(pairs, self._probabilities(number, pairs), strict=True):
                kind = kind_of(right, wrong) if self.spans else WRONG_LABEL
                first = begin + min(span.start for span in (right, wrong) if span)
                yield Mistake(kind, self.block.name, self.line(first), words, right, wrong, p, q)

    def _probabilities(
        self, number: int, pairs: Sequence[tuple[Span | None, Span | None]]
    ) -> list[tuple[float, float]]:
        """Return the probability of each gold span and of each found one; 0 for what the model does not know."""
        flat = [span for pair in pairs for span in pair]
        known = [span for span in flat if span is not None and span.type in self.types]
        if self.spans:
            distribution = sentence_distribution(self.model, self.corpus, number, exact=True)
            values = distribution.span_probabilities(span_reading(self.model.labels), known).tolist()
        else:
            marginals = marginal(self.model, self.corpus, number)
            values = [float(marginals[span.start, self.types[span.type]]) for span in known]
        each = iter(values)
        filled = [next(each) if span is not None and span.type in self.types else 0.0 for span in flat]
        return list(zip(filled[::2], filled[1::2], strict=True))

    def doubts(self) -> Iterator[Doubt]:
        """Yield the token that the model is least sure of, for each sentence."""
        labels = self.model.outer_labels
        place = {label: at for at, label in enumerate(labels)}
        for number, (begin, end) in enumerate(self.bounds):
            if begin == end:
                continue
            marginals: Doubles = marginal(self.model, self.corpus, number)
            tags = np.array([place[tag] for tag in self.found[begin:end]])
            chances = marginals[np.arange(end - begin), tags]
            token = int(np.argmin(chances))
            others = marginals[token].copy()
            others[tags[token]] = -1.0
            rival = int(np.argmax(others))
            yield Doubt(
                self.block.name,
                self.line(begin + token),
                tuple(self.words[begin:end]),
                token,
                self.gold[begin + token],
                self.found[begin + token],
                float(chances[token]),
                labels[rival],
                max(0.0, float(others[rival])),
            )


def compare_systems(
    systems: Sequence[str | Path],
    gold: str | Path,
    *,
    column: str | None = None,
    gold_column: str | None = None,
    rounds: int = 10_000,
    seed: int = 0,
    watch: Callable[[int], None] | None = None,
) -> list[Comparison]:
    """Compare the first system with each of the others, as `compare_files` does. A system is a model or a tagged file.

    Raises SapoError if a file cannot be read, or has other sentences or labels.
    """
    if is_model(gold):
        raise DataError(f"{gold}: is a model; the gold file comes last: sapo compare A B GOLD")
    models = [system for system in systems if is_model(system)]
    if models and str(gold) == "-":
        raise DataError("models read the gold file more than once; save standard input to a file first, and give that")
    tagged: dict[str | Path, list[str]] = {}
    right: list[str] | None = None
    for model in models:
        tagged[model], found = _tags(Tagger.load(model), gold, gold_column)
        right = found if right is None else right
    # the label of a model need not be in the last column of gold
    known: Mapping[str | Path, Sequence[str]] = tagged if right is None else {**tagged, gold: right}
    return compare_files(
        systems, gold, column=column, gold_column=gold_column, known=known, rounds=rounds, seed=seed, watch=watch
    )


def _tags(tagger: Tagger, gold: str | Path, column: str | None) -> tuple[list[str], list[str]]:
    """Return the tags that a model finds in the gold file, and the gold tags."""
    found, right = list[str](), list[str]()
    blocks = read_blocks(tagger, gold, labeled=True, label=column)
    for block, tags in each_block(tagger, blocks, best_tags):
        found += label_names(tagger.model, tags)
        right += block.strings(LABEL)
    check_no_missing(tagger.model, right, gold)
    check_same_task(tagger.model, sorted(set(right)), gold)
    return found, right
