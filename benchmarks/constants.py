"""What the constants of the defaults matter. Usage: SAPO_DATA=DIRECTORY python benchmarks/constants.py [CORPUS ...]

With --epochs, 8,000 sentences of each corpus (or all) are learned with 15, 30 and 60 epochs, and with as many as trials
choose, seeds 0 and 1. The other settings are those that the trials choose.

Without it:

Each constant of training/choice.py is halved, doubled and, where that is possible, left out, alone. 800 sentences of
each corpus are learned with the ready-made features of zoo.py, seeds 0 to 2, and scored on the first 1,500 sentences of
dev, or of the rest of train where there is no dev file. The table has the mean difference over the corpora to the
defaults, and the worst.
"""

import math
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import sapo
from sapo.training import choice
from zoo_corpora import Corpus, Pair, features, find_corpora

CORPORA = ("anystyle", "bc2gm", "conll2000", "linnaeus", "snips", "turku-ner", "twitter-pos", "ud-estonian-ewt")
SENTENCES, JUDGED, SEEDS = 800, 1500, 3
MANY_SENTENCES, FEW_SEEDS = 8000, 2
EPOCHS = choice.EPOCHS_SMALL
# the name of the constant, and the options or constants of `choice` to set for a factor
OPTIONS: dict[str, tuple[float, Any]] = {
    "piece": (choice.PIECE, lambda value: {"piece": int(value)}),
    "average": (choice.AVERAGE, lambda value: {"average": value}),
    "hide": (choice.HIDE, lambda value: {"hide": value}),
    "fall of the rate": (choice.FALL, lambda value: {"decay": value ** (1 / EPOCHS)}),
    "epochs": (EPOCHS, lambda value: {"epochs": int(value)}),
    "stop_ratio": (choice.STOP_RATIO, lambda value: {"stop_ratio": value}),
    "drop": (choice.DROP, lambda value: {"drop": value}),
}
CONSTANTS = ("PASSES", "FEWEST_TOKENS", "BOLD")
OFF = {"piece": 0, "average": 0.0, "hide": 0.0, "stop_ratio": math.inf, "drop": 0.0}


def draw(corpus: Corpus, seed: int, count: int = SENTENCES) -> tuple[list[Pair], list[Pair]]:
    """Return sentences to learn from, drawn at random, and others to judge by."""
    sentences = list(corpus.sentences("train"))
    order = np.random.default_rng([seed, count]).permutation(len(sentences)).tolist()
    if "dev" in corpus.parts():
        judged = list(corpus.sentences("dev"))[:JUDGED]
    else:
        order, held_out = order[:-JUDGED], order[-JUDGED:]
        judged = [sentences[place] for place in held_out]
    learned = [sentences[place] for place in order[:count]]
    return tuple([(features(words), tags) for words, tags in some] for some in (learned, judged))  # type: ignore[return-value]


def scores(data: list[list[tuple[list[Pair], list[Pair]]]], **options: Any) -> list[float]:
    """Return the mean score of each corpus over the seeds."""
    found = []
    for seeds in data:
        runs = [
            sapo.train(learned, seed=seed, **options).evaluate(judged) for seed, (learned, judged) in enumerate(seeds)
        ]
        found.append(100 * statistics.mean(run.main[1] for run in runs))
    return found


def compare(names: list[str], usual: list[float], changed: list[float]) -> str:
    """Return the mean difference, and the worst with its corpus.

    >>> compare(["a", "b"], [80.0, 90.0], [81.0, 89.5])
    '+0.25 (-0.50 b)'
    """
    differences = [a - b for a, b in zip(changed, usual, strict=True)]
    worst = min(range(len(names)), key=differences.__getitem__)
    return f"{statistics.mean(differences):+.2f} ({differences[worst]:+.2f} {names[worst]})"


def epochs_table(names: list[str]) -> None:
    """Print the scores of fixed numbers of epochs and of the default, and how many that has."""
    print("| corpus | tokens | labels | 15 epochs | 30 | 60 | default | epochs of the default | its time |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    for corpus in find_corpora(Path(os.environ["SAPO_DATA"]), names):
        cells: dict[str, list[float]] = {}
        chosen, ratios = [], []
        for seed in range(FEW_SEEDS):
            learned, judged = draw(corpus, seed, MANY_SENTENCES)
            started = time.process_time()
            tagger = sapo.train(learned, seed=seed)
            seconds = time.process_time() - started
            settings = tagger.model.record["settings"]
            cells.setdefault("default", []).append(tagger.evaluate(judged).main[1])
            chosen.append(str(settings["epochs"]))
            for epochs in (15, 30, 60):
                options: dict[str, Any] = {"rate": settings["rate"], "strength": settings["strength"], "epochs": epochs}
                fixed = sapo.train(learned, seed=seed, **options)
                cells.setdefault(str(epochs), []).append(fixed.evaluate(judged).main[1])
            started = time.process_time()
            sapo.train(learned, seed=seed, epochs=15)
            ratios.append(seconds / (time.process_time() - started))
        tokens = sum(len(tags) for _, tags in learned)
        means = [f"{100 * statistics.mean(cells[name]):.2f}" for name in ("15", "30", "60", "default")]
        row = [corpus.name, f"{tokens:,}", str(len({tag for _, tags in learned for tag in tags})), *means]
        print(f"| {' | '.join([*row, ', '.join(chosen), f'{statistics.mean(ratios):.1f}'])} |", flush=True)


def main() -> None:
    names = sys.argv[1:] or list(CORPORA)
    if names[0] == "--epochs":
        epochs_table(names[1:])
        return
    data = [
        [draw(corpus, seed) for seed in range(SEEDS)] for corpus in find_corpora(Path(os.environ["SAPO_DATA"]), names)
    ]
    usual = scores(data)
    print(f"{', '.join(names)}: {', '.join(f'{value:.2f}' for value in usual)}\n")
    print(
        "| constant | value | half: mean (worst) | double: mean (worst) | off: mean (worst) |\n|---|--:|--:|--:|--:|",
        flush=True,
    )
    for name in (*OPTIONS, *CONSTANTS):
        value = OPTIONS[name][0] if name in OPTIONS else getattr(choice, name)
        cells = []
        for factor in (0.5, 2.0):
            if name in OPTIONS:
                changed = scores(data, **OPTIONS[name][1](factor * value))
            else:
                setattr(choice, name, type(value)(factor * value))
                changed = scores(data)
                setattr(choice, name, value)
            cells.append(compare(names, usual, changed))
        cells.append(compare(names, usual, scores(data, **{name: OFF[name]})) if name in OFF else "")
        print(f"| {name} | {value:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    if "SAPO_DATA" not in os.environ:
        sys.exit("set SAPO_DATA to the directory of the corpora")
    main()
