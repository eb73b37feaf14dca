"""Measure how reliable the probabilities of a tagger are, and calibrate them with a temperature.

All scores are divided by the temperature. This does not change the tags, only how confident the tagger is: less so
above 1, more so below 1. The temperature is the one at which the tagger expects as many wrong answers as it gives on
sentences that it has not learned (expectation consistency: Clarté et al. 2023). Answers are the spans of its best
tagging, or its tags if the labels mark no spans. The usual alternative, maximum likelihood, follows the few errors that
the tagger was sure of: where there are few errors at all, the probabilities of all other answers become too low.

With k wrong answers among n, the tagger is to expect a share of (k + 1) / (n + 2): Laplace's rule of succession. To
make it surer than it was trained to be, a handful of errors proves too little, since other texts may be harder: then at
least SURE errors are assumed, and if it expects fewer already, it stays as it is.

Training calibrates on the dev set. Where there is none, or it has few errors, a third of the training sentences is
learned once more, and the others are judged. The temperature changes little with the number of sentences, but much with
the number of passes, so these stay the same.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from sapo.corpus.labeled import read_pairs
from sapo.errors import DataError, OptionError, SapoError, choice, did_you_mean
from sapo.evaluate.calibration import BINS, Reliability, reliability
from sapo.features.encoded import EncodedCorpus, subset
from sapo.jit.arrays import Bools, Doubles, Ints, Longs
from sapo.learn.samples import scaled
from sapo.search.lattice import Lattice
from sapo.search.marginals import Distribution, distribution, span_reading, tempered, top_n_marginals, top_n_spans
from sapo.search.topn import top_n, viterbi
from sapo.tagger import decoding, files
from sapo.tagger.decoding import lattices, learned_tags
from sapo.tagger.files import ReadingOptions, check_reading
from sapo.tagger.model import Model
from sapo.tagger.tagger import Tagger, as_tagger
from sapo.tags.labels import shown_name
from sapo.tags.schemes import looks_like_spans, notation_of, prefixed
from sapo.tags.spans import Span, loose_spans
from sapo.training.data import TrainingData

TOKENS, SPANS, SENTENCES = KINDS = ("tokens", "spans", "sentences")  # of answers
WIDEST = 20 * math.log(2)  # temperatures from 2^-20 to 2^20
CLOSE = 5e-3  # how close the expected number of errors is to the wanted one, as a share of it
FEW = 10  # spans; with fewer, tokens are counted
SURE = 30  # errors; with fewer, the error rate is uncertain by more than a fifth

Gold = tuple[Lattice, Sequence[str]]  # the lattice of a sentence, and its gold tags as learned labels
Watch = Callable[[float, float], None]  # called with every temperature that is tried, and the errors expected at it
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Calibration:
    """How well probabilities agree with how often the tags, spans and sentences of the best tagging are correct.

    `exact` judges probabilities over all taggings, `top_n` those over the n best only. There are spans only if the
    labels mark them.
    """

    exact: dict[str, Reliability]  # for tokens, spans and sentences
    top_n: dict[str, Reliability]
    n: int
    temperature: float

    def rows(self) -> dict[str, Reliability]:
        """Return all reliabilities by name, for a table."""
        kinds = ((self.exact, "all taggings"), (self.top_n, f"top {self.n}"))
        return {f"{what}, {over}": found for kind, over in kinds for what, found in kind.items()}

    def as_json(self) -> dict[str, object]:
        """Return the calibration as a dictionary, to be written as JSON."""
        kinds = {"exact": self.exact, "top_n": self.top_n}
        listed = {name: {what: dataclasses.asdict(row) for what, row in kind.items()} for name, kind in kinds.items()}
        return {"temperature": self.temperature, "n": self.n, **listed}


def measure(
    tagger: Tagger | str | Path,
    data: Any,
    *,
    n: int = 5,
    bins: int = BINS,
    watch: Callable[[int], None] | None = None,
    **reading: Unpack[ReadingOptions],
) -> Calibration:
    """Tag a labeled file, or pairs of tokens and tags, and compare the probabilities with the gold tags.

    A sentence is left out if every tagging of it is forbidden, since it has no probabilities. `watch` is called with
    the number of tokens of each sentence.

    >>> import sapo
    >>> pairs = [(["a", "dog"], ["DT", "NN"]), (["a", "run"], ["DT", "NN"])]
    >>> found = measure(sapo.train(pairs, template="pos", epochs=3), pairs)
    >>> list(found.exact), found.exact["tokens"].accuracy
    (['tokens', 'sentences'], 1.0)
    """
    if n < 1:
        raise OptionError(f"n must be at least 1, not {n}")
    tagger = as_tagger(tagger)
    temperature, judge = tagger.model.temperature, _Judge(tagger.model)
    exact, over_n = _Answers(), _Answers()
    for lattice, gold in _gold_lattices(tagger, data, **reading):
        if watch is not None:
            watch(len(gold))
        found = tempered(top_n(lattice, n=n), temperature)
        if not len(found):
            continue
        case = judge.case(lattice, found.paths[0], gold)
        whole = distribution(lattice.tempered(temperature))
        for kind, right in case.right.items():
            exact.add(kind, judge.confidences(case, kind, whole), right)
        over_n.add(TOKENS, judge.of_best(case, top_n_marginals(found, len(judge.labels))), case.right[TOKENS])
        if SPANS in case.right:
            shares = top_n_spans(found, judge.labels)
            over_n.add(SPANS, np.array([shares[span] for span in case.spans]), case.right[SPANS])
        over_n.add(SENTENCES, found.p_k[:1], case.right[SENTENCES])
    return Calibration(exact.reliabilities(bins), over_n.reliabilities(bins), n, temperature)


class _Answers:
    """Confidences by kind, and whether the answers were correct."""

    def __init__(self) -> None:
        self.kinds: dict[str, tuple[list[Doubles], list[Bools]]] = {}

    def add(self, kind: str, confidences: Doubles, right: Bools) -> None:
        known = self.kinds.setdefault(kind, ([], []))
        known[0].append(np.minimum(confidences, 1.0))
        known[1].append(right)

    def reliabilities(self, bins: int) -> dict[str, Reliability]:
        return {
            kind: reliability(np.concatenate(confidences), np.concatenate(right), bins=bins)
            for kind, (confidences, right) in self.kinds.items()
        }


@dataclass(frozen=True, slots=True)
class _Case:
    """A sentence to judge a tagger by: its scores, its best tagging, and which answers of that are correct."""

    lattice: Lattice  # without a temperature
    path: Ints  # [tokens] the best tagging
    spans: list[Span]  # of the best tagging
    right: dict[str, Bools]  # by kind of answer


class _Judge:
    """Compare best taggings with gold tags, by the labels that a model shows."""

    def __init__(self, model: Model) -> None:
        self.model, self.labels = model, model.labels
        self.shown = model.shown or model.labels
        self.spanned = looks_like_spans(self.labels)
        self.notation = notation_of(self.labels)
        self.reading = span_reading(self.labels) if self.spanned else None
        # learned labels that are shown as the same one; without them, every label is only like itself
        self.alike = np.array([[one == other for other in self.shown] for one in self.shown]) if model.shown else None

    def cases(self, data: Iterable[Gold], *, enough: float = math.inf) -> list[_Case]:
        """Return the cases of sentences until there are `enough` errors.

        Empty sentences are left out, and those of which every tagging is forbidden.
        """
        cases, errors = list[_Case](), 0
        for lattice, gold in data:
            if len(gold) and len(paths := viterbi(lattice).paths):
                cases.append(self.case(lattice, paths[0], gold))
                errors += int((~cases[-1].right[SPANS if self.spanned else TOKENS]).sum())
                if errors >= enough:
                    break
        return cases

    def case(self, lattice: Lattice, path: Ints, gold: Sequence[str]) -> _Case:
        """Judge a tagging. `gold` are learned tags, perhaps some that the model does not know, which are all wrong."""
        names = [self.labels[tag] for tag in path.tolist()]
        seen = [shown_name(tag) for tag in gold] if self.model.shown else gold
        right = np.array([self.shown[tag] == other for tag, other in zip(path.tolist(), seen, strict=True)], np.bool_)
        answers, spans = {TOKENS: right}, list[Span]()
        if self.spanned:
            spans, true = (loose_spans([prefixed(tag, self.notation) for tag in tags]) for tags in (names, gold))
            answers[SPANS] = np.array([span in true for span in spans], np.bool_)
        return _Case(lattice, path, spans, {**answers, SENTENCES: np.array([right.all()])})

    def confidences(self, case: _Case, kind: str, whole: Distribution) -> Doubles:
        """Return the exact probability of each answer of a kind."""
        if kind == SPANS:
            assert self.reading is not None
            return whole.span_probabilities(self.reading, case.spans)
        if kind == SENTENCES:
            return np.array([whole.probability(case.path)])
        return self.of_best(case, whole.marginal)

    def of_best(self, case: _Case, marginal: Doubles) -> Doubles:
        """Return the probability of each shown tag of the best tagging, from the marginals of learned labels."""
        if self.alike is not None:
            best: Doubles = np.where(self.alike[case.path], marginal, 0.0).sum(axis=1)
        else:
            best = marginal[np.arange(len(case.path)), case.path]
        return best

    def kind_of(self, cases: Sequence[_Case]) -> str:
        """Return which answers to calibrate by: spans, unless there are next to none."""
        return SPANS if self.spanned and sum(len(case.spans) for case in cases) >= FEW else TOKENS


def calibrate(
    tagger: Tagger | str | Path,
    dev: Any,
    *,
    by: str | None = None,
    watch: Watch | None = None,
    say: Say = lambda message: None,
    **reading: Unpack[ReadingOptions],
) -> Tagger:
    """Return the same tagger with a temperature at which its probabilities say how often it is right in `dev`.

    `tagger` may also be the path of a model. `dev` is the path of a labeled file, or pairs of tokens and tags; it must
    not be part of the training data. `by` says which answers are counted: `spans` (the default if labels mark them),
    `tokens` or `sentences`. With k wrong answers among n in `dev`, the tagger expects a share of (k + 1) / (n + 2)
    wrong ones, so it never becomes surer than `dev` allows. `watch` is called with every temperature that is tried, and
    the share of wrong answers expected at it, and at last with the temperature that is kept; `say` with a line if there
    are too few errors for a precise temperature. Raises SapoError if there is no such temperature, because the tagger
    gets everything in `dev` wrong.

    >>> import sapo
    >>> pairs = [(["a", "dog"], ["DT", "NN"]), (["a", "run"], ["DT", "NN"])]
    >>> tagger = sapo.train(pairs, template="pos", epochs=3)
    >>> doubtful = calibrate(tagger, [(["a", "dog"], ["DT", "NN"]), (["a", "run"], ["DT", "DT"])])
    >>> doubtful.tag(["a", "run"]) == tagger.tag(["a", "run"]), doubtful.model.temperature > 1
    (True, True)
    """
    tagger = as_tagger(tagger)
    judge = _Judge(tagger.model)
    if by is not None and (by := choice(by, KINDS)) not in KINDS:
        raise OptionError(f"by must be one of {', '.join(KINDS)}, not '{by}'{did_you_mean(str(by), KINDS)}")
    if by == SPANS and not judge.spanned:
        raise OptionError("by: the labels of the model mark no spans; use tokens or sentences")
    cases = judge.cases(_gold_lattices(tagger, dev, **reading))
    fitted = _fitted(tagger, judge, cases, by or judge.kind_of(cases), watch)
    counts = fitted.model.record.get("calibration", {})
    if counts and counts["errors"] < SURE:
        say(f"{_wrong(counts)}: too few errors to make the tagger much surer; calibrate on more or other sentences")
    return fitted


def _fitted(tagger: Tagger, judge: _Judge, cases: Sequence[_Case], kind: str, watch: Watch | None = None) -> Tagger:
    """Return the tagger with the temperature at which it expects as many errors as there are in these cases.

    The record of the model says what was done, so that a model whose best temperature is 1 counts as calibrated, too.
    """
    model = tagger.model
    if not cases:
        raise DataError("calibration: the data has no tokens; give some labeled sentences")
    right = np.concatenate([case.right[kind] for case in cases])
    answers, errors = len(right), int((~right).sum())
    counted = [case for case in cases if len(case.right[kind])]
    shares: list[float] = []

    def expected(log_temperature: float) -> float:
        temperature = math.exp(log_temperature)
        sums = (
            float(judge.confidences(case, kind, distribution(case.lattice.tempered(temperature))).sum())
            for case in counted
        )
        shares.append(max(0.0, 1.0 - math.fsum(sums) / max(1, answers)))
        if watch is not None:
            watch(temperature, shares[-1])
        return shares[-1]

    before = expected(math.log(model.temperature))
    as_trained = before if model.temperature == 1.0 else expected(0.0)
    wanted = (errors + 1) / (answers + 2)
    if as_trained > wanted:  # surer, but not by much on few errors
        wanted = min(as_trained, max(wanted, SURE / (answers + 2)))
    found = 0.0 if wanted == as_trained else where_equal(expected, wanted, 0.0)
    if found is None:
        raise OptionError(
            f"calibration: no temperature fits these {len(cases)} sentences, because the tagger gets everything in "
            "them wrong, or has no choice; give more sentences that it was not trained on"
        )
    temperature = float(f"{math.exp(found):.3g}")  # only the digits that are certain
    expected(math.log(temperature))
    record = model.record
    if record:  # a model made by hand has none
        counts = {"sentences": len(cases), "answers": answers, "errors": errors}
        before_after = {"expected_before": round(before, 4), "expected": round(shares[-1], 4)}
        record = {**record, "calibration": {"by": kind, **counts, **before_after}}
    return Tagger(dataclasses.replace(model, temperature=temperature, record=record))


def _wrong(counts: dict[str, Any]) -> str:
    """Return how many answers were wrong.

    >>> _wrong({"errors": 2, "answers": 840, "by": "spans"})
    '2 of 840 spans wrong'
    """
    return f"{counts['errors']:,} of {counts['answers']:,} {counts['by']} wrong"


def where_equal(function: Callable[[float], float], wanted: float, start: float) -> float | None:
    """Return where a function that does not fall has this value, as closely as CLOSE says, or None if it never has.

    >>> round(where_equal(lambda x: x**3, 8.0, 0.0), 2)
    2.0
    """

    def off(x: float) -> float:
        return function(x) - wanted

    step = math.log(2)
    a = max(-WIDEST, min(start, WIDEST))
    at_a = off(a)
    step = math.copysign(step, -at_a)
    while True:
        b = max(-WIDEST, min(a + step, WIDEST))
        if b == a:
            return None
        at_b = off(b)
        if (at_a <= 0) != (at_b <= 0):
            break
        a, at_a, step = b, at_b, 1.5 * step
    while min(abs(at_a), abs(at_b)) > CLOSE * wanted and abs(b - a) > 1e-9:
        part = at_a / (at_a - at_b)  # where a line between both is 0; near an end, that would close in too slowly
        c = a + min(max(part, 0.1), 0.9) * (b - a)
        at_c = off(c)
        if (at_c <= 0) == (at_a <= 0):
            a, at_a = c, at_c
        else:
            b, at_b = c, at_c
    return a if abs(at_a) <= abs(at_b) else b


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A labeled sentence as a model sees it before learning from it."""

    lattice: Lattice  # without a temperature
    gold: Ints  # [tokens] learned labels, -1 for one that the model does not know

    @classmethod
    def of(cls, model: Model, words: Sequence[str], tags: Sequence[str], session: Any = None) -> "HeldOut":
        """Keep a sentence; `tags` are in the scheme that the model shows. The model may go on learning."""
        corpus = next(decoding.encoded_batches(model, [words], session))
        lattice = decoding.sentence_lattice(model, corpus, 0, exact=True)
        numbers = {label: number for number, label in enumerate(model.labels)}
        gold = [numbers.get(tag, -1) for tag in learned_tags(model, tags)]
        return cls(Lattice(lattice.node.copy(), lattice.edge.copy()), np.array(gold, np.int32))


def best_temperature(sentences: Sequence[HeldOut]) -> float | None:
    """Return the temperature at which the tags of these sentences are as often wrong as expected, or None.

    Unlike in `calibrate`, each sentence may have been kept by another state of a model that goes on learning.
    """
    best = [(one, viterbi(one.lattice).paths) for one in sentences]
    possible = [(one.lattice, paths[0], paths[0] == one.gold) for one, paths in best if len(paths)]
    tokens = sum(len(right) for _, _, right in possible)
    errors = tokens - sum(int(right.sum()) for _, _, right in possible)

    def expected(log_temperature: float) -> float:
        temperature = math.exp(log_temperature)
        sums = (
            float(distribution(lattice.tempered(temperature)).marginal[np.arange(len(path)), path].sum())
            for lattice, path, _ in possible
        )
        return 1.0 - math.fsum(sums) / tokens

    found = where_equal(expected, (errors + 1) / (tokens + 2), 0.0) if tokens else None
    return None if found is None else math.exp(found)


def _gold_lattices(tagger: Tagger, data: Any, **reading: Unpack[ReadingOptions]) -> Iterator[Gold]:
    """Yield the lattice of every sentence, without a temperature, with its gold tags as learned labels."""
    check_reading(reading)
    plain = Tagger(dataclasses.replace(tagger.model, temperature=1.0))
    if isinstance(data, str | Path):
        yield from decoding.gold_lattices(plain, files.read_blocks(plain, data, labeled=True, **reading))
        return
    tokens, tags = read_pairs(list(data), "dev data")
    learned = [learned_tags(plain.model, own) for own in tags]
    yield from zip(lattices(plain.model, tokens), learned, strict=True)


MOST_SENTENCES = 5000  # to judge by
MOST_ERRORS = 400  # the error rate is then certain within a twentieth
PAIRS, MOST_PAIRS = 3e7, 4e8  # of labels, that is tokens times labels squared: an eighth of a second, two seconds
FEWEST_TOKENS = 1000  # where so many take more than MOST_PAIRS, the temperature would be a guess
ENOUGH = 100  # errors in the dev set, for a rate within a tenth; with fewer, training sentences are held out as well
FEWEST_SENTENCES = 30  # to learn a third of them
BLOCKS = 12  # of sentences; neighbors are often of the same document, and should be learned or judged together
SHARE = 3  # every third block is learned: the temperature for a half differs little, and takes longer to find
PART_TOKENS = 100_000  # to learn, at most
# Learn `calibration_part` with the settings of the run; None for a learner that takes too long.
LearnPart = Callable[[], Tagger]


def calibrated(tagger: Tagger, data: TrainingData, learn: LearnPart | None, say: Say = lambda message: None) -> Tagger:
    """Return the tagger of a run with a temperature for its dev set, for held-out training sentences, or for both.

    `say` shows the user what was done, or why nothing was.
    """
    labels = len(tagger.model.labels)
    if labels**2 * FEWEST_TOKENS > MOST_PAIRS:
        say(f"not calibrated: {labels:,} labels take long; sapo calibrate MODEL DEV does it")
        return tagger
    judge = _Judge(tagger.model)
    cases, sources = list[_Case](), list[str]()
    try:
        if data.dev is not None:
            chosen = _some(data.dev.corpus, np.arange(data.dev.corpus.sentences), labels)
            cases, sources = judge.cases(_dev_lattices(tagger, data, chosen), enough=MOST_ERRORS), ["the dev set"]
        kind = judge.kind_of(cases)
        learned, held_out = _parts(data.corpus)
        if learn is not None and len(learned) and sum(int((~case.right[kind]).sum()) for case in cases) < ENOUGH:
            judged = _train_lattices(learn(), data, _some(data.corpus, held_out, labels))
            cases += judge.cases(judged, enough=MOST_ERRORS)
            sources.append("held-out training sentences")
        if not sources:
            few = "a network takes long to hold out sentences" if learn is None else "there is too little training data"
            say(f"not calibrated: without a dev set, {few}; sapo calibrate MODEL DEV does it")
            return tagger
        done = _fitted(tagger, judge, cases, judge.kind_of(cases))
    except KeyboardInterrupt:  # what training took hours for is there
        say("not calibrated: interrupted")
        return tagger
    except SapoError as error:
        say(f"not calibrated: {str(error).removeprefix('calibration: ')}")
        return tagger
    counts = done.model.record["calibration"]
    temperature = f"temperature {done.model.temperature:.3g}"
    if done.model.temperature == 1.0 and counts["errors"] < SURE:
        temperature = "too few errors to make it surer"
    say(f"calibrated on {' and '.join(sources)} ({_wrong(counts)}): {temperature}")
    return done


def calibration_part(data: TrainingData) -> TrainingData:
    """Return the training sentences to learn while the others are held out; none if there are too few."""
    learned, _ = _parts(data.corpus)
    return dataclasses.replace(data.with_corpus(subset(data.corpus, learned)), dev=None, shards=None)


def _some(corpus: EncodedCorpus, sentences: Longs, labels: int) -> list[int]:
    """Return some of these sentences in random order: as many as there is time for."""
    length = max(1.0, corpus.tokens / max(1, corpus.sentences))
    wanted = max(1, min(MOST_SENTENCES, int(max(FEWEST_TOKENS, PAIRS / labels**2) / length)))
    return [int(sentence) for sentence in np.random.default_rng(0).permutation(sentences)[:wanted]]


def _spread(sentences: Longs, wanted: float) -> Longs:
    """Return at most so many of the sentences, evenly spread."""
    count = max(1, min(len(sentences), int(wanted)))
    return sentences[np.linspace(0, len(sentences) - 1, count).round().astype(np.int64)]


def _parts(corpus: EncodedCorpus) -> tuple[Longs, Longs]:
    """Return a third of the training sentences to learn, and the others to judge by; none if there are few."""
    lengths = np.diff(corpus.offsets)
    open_tags = np.diff(np.append(0, np.cumsum(corpus.gold < 0))[corpus.offsets])
    whole = np.flatnonzero((lengths > 0) & (open_tags == 0))
    if len(whole) < FEWEST_SENTENCES:
        return whole[:0], whole[:0]
    learned = np.arange(len(whole)) * BLOCKS // len(whole) % SHARE == 1
    part = whole[learned]
    return _spread(part, len(part) * PART_TOKENS / lengths[part].sum()), whole[~learned]


def _train_lattices(tagger: Tagger, data: TrainingData, chosen: Sequence[int]) -> Iterator[Gold]:
    """Yield lattice and gold tags of the chosen sentences of the training data."""
    corpus = _unscaled(data.corpus, data)
    for sentence in chosen:
        first, last = corpus.offsets[sentence : sentence + 2].tolist()
        gold = [data.labels[tag] for tag in corpus.gold[first:last].tolist()]
        yield decoding.sentence_lattice(tagger.model, corpus, sentence, exact=True), gold


def _unscaled(corpus: EncodedCorpus, data: TrainingData) -> EncodedCorpus:
    """Return a corpus with the values of files: the weights of a model are for those, not for what training saw."""
    return scaled(corpus, np.float32(1) / data.scales) if len(data.scales) else corpus


def _dev_lattices(tagger: Tagger, data: TrainingData, chosen: Sequence[int]) -> Iterator[Gold]:
    """Yield lattice and gold tags of the chosen sentences of the dev set."""
    assert data.dev is not None
    if data.texts is not None:  # a network reads words
        wanted = set(chosen)
        found = enumerate(decoding.gold_lattices(tagger, data.texts.dev))
        yield from (one for number, one in found if number in wanted)
        return
    corpus = _unscaled(data.dev.corpus, data)
    for sentence in chosen:
        first, last = corpus.offsets[sentence : sentence + 2].tolist()
        gold = [data.dev.labels[tag] for tag in corpus.gold[first:last].tolist()]
        yield decoding.sentence_lattice(tagger.model, corpus, sentence, exact=True), learned_tags(tagger.model, gold)
