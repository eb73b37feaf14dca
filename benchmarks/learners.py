"""Every learner of the paper on CoNLL-2000: same features, same lattice, same loop.

    SAPO_DATA=DIRECTORY python benchmarks/learners.py [PICTURE.svg]

One run each (seed 0), 20 passes, each evaluated on the test set as the paper plots it. Prints a Markdown table; with
a file name, also draws the w-complexity by pass (this needs matplotlib).
"""

import os
import statistics
import sys
from pathlib import Path

from sapo.learn import LEARNERS
from sapo.learn.records import PassRecord
from sapo.training.plan import make_settings
from sapo.training.run import read_data, train_on, with_start_rate

PASSES = 20


def histories() -> dict[str, list[PassRecord]]:
    corpora = Path(os.environ["SAPO_DATA"]) / "conll2000"
    prepared = read_data(corpora / "train.txt.gz", dev=corpora / "test.txt.gz", template="chunking")
    settings = make_settings({"epochs": PASSES, "patience": PASSES, "tolerance": 0.0})
    settings = with_start_rate(prepared, settings, "sapo")
    print(f"start rate {settings.rate} for SAPO and CRF\n")
    return {name: train_on(prepared, settings, learner=name).history for name in LEARNERS}


def table(results: dict[str, list[PassRecord]]) -> None:
    seconds = {name: statistics.median(record.seconds for record in records[1:]) for name, records in results.items()}
    print(
        "| learner | F1, last pass | best pass | s a pass | to CRF | to perceptron | w-complexity, pass 1 | 10 | 20 |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, records in results.items():
        best = max(records, key=lambda record: record.dev or 0.0)
        sizes = " | ".join(f"{records[i].w_complexity:.5f}" for i in (0, PASSES // 2 - 1, PASSES - 1))
        print(
            f"| {name} | {100 * (records[-1].dev or 0):.2f} | {100 * (best.dev or 0):.2f} ({best.epoch}) "
            f"| {seconds[name]:.3f} | {seconds[name] / seconds['crf']:.2f} "
            f"| {seconds[name] / seconds['perceptron']:.2f} | {sizes} |"
        )


def draw(results: dict[str, list[PassRecord]], path: str) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "sapo"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.6))
    for name, style in zip(
        ("sapo", "crf", "perceptron", "mira", "mira-nbest"), ("-", "--", ":", "-.", (0, (1, 3))), strict=True
    ):
        sizes = [record.w_complexity / results[name][0].w_complexity for record in results[name]]
        axes.plot(range(1, PASSES + 1), sizes, linestyle=style, label=name, linewidth=2)
    axes.set_xticks(range(0, PASSES + 1, 5))
    axes.set_xlabel("pass")
    axes.set_ylabel("w-complexity (mean |w|), pass 1 = 1")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    if "SAPO_DATA" not in os.environ:
        sys.exit(__doc__)
    measured = histories()
    table(measured)
    if len(sys.argv) > 1:
        draw(measured, sys.argv[1])
