"""How SAPO's update approaches the CRF's gradient as n grows, on the bundled sample.

    python benchmarks/unification.py [PICTURE.svg]

A chunker is trained for a few passes; then, for 100 sentences and each n, the distance of SAPO's update from the
gradient of the CRF at the same weights, relative to the length of the gradient. Prints the mean; with a file name, also
draws it (this needs matplotlib).
"""

import sys

import numpy as np

from sapo.corpus.sample import COLUMNS, sample_path
from sapo.features.encoded import EncodedCorpus
from sapo.learn import LEARNERS
from sapo.learn.loop import learn
from sapo.learn.records import State
from sapo.learn.weights import Weights
from sapo.training.plan import make_settings
from sapo.training.run import read_data

SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500)
SENTENCES = 100


def step(learner: str, weights: Weights, corpus: EncodedCorpus, sentence: int, n: int) -> np.ndarray:
    """The change of all weights by one sample, at a rate of 1 and without regularizer."""
    moved = Weights.of(weights.features.copy(), weights.edges.copy(), transitions=weights.transitions)
    settings = make_settings({"n": n, "strength": 0.0, "regularizer": "none"})
    for _ in LEARNERS[learner].run(moved, corpus, np.array([sentence]), 1.0, settings, np.zeros(20)):
        pass
    changes = (moved.features - weights.features, moved.edges - weights.edges)
    return np.concatenate([change.ravel() for change in changes])


def distances(passes: int) -> list[float]:
    prepared = read_data(sample_path("train"), template="chunking", columns=COLUMNS, label="chunk")
    weights = Weights.zeros(prepared.encoder.features, len(prepared.labels))
    state = State(weights)
    learn(LEARNERS["sapo"].run, prepared.corpus, make_settings({"epochs": passes, "tolerance": 0.0}), state)
    weights.fold()
    chosen = np.random.default_rng(0).permutation(prepared.corpus.sentences)[:SENTENCES].tolist()
    totals = np.zeros(len(SIZES))
    for sentence in chosen:
        gradient = step("crf", weights, prepared.corpus, sentence, 1)
        for i, n in enumerate(SIZES):
            far = np.linalg.norm(step("sapo", weights, prepared.corpus, sentence, n) - gradient)
            totals[i] += far / np.linalg.norm(gradient)
    return (totals / SENTENCES).tolist()


def main() -> None:
    results = {passes: distances(passes) for passes in (1, 3, 10)}
    print("| passes | " + " | ".join(f"n = {n}" for n in SIZES) + " |")
    print("|--:|" + "--:|" * len(SIZES))
    for passes, row in results.items():
        print(f"| {passes} | " + " | ".join(f"{value:.3f}" for value in row) + " |")
    if len(sys.argv) > 1:
        import matplotlib as mpl

        mpl.use("svg")
        mpl.rcParams["svg.hashsalt"] = "sapo"
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(figsize=(6, 3.6))
        for (passes, row), style in zip(results.items(), ("-", "--", ":"), strict=True):
            axes.plot(SIZES, row, linestyle=style, linewidth=2, label=f"after {passes} pass{'es' * (passes > 1)}")
        axes.set_xscale("log")
        axes.set_xlabel("n")
        axes.set_ylabel("distance from the CRF's gradient, relative")
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        figure.tight_layout()
        figure.savefig(sys.argv[1], metadata={"Date": None})


if __name__ == "__main__":
    main()
