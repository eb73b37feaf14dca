"""How far probabilities can be trusted on CoNLL-2000, before and after a temperature was fitted.

    SAPO_DATA=DIRECTORY python benchmarks/calibration.py [SEED ...]

Trains on the first 90 % of the training sentences, fits the temperature on the last 10 %, measures on the test set;
the chunking preset, default settings, the same features for all learners. Prints a Markdown table: the mean over the
seeds (0, 1, 2 where none are given), and the expected calibration error of the tokens at each seed.
"""

import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

import sapo
from sapo.training.calibration import Calibration, measure

LEARNERS = ("sapo", "crf", "perceptron-avg")
KINDS = ("tokens", "spans", "sentences")


def calibrations(learner: str, seed: int) -> list[Calibration]:
    """On the test set: as trained, and fitted in both ways."""
    corpora = Path(os.environ["SAPO_DATA"]) / "conll2000"
    sentences = list(sapo.read(corpora / "train.txt.gz"))
    cut = len(sentences) * 9 // 10
    tagger = sapo.train(sentences[:cut], template="chunking", learner=learner, seed=seed)
    dev = [(list(zip(*one.columns.values(), strict=True)), one.tags) for one in sentences[cut:]]
    taggers = [tagger, *(sapo.calibrate(tagger, dev, by=by) for by in ("tokens", "sequence"))]
    return [measure(one, corpora / "test.txt.gz", columns=["word", "pos", "label"]) for one in taggers]


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


def main() -> None:
    seeds = [int(seed) for seed in sys.argv[1:]] or [0, 1, 2]
    print("| learner | | temperature | over | tokens ECE | Brier | spans ECE | Brier | sentences ECE | Brier |")
    print("|---|---|--:|---|--:|--:|--:|--:|--:|--:|")
    by_seed = []
    for learner in LEARNERS:
        states = list(zip(*(calibrations(learner, seed) for seed in seeds), strict=True))
        for name, found in zip(("as trained", "fitted by tokens", "fitted by sequence"), states, strict=True):
            print(row(learner, name, found), flush=True)
            by_seed.append(f"{learner}, {name}: " + " / ".join(f"{one.exact['tokens'].ece:.4f}" for one in found))
    print(f"\nECE of tokens over all taggings at seeds {' / '.join(map(str, seeds))}")
    print("\n".join(by_seed))


if __name__ == "__main__":
    main()
