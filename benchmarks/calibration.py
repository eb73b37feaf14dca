"""How far probabilities can be trusted: as trained, and after a temperature was fitted.

    SAPO_DATA=DIRECTORY python benchmarks/calibration.py learners [SEED ...]
    SAPO_DATA=DIRECTORY python benchmarks/calibration.py zoo [SEED ...]

Both print a Markdown table, the means of the seeds (0, 1, 2 for learners and 0 for the zoo if none are given).

`learners` trains on the first 90 % of the training sentences of CoNLL-2000, fits the temperature on the last 10 %, and
measures on the test set; the chunking preset, default settings, the same features for all learners.

`zoo` trains on 4,000 sentences of each corpus with spans, evenly spread, without a dev set, with the first 50 sentences
of one, and with all of it, and lets training calibrate as it always does. It measures the spans of the test set.
`floor` is the error that perfect probabilities would have on as many spans, by chance: the mean of 200 draws.
"""

import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import sapo
from sapo.evaluate.calibration import Reliability
from sapo.training.calibration import Calibration, measure
from sapo.training.plan import make_plan
from sapo.training.run import start

LEARNERS = ("sapo", "crf", "perceptron-avg")
KINDS = ("tokens", "spans", "sentences")
BY = ("spans", "tokens", "sentences")
CORPORA = (
    *("anatem", "bc2gm", "bionlp13cg", "cws-msr", "cws-pku", "linnaeus", "nyt-ingredients", "snips"),
    *("turku-ner", "weibo-ner", "wnut17"),
)
SENTENCES = 4000  # to train on
DEVS = {"none": 0, "50 sentences": 50, "all": None}
DRAWS = 200


def data(*parts: str) -> Path:
    return Path(os.environ["SAPO_DATA"]).joinpath(*parts)


def calibrations(learner: str, seed: int) -> list[Calibration]:
    """On the test set of CoNLL-2000: as trained, and fitted in all ways."""
    sentences = list(sapo.read(data("conll2000", "train.txt.gz")))
    cut = len(sentences) * 9 // 10
    tagger = sapo.train(sentences[:cut], template="chunking", learner=learner, seed=seed, calibrate=False)
    dev = [(list(zip(*one.columns.values(), strict=True)), one.tags) for one in sentences[cut:]]
    taggers = [tagger, *(sapo.calibrate(tagger, dev, by=by) for by in BY)]
    return [measure(one, data("conll2000", "test.txt.gz"), columns=["word", "pos", "label"]) for one in taggers]


def row(learner: str, name: str, found: Sequence[Calibration]) -> str:
    def cells(one: Calibration, over: str) -> list[float]:
        kinds = one.exact if over == "exact" else one.top_n
        return [value for kind in KINDS for value in (kinds[kind].ece, kinds[kind].brier)]

    lines = []
    for over, shown in (("exact", "all taggings"), ("top_n", "top 5")):
        means = [statistics.mean(values) for values in zip(*(cells(one, over) for one in found), strict=True)]
        temperatures = statistics.mean(one.temperature for one in found)
        numbers = " | ".join(f"{mean:.4f}" for mean in means)
        lines.append(f"| {learner} | {name} | {temperatures:.3g} | {shown} | {numbers} |")
    return "\n".join(lines)


def learners(seeds: Sequence[int]) -> None:
    print("| learner | | temperature | relative to | tokens ECE | Brier | spans ECE | Brier | sentences ECE | Brier |")
    print("|---|---|--:|---|--:|--:|--:|--:|--:|--:|")
    for learner in LEARNERS:
        states = list(zip(*(calibrations(learner, seed) for seed in seeds), strict=True))
        for name, found in zip(("as trained", *(f"fitted by {by}" for by in BY)), states, strict=True):
            print(row(learner, name, found), flush=True)


@dataclass(frozen=True)
class Trained:
    """The spans of a test set before and after calibration, and how many CPU seconds training and calibration took."""

    before: Reliability
    after: Reliability
    tokens_before: float  # ECE
    tokens_after: float
    temperature: float
    seconds: float
    more: float


def trained(corpus: str, dev: int | None, seed: int) -> Trained:
    train = list(sapo.read(data("zoo", corpus, "train.txt.gz")))
    train = [train[i] for i in np.unique(np.linspace(0, len(train) - 1, SENTENCES).round().astype(int))]
    sentences = list(sapo.read(data("zoo", corpus, "dev.txt.gz")))[:dev]
    started = time.process_time()
    run = start(make_plan(train, dev=sentences or None, seed=seed))
    outcome = run.finish()
    finished = time.process_time()
    tagger = run.calibrated(outcome).tagger
    ended = time.process_time()
    plain = sapo.Tagger(replace(tagger.model, temperature=1.0))
    test = [
        (list(zip(*one.columns.values(), strict=True)), one.tags)
        for one in sapo.read(data("zoo", corpus, "test.txt.gz"))
    ]
    before, after = (measure(one, test, n=1) for one in (plain, tagger))
    return Trained(
        before.exact["spans"],
        after.exact["spans"],
        before.exact["tokens"].ece,
        after.exact["tokens"].ece,
        after.temperature,
        finished - started,
        ended - finished,
    )


def floor(found: Reliability) -> float:
    """Return the mean ECE of answers that are right as often as their probabilities say."""
    rng = np.random.default_rng(0)
    draws = sum(
        np.abs(rng.binomial(one.count, one.confidence, DRAWS) - one.count * one.confidence) for one in found.bins
    )
    return float(np.mean(draws)) / found.count


def zoo(seeds: Sequence[int]) -> None:
    for corpus in CORPORA:  # compile, so that no measured run does
        trained(corpus, None, seeds[0])
        break
    print("| corpus | dev set | spans | temperature | as trained | calibrated | floor | tokens | | seconds | more |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for corpus in CORPORA:
        for name, dev in DEVS.items():
            runs = [trained(corpus, dev, seed) for seed in seeds]

            def mean(values: Sequence[float]) -> float:
                return statistics.mean(values)

            seconds, more = mean([one.seconds for one in runs]), mean([one.more for one in runs])
            cells = [
                f"{mean([one.after.count for one in runs]):.0f}",
                f"{mean([one.temperature for one in runs]):.3g}",
                *(
                    f"{mean(values):.3f}"
                    for values in (
                        [one.before.ece for one in runs],
                        [one.after.ece for one in runs],
                        [floor(one.after) for one in runs],
                        [one.tokens_before for one in runs],
                        [one.tokens_after for one in runs],
                    )
                ),
                f"{seconds:.1f}",
                f"{100 * more / seconds:.0f} %",
            ]
            print(f"| {corpus} | {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    what, *numbers = sys.argv[1:] or ["learners"]
    seeds = [int(seed) for seed in numbers]
    if what == "zoo":
        zoo(seeds or [0])
    else:
        learners(seeds or [0, 1, 2])


if __name__ == "__main__":
    main()
