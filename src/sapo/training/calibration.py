"""Measure how reliable the probabilities of a tagger are, and calibrate them with a temperature.

All scores are divided by the temperature. This does not change the tags, only how confident the tagger is: less so
above 1, more so below 1. The temperature is fitted on sentences that were not used in training, by the likelihood of
their gold tags. A model that learns other labels than it shows (`Model.shown`) is judged by the shown ones.

Likelihood alone has no bound where the tagger makes no errors: the surer, the better. So two imagined tokens are added
to the data, one tagged correctly and one incorrectly (`smoothed`). With k errors among n tokens this is Laplace's rule
of succession: an error rate of (k + 1) / (n + 2). Two tokens do not matter among hundreds of errors, but the tagger
never becomes surer than a handful of errors, or none, can prove.

The tags do not change. The dev set also chose the epoch that was kept, so a little less is left to learn from it than
from sentences that nothing was chosen on; `sapo calibrate` takes any others.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.labeled import read_pairs
from sapo.errors import DataError, OptionError, SapoError, choice, did_you_mean
from sapo.evaluate.calibration import BINS, Reliability, reliability
from sapo.jit.arrays import Doubles, Ints
from sapo.learn.samples import scaled
from sapo.search.lattice import Lattice
from sapo.search.marginals import Distribution, distribution, span_reading, tempered, top_n_marginals, top_n_spans
from sapo.search.topn import top_n, viterbi
from sapo.tagger import decoding, files
from sapo.tagger.decoding import lattices, learned_tags
from sapo.tagger.model import Model
from sapo.tagger.tagger import Tagger
from sapo.tags.labels import shown_name
from sapo.tags.schemes import looks_like_spans, notation_of, prefixed
from sapo.tags.spans import loose_spans
from sapo.training.data import TrainingData

LEAST = -745.0  # the log of the smallest positive number; stands for a forbidden tag at every temperature
WIDEST = 20 * math.log(2)  # temperatures from 2^-20 to 2^20
CLOSE = 1e-3  # precision of the log of the temperature
GOLDEN = (math.sqrt(5) - 1) / 2
FEW = 10  # errors; with fewer, the error rate is uncertain by more than a third

Gold = tuple[Lattice, Sequence[str]]  # the lattice of a sentence, and its gold tags as learned labels
Watch = Callable[[float, float], None]  # called with every temperature that is tried, and its loss


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
    tagger: Tagger,
    data: Any,
    *,
    n: int = 5,
    bins: int = BINS,
    watch: Callable[[int], None] | None = None,
    **reading: Any,
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
    labels, temperature = tagger.model.labels, tagger.model.temperature
    spanned, notation = looks_like_spans(labels), notation_of(labels)
    shown = dict(zip(labels, tagger.model.shown or labels, strict=True))  # tokens are judged by the shown labels
    alike = np.array([[shown[one] == shown[other] for other in labels] for one in labels], np.float64)
    exact, over_n = _Answers(), _Answers()
    for lattice, gold in _gold_lattices(tagger, data, **reading):
        if watch is not None:
            watch(len(gold))
        found = tempered(top_n(lattice, n=n), temperature)
        if not len(found):
            continue
        whole, path = distribution(lattice.tempered(temperature)), found.paths[0]
        names = [labels[tag] for tag in path.tolist()]
        seen = _as_shown(gold, tagger.model)
        right = [shown[one] == other for one, other in zip(names, seen, strict=True)]
        tokens = np.arange(len(path))
        exact.add("tokens", (whole.marginal @ alike)[tokens, path].tolist(), right)
        over_n.add("tokens", (top_n_marginals(found, len(labels)) @ alike)[tokens, path].tolist(), right)
        if spanned:
            spans, true = (loose_spans([prefixed(tag, notation) for tag in tags]) for tags in (names, gold))
            right_spans = [span in true for span in spans]
            exact.add("spans", whole.span_probabilities(span_reading(labels), spans).tolist(), right_spans)
            shares = top_n_spans(found, labels)
            over_n.add("spans", [shares[span] for span in spans], right_spans)
        exact.add("sentences", [whole.probability(path)], [all(right)])
        over_n.add("sentences", [float(found.p_k[0])], [all(right)])
    return Calibration(exact.reliabilities(bins), over_n.reliabilities(bins), n, temperature)


class _Answers:
    """Confidences by kind, and whether the answers were correct."""

    def __init__(self) -> None:
        self.kinds: dict[str, tuple[list[float], list[bool]]] = {}

    def add(self, kind: str, confidences: list[float], right: list[bool]) -> None:
        known = self.kinds.setdefault(kind, ([], []))
        known[0].extend(min(confidence, 1.0) for confidence in confidences)
        known[1].extend(right)

    def reliabilities(self, bins: int) -> dict[str, Reliability]:
        return {
            kind: reliability(np.array(confidences), np.array(right, np.bool_), bins=bins)
            for kind, (confidences, right) in self.kinds.items()
        }


def calibrate(
    tagger: Tagger,
    dev: Any,
    *,
    by: str = "tokens",
    watch: Watch | None = None,
    say: Callable[[str], None] = lambda message: None,
    **reading: Any,
) -> Tagger:
    """Return the same tagger with the temperature that makes the gold tags of `dev` most likely.

    `dev` is the path of a labeled file, or pairs of tokens and tags; it must not be part of the training data. `by`
    says what is made likely: `tokens` means each gold tag on its own (its marginal), `sequence` the whole gold tagging.
    The tagger never becomes surer than its errors in `dev` allow: with k errors among n tokens, it expects at least
    about k + 1. `watch` is called with every temperature that is tried, and its loss, and at last with the temperature
    that is kept; `say` with a line if there are too few errors for a precise temperature. Raises SapoError if no
    temperature is best, because the tagger gets everything in `dev` wrong.

    >>> import sapo
    >>> pairs = [(["a", "dog"], ["DT", "NN"]), (["a", "run"], ["DT", "NN"])]
    >>> tagger = sapo.train(pairs, template="pos", epochs=3)
    >>> doubtful = calibrate(tagger, [(["a", "dog"], ["DT", "NN"]), (["a", "run"], ["DT", "DT"])])
    >>> doubtful.tag(["a", "run"]) == tagger.tag(["a", "run"]), doubtful.model.temperature > 1
    (True, True)
    """
    return fit_temperature(tagger, _gold_lattices(tagger, dev, **reading), by=by, watch=watch, say=say)


def fit_temperature(
    tagger: Tagger,
    data: Iterable[Gold],
    *,
    by: str = "tokens",
    watch: Watch | None = None,
    say: Callable[[str], None] = lambda message: None,
) -> Tagger:
    """Return the same tagger, calibrated as by `calibrate`, from lattices without a temperature and their gold tags.

    The record of the model has what was done, so that a model whose best temperature is 1 counts as calibrated, too.
    """
    by = choice(by, LOSSES)
    if by not in LOSSES:
        raise OptionError(f"unknown likelihood '{by}'{did_you_mean(str(by), LOSSES)}")
    model = tagger.model
    cases = [_Case.of(lattice, gold, model) for lattice, gold in data if len(gold)]
    if not cases:
        raise DataError("calibration: the data has no tokens; give some labeled sentences")
    loss_of = LOSSES[by]
    losses: list[float] = []

    def loss(log_temperature: float) -> float:
        temperature = math.exp(log_temperature)
        total, doubts = 0.0, []
        for case in cases:
            whole = distribution(case.lattice.tempered(temperature))
            own = loss_of(whole, case.gold, model)
            if own is not None:
                total += own
                doubts.append(log_doubts(_shown_logs(whole.log_marginal(), model)[case.known], case.best[case.known]))
        losses.append(total / len(cases))
        if watch is not None:
            watch(temperature, losses[-1])
        return smoothed(total, doubts)

    found = lowest(loss, math.log(model.temperature))
    if found is None:
        raise OptionError(
            f"calibration: no temperature is best for these {len(cases)} sentences, because the tagger gets "
            "everything in them wrong, or has no choice; give more sentences that it was not trained on"
        )
    temperature = float(f"{math.exp(found):.4g}")  # only the digits that are certain
    loss(math.log(temperature))
    tokens, errors = (sum(each) for each in zip(*((len(case.known), case.errors) for case in cases), strict=True))
    if errors < FEW:
        say(_too_few(errors, tokens, temperature))
    record = model.record
    if record:  # a model made by hand has none
        counts = {"sentences": len(cases), "tokens": tokens, "errors": errors}
        scores = {"loss_before": round(losses[0], 4), "loss": round(losses[-1], 4)}
        record = {**record, "calibration": {"by": by, **counts, **scores}}
    return Tagger(dataclasses.replace(model, temperature=temperature, record=record))


def _too_few(errors: int, tokens: int, temperature: float) -> str:
    """Return what to tell the user if the tagger makes few errors.

    >>> _too_few(2, 840, 0.7)
    'only 2 errors among 840 tokens: temperature held at 0.7, as if there were 3; more sentences allow a better one'
    """
    held = f"among {tokens:,} tokens: temperature held at {temperature:.4g}, as if there were {errors + 1}"
    if not errors:
        return f"no errors {held}; calibrate on sentences that the model was not trained on"
    return f"only {errors} error{'s' * (errors > 1)} {held}; more sentences allow a better one"


@dataclass(frozen=True, slots=True)
class _Case:
    """A sentence to calibrate on: its scores, its gold tags, and what the tagger predicts."""

    lattice: Lattice  # without a temperature
    gold: Sequence[str]  # as learned labels
    best: Ints  # [tokens] of the best tagging, as places in the shown labels
    known: Ints  # tokens whose gold tag the model can show
    errors: int  # among these

    @classmethod
    def of(cls, lattice: Lattice, gold: Sequence[str], model: Model) -> "_Case":
        numbers = _numbers(model.outer_labels)
        shown = np.array([numbers.get(tag, -1) for tag in _as_shown(gold, model)], np.int32)
        found = viterbi(lattice).paths
        if not len(found):  # every tagging is forbidden: there is nothing to be sure of
            return cls(lattice, gold, shown, np.empty(0, np.int32), 0)
        best, known = model.as_shown(found[0]), np.flatnonzero(shown >= 0).astype(np.int32)
        return cls(lattice, gold, best, known, int((best[known] != shown[known]).sum()))


def log_doubts(logs: Doubles, best: Ints) -> Doubles:
    """Return, for each token, the log probability that its predicted tag is wrong, from log marginals.

    It is a sum over all other tags, since 1 - p has no digits left if p is near 1.

    >>> np.exp(log_doubts(np.log([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]]), np.array([0, 1]))).round(6).tolist()
    [0.5, 0.2]
    """
    others = logs.copy()
    others[np.arange(len(best)), best] = -np.inf
    found: Doubles = np.logaddexp.reduce(others, axis=1)
    return found


def smoothed(loss: float, doubts: Sequence[Doubles]) -> float:
    """Return the loss of the data and of two more tokens, drawn from it at random: one correct, one incorrect.

    `doubts` are log probabilities of errors, and their mean r is the error rate that the tagger expects. So this adds
    -log(1 - r) - log(r). Without errors, the loss of n tokens is about n * r, and the total is lowest near r = 1 / n;
    if the tagger is equally sure of all its tags, at r = (k + 1) / (n + 2) for k errors: Laplace's rule of succession.
    """
    each = np.concatenate([np.empty(0), *doubts])
    if not (each > -np.inf).any():  # the tagger has no choice
        return loss
    log_rate = float(np.logaddexp.reduce(each)) - math.log(len(each))
    return loss - log_rate - math.log1p(-min(math.exp(log_rate), 1.0 - 1e-12))


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
        numbers = _numbers(model.labels)
        gold = [numbers.get(tag, -1) for tag in learned_tags(model, tags)]
        return cls(Lattice(lattice.node.copy(), lattice.edge.copy()), np.array(gold, np.int32))


def best_temperature(sentences: Sequence[HeldOut]) -> float | None:
    """Return the temperature that makes the gold tags most likely, or None if none is best.

    Unlike in `fit_temperature`, each sentence may have been kept by another state of a model that goes on learning.
    """
    best = [viterbi(one.lattice).paths for one in sentences]
    possible = [(one, paths[0]) for one, paths in zip(sentences, best, strict=True) if len(paths)]

    def loss(log_temperature: float) -> float:
        temperature = math.exp(log_temperature)
        total, doubts = 0.0, []
        for one, path in possible:
            logs = distribution(one.lattice.tempered(temperature)).log_marginal()
            known = np.flatnonzero(one.gold >= 0)
            total -= float(np.maximum(logs[known, one.gold[known]], LEAST).sum())
            doubts.append(log_doubts(logs[known], path[known]))
        return smoothed(total, doubts)

    found = lowest(loss, 0.0)
    return None if found is None else math.exp(found)


def _token_loss(whole: Distribution, gold: Sequence[str], model: Model) -> float:
    """Return minus the sum of the log marginals of the gold tags, leaving out tags that the model does not know."""
    logs = _shown_logs(whole.log_marginal(), model)
    numbers = _numbers(model.outer_labels)
    known = [(position, numbers[tag]) for position, tag in enumerate(_as_shown(gold, model)) if tag in numbers]
    return sum(-max(float(logs[position, tag]), LEAST) for position, tag in known)


def _sequence_loss(whole: Distribution, gold: Sequence[str], model: Model) -> float | None:
    """Return minus the log probability of the gold tagging, or None if the model cannot produce it."""
    numbers = _numbers(model.labels)  # only one learned tagging is shown as this valid tagging
    if any(tag not in numbers for tag in gold):
        return None
    score = whole.lattice.path_score([numbers[tag] for tag in gold])
    # both are sums of the same scores, but in another order: a sure tagging can exceed all taggings by rounding
    return max(whole.log_z - score, 0.0) if score > -math.inf else None


LOSSES: dict[str, Callable[[Distribution, Sequence[str], Model], float | None]] = {
    "tokens": _token_loss,
    "sequence": _sequence_loss,
}


def _numbers(labels: Sequence[str]) -> dict[str, int]:
    return {label: number for number, label in enumerate(labels)}


def _as_shown(gold: Sequence[str], model: Model) -> Sequence[str]:
    """Return learned tags by their shown names, including tags that the model does not know."""
    return [shown_name(tag) for tag in gold] if model.shown else gold


def _shown_logs(logs: Doubles, model: Model) -> Doubles:
    """Return log marginals of the shown labels, [tokens, outer labels], adding up labels with the same name."""
    if model.shown_places is None:
        return logs
    shown = np.full((len(logs), len(model.outer_labels)), -np.inf)
    np.logaddexp.at(shown.T, model.shown_places, logs.T)
    np.minimum(shown, 0.0, out=shown)  # a sum can exceed 1 by rounding, and a loss must not be negative
    return shown


def lowest(function: Callable[[float], float], start: float, *, step: float = math.log(2)) -> float | None:
    """Return where a function with one valley is lowest, by golden section search.

    Return None if it falls to the end of the range, or is flat.

    >>> round(lowest(lambda x: (x - 3) ** 2, 0.0), 2)
    3.0
    """
    start = max(-WIDEST, min(start, WIDEST - step))
    here, there = function(start), function(start + step)
    if there >= here:  # downhill is the other way
        start, step, there = start + step, -step, here
    a, b = start, start + step  # the function falls from a to b
    while True:
        c = max(-WIDEST, min(b + step, WIDEST))
        if c == b:
            return None
        beyond = function(c)
        if beyond == there == function((b + c) / 2):  # flat: there is nothing left to gain
            return None
        if beyond >= there:
            break
        a, b, there, step = b, c, beyond, 1.5 * step
    low, high = min(a, c), max(a, c)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > CLOSE:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = function(right)
    return (low + high) / 2


def _gold_lattices(tagger: Tagger, data: Any, **reading: Any) -> Iterator[Gold]:
    """Yield the lattice of every sentence, without a temperature, with its gold tags as learned labels."""
    plain = Tagger(dataclasses.replace(tagger.model, temperature=1.0))
    if isinstance(data, str | Path):
        yield from decoding.gold_lattices(plain, files.read_blocks(plain, data, labeled=True, **reading))
        return
    tokens, tags = read_pairs(list(data), "dev data")
    learned = [learned_tags(plain.model, own) for own in tags]
    yield from zip(lattices(plain.model, tokens), learned, strict=True)


SENTENCES = 500  # enough for two digits of the temperature, in a second or two
PAIRS = 2e8  # of labels, that is tokens times labels squared: the time goes with it
FEWEST = 1000  # tokens; with too many labels there is no time for as many, and the temperature would be a guess


def calibrated_on_dev(tagger: Tagger, data: TrainingData, say: Callable[[str], None] = lambda message: None) -> Tagger:
    """Return the tagger with a temperature for the dev set of its run; the same tagger if that has none.

    `say` shows the user what was done, or why nothing was.
    """
    if data.dev is None:
        return tagger
    labels = len(tagger.model.labels)
    if labels**2 * FEWEST > PAIRS:
        say(f"not calibrated: {labels:,} labels take long; sapo calibrate MODEL DEV does it")
        return tagger
    offsets = data.dev.corpus.offsets
    fit = int(PAIRS / labels**2 / max(1.0, offsets[-1] / max(1, data.dev.corpus.sentences)))
    chosen = _spread(data.dev.corpus.sentences, min(SENTENCES, max(1, fit)))
    try:
        notes: list[str] = []
        done = fit_temperature(tagger, _lattices(tagger, data, chosen), say=notes.append)
    except KeyboardInterrupt:  # what training took hours for is there
        say("not calibrated: interrupted")
        return tagger
    except SapoError as error:
        say(f"not calibrated: {str(error).removeprefix('calibration: ')}")
        return tagger
    say(f"temperature {done.model.temperature:.4g}, fitted on the dev set: calibrates probabilities, changes no tag")
    for note in notes:
        say(note)
    return done


def _spread(count: int, wanted: int) -> list[int]:
    """Return `wanted` numbers below `count`, evenly spread."""
    return [int(number) for number in np.unique(np.linspace(0, count - 1, min(count, wanted)).round())]


def _lattices(tagger: Tagger, data: TrainingData, chosen: Sequence[int]) -> Iterator[tuple[Lattice, list[str]]]:
    """Yield lattice and gold tags of the chosen sentences of the dev set."""
    assert data.dev is not None
    if data.texts is not None:  # a network reads words
        wanted = set(chosen)
        for number, one in enumerate(decoding.gold_lattices(tagger, data.texts.dev)):
            if number in wanted:
                yield one
        return
    # the weights are those for values as they are in files, not as training saw them
    corpus = scaled(data.dev.corpus, np.float32(1) / data.scales) if len(data.scales) else data.dev.corpus
    for sentence in chosen:
        first, last = corpus.offsets[sentence : sentence + 2].tolist()
        gold = [data.dev.labels[tag] for tag in corpus.gold[first:last].tolist()]
        lattice = decoding.calibrated_lattice(tagger.model, corpus, sentence, exact=True)
        yield lattice, decoding.learned_tags(tagger.model, gold)
