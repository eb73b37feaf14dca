"""A model and a labelled file in, all that the model gets wrong out, with probabilities."""

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus import LABEL as LABEL_COLUMN
from sapo.corpus import Block
from sapo.encode.encoded import EncodedCorpus
from sapo.errors import SapoError
from sapo.evaluate import Scores
from sapo.evaluate import as_json as scores_json
from sapo.evaluate.scores import score
from sapo.kernels.types import Doubles
from sapo.model import Model
from sapo.review.mistakes import LABEL, Mistake, kind_of, paired_spans, paired_tokens
from sapo.search.probabilities import span_reading
from sapo.tagger import Tagger, decoding
from sapo.tagger.files import check_no_missing, check_same_task
from sapo.tagger.streams import encoded_blocks
from sapo.tags import Span, looks_like_spans, type_of

SURE = 0.9  # a model that is so sure of its tag, and gives less than UNLIKELY to gold, may be right
UNLIKELY = 0.05
KEPT = 100  # doubts


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
            "file": self.file,
            "line": self.line,
            "words": list(self.words),
            "token": self.token,
            "gold": self.gold,
            "found": self.found,
            "probability": round(self.probability, 6),
            "rival": self.rival,
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
        """How many mistakes of each kind there are."""
        return Counter(mistake.kind for mistake in self.mistakes)

    @cached_property
    def confusion(self) -> Counter[tuple[str, str]]:
        """How often a type or label of gold was taken for another one; '-' is no span."""
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
            "scores": scores_json(self.scores),
            "kinds": dict(self.by_kind.most_common()),
            "confusion": [
                {"gold": gold, "found": found, "count": count} for (gold, found), count in self.confusion.most_common()
            ],
            "mistakes": [mistake.as_dict() for mistake in self.mistakes],
            "least_sure": [doubt.as_dict() for doubt in self.least_sure],
            "suspects": [mistake.as_dict() for mistake in self.suspects],
        }


def find_errors(tagger: Tagger, path: str | Path, **reading: Any) -> ErrorReport:
    """Tag a labelled file, and return the mistakes. `reading` says how to read the file (format, label, columns).

    Raises SapoError if the file cannot be read, or does not belong to the model.

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
    for block, corpus in encoded_blocks(model, tagger.read_blocks(path, labelled=True, **reading)):
        gold, found = block.strings(LABEL_COLUMN), decoding.label_names(model, decoding.best_tags(model, corpus))
        sentences = _Sentences(model, block, corpus, gold, found)
        mistakes += sentences.mistakes()
        doubts = heapq.nsmallest(KEPT, [*doubts, *sentences.doubts()], key=lambda doubt: doubt.probability)
        golds += gold
        founds += found
        sizes += np.diff(block.offsets).tolist()
    if len(sizes) == 1:
        raise SapoError(f"{path}: has no sentences")
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
    names = [name for name in block.columns if name != LABEL_COLUMN]
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
                kind = kind_of(right, wrong) if self.spans else LABEL
                first = begin + min(span.start for span in (right, wrong) if span)
                yield Mistake(kind, self.block.name, self.line(first), words, right, wrong, p, q)

    def _probabilities(
        self, number: int, pairs: Sequence[tuple[Span | None, Span | None]]
    ) -> list[tuple[float, float]]:
        """Return the probability of each gold span and of each found one; 0 for what the model does not know."""
        flat = [span for pair in pairs for span in pair]
        known = [span for span in flat if span is not None and span.type in self.types]
        if self.spans:
            chances = decoding.sentence_distribution(self.model, self.corpus, number, exact=True)
            values = chances.span_probabilities(span_reading(self.model.labels), known).tolist()
        else:
            marginal = decoding.marginal(self.model, self.corpus, number)
            values = [float(marginal[span.start, self.types[span.type]]) for span in known]
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
            marginal: Doubles = decoding.marginal(self.model, self.corpus, number)
            tags = np.array([place[tag] for tag in self.found[begin:end]])
            chances = marginal[np.arange(end - begin), tags]
            token = int(np.argmin(chances))
            others = marginal[token].copy()
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
