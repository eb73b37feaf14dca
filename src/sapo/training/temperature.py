"""Measure how reliable the probabilities of a tagger are, and calibrate them with a temperature.

All scores are divided by the temperature. This does not change the tags, only how confident the tagger is: less so
above 1, more so below 1. The temperature is fitted on sentences that were not used in training, by the likelihood of
their gold tags. A model that learns other labels than it shows (`Model.shown`) is judged by the shown ones.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.labelled import read_pairs
from sapo.errors import SapoError, choice, did_you_mean
from sapo.evaluate.calibration import BINS, Reliability, reliability
from sapo.kernels.types import Doubles
from sapo.model import Model
from sapo.search import top_n
from sapo.search.lattice import Lattice
from sapo.search.probabilities import distribution, span_reading, tempered, top_n_marginals, top_n_spans
from sapo.tagger import Tagger
from sapo.tagger.decoding import learned_tags
from sapo.tags import looks_like_spans, loose_spans, notation_of, prefixed, shown_name

LEAST = -745.0  # the log of the smallest positive number; stands for a forbidden tag at every temperature
WIDEST = 20 * math.log(2)  # temperatures from 2^-20 to 2^20
CLOSE = 1e-3  # precision of the log of the temperature
GOLDEN = (math.sqrt(5) - 1) / 2

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
    """Tag a labelled file, or pairs of tokens and tags, and compare the probabilities with the gold tags.

    A sentence is left out if every tagging of it is forbidden, since it has no probabilities. `watch` is called with
    the number of tokens of each sentence.

    >>> import sapo
    >>> pairs = [(["a", "dog"], ["DT", "NN"]), (["a", "run"], ["DT", "NN"])]
    >>> found = measure(sapo.train(pairs, template="pos", epochs=3), pairs)
    >>> list(found.exact), found.exact["tokens"].accuracy
    (['tokens', 'sentences'], 1.0)
    """
    if n < 1:
        raise SapoError(f"n must be at least 1, not {n}")
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
        over_n.add("sentences", [float(found.probabilities[0])], [all(right)])
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


def calibrate(tagger: Tagger, dev: Any, *, by: str = "tokens", watch: Watch | None = None, **reading: Any) -> Tagger:
    """Return the same tagger with the temperature that makes the gold tags of `dev` most likely.

    `dev` is the path of a labelled file, or pairs of tokens and tags; it must not be part of the training data. `by`
    says what is made likely: `tokens` means each gold tag on its own (its marginal), `sequence` the whole gold tagging.
    `watch` is called with every temperature that is tried, and its loss. Raises SapoError if no temperature is best,
    because the tagger makes no mistakes in `dev`, or nothing but mistakes.

    >>> import sapo
    >>> pairs = [(["a", "dog"], ["DT", "NN"]), (["a", "run"], ["DT", "NN"])]
    >>> tagger = sapo.train(pairs, template="pos", epochs=3)
    >>> doubtful = calibrate(tagger, [(["a", "dog"], ["DT", "NN"]), (["a", "run"], ["DT", "DT"])])
    >>> doubtful.tag(["a", "run"]) == tagger.tag(["a", "run"]), doubtful.model.temperature > 1
    (True, True)
    """
    return fit_temperature(tagger, _gold_lattices(tagger, dev, **reading), by=by, watch=watch)


def fit_temperature(tagger: Tagger, data: Iterable[Gold], *, by: str = "tokens", watch: Watch | None = None) -> Tagger:
    """Return the same tagger, calibrated as by `calibrate`, from lattices without a temperature and their gold tags.

    The record of the model has what was done, so that a model whose best temperature is 1 counts as calibrated, too.
    """
    by = choice(by, LOSSES)
    if by not in LOSSES:
        raise SapoError(f"unknown likelihood '{by}'{did_you_mean(str(by), LOSSES)}")
    sentences = [(lattice, gold) for lattice, gold in data if len(gold)]
    if not sentences:
        raise SapoError("calibration: the data has no tokens; give some labelled sentences")
    loss_of = LOSSES[by]
    losses: list[float] = []

    def loss(log_temperature: float) -> float:
        temperature = math.exp(log_temperature)
        total = sum(loss_of(lattice.tempered(temperature), gold, tagger.model) for lattice, gold in sentences)
        losses.append(total / len(sentences))
        if watch is not None:
            watch(temperature, losses[-1])
        return total

    found = lowest(loss, math.log(tagger.model.temperature))
    if found is None:
        raise SapoError(
            f"calibration: no temperature is best for these {len(sentences)} sentences, because the tagger gets "
            "everything in them right, or everything wrong; give more sentences that it was not trained on"
        )
    temperature = float(f"{math.exp(found):.4g}")  # only the digits that are certain
    model, record = tagger.model, tagger.model.record
    if record:  # a model made by hand has none
        scores = {"loss_before": round(losses[0], 4), "loss": round(min(losses), 4)}
        record = {**record, "calibration": {"by": by, "sentences": len(sentences), **scores}}
    return Tagger(dataclasses.replace(model, temperature=temperature, record=record))


def _token_loss(lattice: Lattice, gold: Sequence[str], model: Model) -> float:
    """Return minus the sum of the log marginals of the gold tags, leaving out tags that the model does not know."""
    logs = _shown_logs(distribution(lattice).log_marginal(), model)
    numbers = _numbers(model.outer_labels)
    known = [(position, numbers[tag]) for position, tag in enumerate(_as_shown(gold, model)) if tag in numbers]
    return -sum(max(float(logs[position, tag]), LEAST) for position, tag in known)


def _sequence_loss(lattice: Lattice, gold: Sequence[str], model: Model) -> float:
    """Return minus the log probability of the gold tagging, or 0 if the model cannot produce it."""
    numbers = _numbers(model.labels)  # only one learned tagging is shown as this valid tagging
    if any(tag not in numbers for tag in gold):
        return 0.0
    score = lattice.path_score([numbers[tag] for tag in gold])
    return distribution(lattice).log_z - score if score > -math.inf else 0.0


LOSSES = {"tokens": _token_loss, "sequence": _sequence_loss}


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
        yield from plain.gold_lattices(data, **reading)
        return
    tokens, tags = read_pairs(list(data), "dev data")
    learned = [learned_tags(plain.model, own) for own in tags]
    yield from zip(plain.lattices(tokens), learned, strict=True)
