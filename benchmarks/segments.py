"""A semi-Markov model, whose features see whole spans, and sapo's chain: F1 of entities on dev files.

    SAPO_DATA=DIRECTORY python benchmarks/segments.py [CORPUS ...] [--sentences 4000] [--seeds 0,1] [--rate 0.2 ...]

The systems are `chain`, sapo's tagger with the preset `ner`; `tokens`, the search for segmentations with the
same features of tokens; and `whole`, which also has features of whole segments. Segmentations are learned by the
loop for any structure, with the settings of the chain: pieces of sentences, hidden features, a falling rate, and the
average over the last half. Seconds are of the processor, to train.
"""

import argparse
import math
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import sapo
from sapo.evaluate.scores import score_tags
from sapo.features.encoded import EncodedCorpus
from sapo.features.words import lower, normalized, short_shape
from sapo.jit.arrays import Ints, Longs
from sapo.learn.samples import Counts, count_features, hide
from sapo.learn.settings import Settings
from sapo.learn.structured import FlatWeights, PartCandidates, PartRows, PartStructure, learn_structure
from sapo.search.transitions import BITS, code_of
from sapo.tags.spans import Span, loose_spans, spans_to_tags
from sapo.training.run import read_data
from segmentation import (
    TEMPLATES,
    Codes,
    Layout,
    best_segmentations,
    count_hashes,
    layout_of,
    part_of,
    score_segments,
    segment_rows,
)
from zoo_corpora import Corpus, find_corpora

CORPORA = ("anatem", "bc2gm", "bionlp13cg", "linnaeus", "wnut17")
COVERED = 0.999  # share of the gold spans that are short enough
MARGIN = math.log(1000)  # leave out candidates that are this many times less probable than the best one, as chains do
FOLDS = 10  # of the training sentences; what was seen as an entity is counted in the others
HASH_BITS = 24
CLASSES = 9  # of how often a string was seen as an entity
SEEN = 1 << TEMPLATES
DEFAULTS = {"rate": 0.2, "strength": 0.3, "epochs": 15, "piece": 8.0, "hide": 0.5, "hide-whole": 0.5, "value": 1.0}
SYSTEMS = {"tokens": 0, "seen": SEEN, "whole": 2 * SEEN - 1}  # which features of whole segments there are

Sentence = tuple[Sequence[str], Sequence[str]]  # words and tags


class SeenStrings:
    """The strings of the entities of training sentences, and how often each of them was one, in each fold."""

    def __init__(self, sentences: Sequence[Sequence[str]], spans: Sequence[Sequence[Span]], longest: int) -> None:
        self.longest, self.folds = longest, np.arange(len(sentences)) * FOLDS // max(1, len(sentences))
        self.entities, self.times = Counter[tuple[str, str, int]](), Counter[tuple[str, int]]()
        for fold, words, some in zip(self.folds.tolist(), sentences, spans, strict=True):
            for span in some:
                for which in (fold, -1):
                    self.entities[_text(words, span.start, span.end), span.type, which] += 1
        self.strings = {text for text, _, _ in self.entities}
        for fold, words in zip(self.folds.tolist(), sentences, strict=True):
            for _, _, text in self._known(words):
                self.times[text, fold] += 1
                self.times[text, -1] += 1

    def _known(self, words: Sequence[str]) -> list[tuple[int, int, str]]:
        places = ((i, j) for i in range(len(words)) for j in range(i + 1, min(len(words), i + self.longest) + 1))
        return [(i, j, text) for i, j in places if (text := _text(words, i, j)) in self.strings]

    def classes(self, words: Sequence[str], types: Sequence[str], fold: int | None) -> Ints:
        """Return a class for each segment and type; the counts of the fold of a training sentence are left out."""
        found = np.zeros((len(words), self.longest, len(types)), np.int32)
        for i, j, text in self._known(words):
            times = self.times[text, -1] - (self.times[text, fold] if fold is not None else 0)
            for y, type in enumerate(types):
                count = self.entities[text, type, -1] - (self.entities[text, type, fold] if fold is not None else 0)
                share = sum(count > limit * times for limit in (0, 0.3, 0.7, 0.95)) if times else 0
                found[i, j - i - 1, y] = 0 if not times else 2 * share - (count == 1) if count else CLASSES - 1
        return found


def _text(words: Sequence[str], start: int, end: int) -> str:
    return " ".join(words[start:end]).lower()


@dataclass(frozen=True, slots=True)
class SegmentSettings:
    """What is chosen for the segments, besides the settings of SAPO."""

    piece: float = 8.0  # tokens, on average; 0: learn from whole sentences
    hide: float = 0.5  # as in Settings, for features of tokens
    hide_whole: float = 0.5  # and of whole segments
    value: float = 1.0  # of a feature of a whole segment


class SegmentStructure(PartStructure):
    """The sentences of a corpus as segmentations, cut into other pieces in each epoch of learning."""

    def __init__(
        self,
        corpus: EncodedCorpus,
        sentences: Sequence[Sentence],
        types: Sequence[str],
        layout: Layout,
        seen: Sequence[Ints],  # of each sentence, as in `Codes`
        *,
        learning: SegmentSettings | None = None,
        seed: int = 0,
    ) -> None:
        self.whole, self.layout, self.types, self.seed, self.learning = corpus, layout, types, seed, learning
        self.gold = [loose_spans(tags) for _, tags in sentences]
        edge = [*(code_of("edge", str(i)) for i in range(4)), 0]
        nothing = np.zeros((1, layout.longest, len(types)), np.int32)
        words, classes = [edge], [nothing]
        for (tokens, _), some in zip(sentences, seen, strict=True):
            words += [*map(_codes, tokens), edge]
            classes += [some, nothing]
        self.codes = Codes(np.array(words), np.concatenate(classes), np.empty(0, np.int64), np.empty(0, np.uint16))
        self.of_sentence = np.arange(len(sentences))
        self.corpus, self.offsets = corpus, corpus.offsets
        if learning is not None:
            self.inside = np.zeros(corpus.tokens + 1, np.bool_)
            for first, spans in zip(corpus.offsets[:-1].tolist(), self.gold, strict=True):
                for span in spans:
                    self.inside[first + span.start + 1 : first + span.end] = True
            self.counts = Counts(count_features(corpus.rows))
            rows = corpus.offsets[:-1] + self.of_sentence + 1
            if layout.whole and learning.hide_whole:
                ends = rows + np.diff(corpus.offsets)
                counted = Counts(count_hashes(rows, ends, self.codes, layout))
                self.codes = self.codes._replace(limits=counted.limits(learning.hide_whole))
            self.watch(0, 1, 1)

    def watch(self, epoch: int, done: int, of: int) -> None:
        """Cut sentences and hide features for the next epoch after the last sample of an epoch."""
        if self.learning is None or done < of:
            return
        rng = np.random.default_rng([self.seed, epoch, 7])
        if self.learning.hide:
            self.corpus = hide(self.whole, self.learning.hide, self.seed, epoch + 1, counts=self.counts)
            if len(self.codes.limits):
                self.codes = self.codes._replace(noise=rng.integers(1 << BITS, size=len(self.codes.words)))
        if self.learning.piece:
            cuts = (rng.random(self.whole.tokens + 1) * self.learning.piece < 1) & ~self.inside
            self.offsets = np.unique(np.concatenate([self.whole.offsets, np.flatnonzero(cuts)]))
        else:
            self.offsets = np.unique(self.whole.offsets)
        self.of_sentence = np.searchsorted(self.whole.offsets, self.offsets[:-1], "right") - 1

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def _place(self, sample: int) -> tuple[int, int]:
        """Return the first token of a sample, and its row in the codes."""
        first = int(self.offsets[sample])
        return first, first + int(self.of_sentence[sample]) + 1

    def search(self, sample: int, weights: FlatWeights, n: int) -> PartCandidates:
        first, row = self._place(sample)
        corpus, last = self.corpus, int(self.offsets[sample + 1])
        tables = score_segments(
            first, last, row, corpus.row_offsets, corpus.rows, self.codes, self.layout, weights.v, weights.scale
        )
        parts, offsets, scores = best_segmentations(*tables, n)
        found = int((scores >= scores[0] - MARGIN).sum()) if len(scores) else 0
        self.found = PartCandidates(parts[: offsets[found]], offsets[: found + 1], scores[:found])
        return self.found

    def oracle(self, sample: int) -> Longs:
        sentence, longest, Y = int(self.of_sentence[sample]), self.layout.longest, self.layout.types
        begin, end = (int(self.offsets[sample + i] - self.whole.offsets[sentence]) for i in (0, 1))
        parts, at, before = [], 0, 0
        for span in self.gold[sentence]:
            if begin <= span.start < end:
                for place in range(at, span.start - begin):
                    parts.append(part_of(place, 1, 0, before, longest, Y))
                    before = 0
                at, y = span.start - begin, self.types.index(span.type) + 1
                length = min(longest, span.end - span.start)
                parts.append(part_of(at, length, y, before, longest, Y))
                at, before = at + length, y
        for place in range(at, end - begin):
            parts.append(part_of(place, 1, 0, before, longest, Y))
            before = 0
        gold = np.array(parts, np.int64)
        sure = len(self.found.scores) == 1 and np.array_equal(np.sort(self.found.parts), gold)
        return gold[:0] if sure else gold  # a sample that is sure and right changes nothing

    def rows(self, sample: int, parts: Longs) -> PartRows:
        first, row = self._place(sample)
        return PartRows(
            *segment_rows(parts, first, row, self.corpus.row_offsets, self.corpus.rows, self.codes, self.layout)
        )

    def tags(self, sample: int, weights: FlatWeights) -> list[str]:
        """Return the best tags of a sentence, in IOB2."""
        Y, spans = self.layout.types, []
        for part in self.search(sample, weights, 1).parts.tolist():
            y, place = part // (Y + 1) % (Y + 1), part // (Y + 1) ** 2
            start, length = divmod(place, self.layout.longest + 1)
            if y > 0:
                spans.append(Span(start, start + length, self.types[y - 1]))
        return spans_to_tags(spans, int(self.offsets[sample + 1] - self.offsets[sample]), "iob2")


def _codes(word: str) -> list[int]:
    texts = lower(word), normalized(word), short_shape(word), lower(word)[-3:]
    brackets = sum(word.count(c) for c in "([") - sum(word.count(c) for c in ")]")
    return [*(code_of(kind, text) for kind, text in zip("wnsf", texts, strict=True)), brackets]


def segments(corpus: Corpus, settings: Settings, own: SegmentSettings, whole: int) -> tuple[float, float]:
    """Train segments and tag the dev file; return F1, seconds of training."""
    data = read_data(corpus.path("train"), dev=corpus.path("dev"), template="ner")
    assert data.dev is not None
    train, dev = (list(corpus.sentences(part)) for part in ("train", "dev"))
    begun = time.process_time()
    spans = [loose_spans(tags) for _, tags in train]
    lengths = sorted(span.end - span.start for some in spans for span in some)
    longest = lengths[math.ceil(COVERED * len(lengths)) - 1]
    types = sorted({span.type for some in spans for span in some})
    layout = layout_of(data.encoder.features, len(types), longest, CLASSES, HASH_BITS, whole, own.value)
    seen = SeenStrings([words for words, _ in train], spans, longest)
    known = [seen.classes(words, types, fold) for (words, _), fold in zip(train, seen.folds.tolist(), strict=True)]
    structure = SegmentStructure(data.corpus, train, types, layout, known, learning=own, seed=settings.seed)
    strength = settings.strength * len(structure) / len(train)  # as for the pieces of a chain
    weights = FlatWeights(layout.hashes + layout.mask + 1 + len(types))
    learn_structure(structure, weights, replace(settings, strength=strength), watch=structure.watch)
    seconds = time.process_time() - begun
    known = [seen.classes(words, types, None) for words, _ in dev]
    found = SegmentStructure(data.dev.corpus, dev, types, layout, known)
    tags = [found.tags(s, weights) for s in range(len(found))]
    return 100 * score_tags([gold for _, gold in dev], tags).main[1], seconds


def chain(corpus: Corpus, seed: int) -> tuple[float, float]:
    """Train sapo's chain and tag the dev file; return F1, seconds of training."""
    begun = time.process_time()
    tagger = sapo.train(
        corpus.path("train"), template="ner", rate=0.2, strength=0.3, calibrate=False, seed=seed, threads=1
    )
    seconds = time.process_time() - begun
    dev = list(corpus.sentences("dev"))
    tags = tagger.tag_many([words for words, _ in dev])
    return 100 * score_tags([gold for _, gold in dev], tags).main[1], seconds


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="*", default=CORPORA, metavar="CORPUS")
    parser.add_argument("--sentences", type=int, default=4000, help="training sentences, at most")
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--systems", default="chain,tokens,whole", help="some of chain, tokens, seen and whole")
    for name, value in DEFAULTS.items():
        parser.add_argument(f"--{name}", type=type(value), default=value, help=f"{value} by default; of the segments")
    given = parser.parse_args(arguments)
    print("| corpus | system | F1 of each seed | mean | s |\n|---|---|--:|--:|--:|", flush=True)
    decay = 0.1 ** (1 / max(1, given.epochs - 1))
    plain = Settings(rate=given.rate, strength=given.strength, epochs=given.epochs, decay=decay, average=0.5)
    own = SegmentSettings(given.piece, given.hide, given.hide_whole, given.value)
    with tempfile.TemporaryDirectory() as room:
        for corpus in find_corpora(Path(os.environ["SAPO_DATA"]), given.corpora):
            some = corpus.beginning(Path(room), given.sentences)
            some.path("dev").write_bytes(corpus.path("dev").read_bytes())
            for system in given.systems.split(","):
                results = [
                    chain(some, seed)
                    if system == "chain"
                    else segments(some, replace(plain, seed=seed), own, SYSTEMS[system])
                    for seed in map(int, given.seeds.split(","))
                ]
                scores, seconds = zip(*results, strict=True)
                each = " ".join(f"{score:.2f}" for score in scores)
                print(
                    f"| {corpus.name} | {system} | {each} | {statistics.mean(scores):.2f} | {min(seconds):.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
