"""What the trials choose, and what it costs. Usage: SAPO_DATA=DIRECTORY python benchmarks/boldness.py [CORPUS ...]

Each corpus is learned with each pair of rate and strength that the trials of training/choice.py know, from careful to
bold, and scored on its dev file, or on a tenth of train. Then the trials choose, seeds 0 to 2, on held-out sentences of
train. The table has the scores, what was chosen, and the mean difference between the choice and the usual pair.
"""

import dataclasses
import os
import statistics
import sys
from pathlib import Path

import numpy as np

from sapo.learn.sapo import sapo_pass
from sapo.training import choice
from sapo.training.data import default_template, encode_data
from sapo.training.plan import make_plan
from sapo.training.run import train_on
from zoo_corpora import Corpus, Pair, find_corpora

CORPORA = ("anatem", "bc2gm", "bionlp13cg", "conll2000", "linnaeus", "nyt-ingredients", "turku-ner", "ud-estonian-ewt")
SEEDS = 3


def divided(corpus: Corpus) -> tuple[list[Pair], list[Pair]]:
    """Return sentences to learn from and sentences to judge by."""
    sentences = list(corpus.sentences("train"))
    if "dev" in corpus.parts():
        return sentences, list(corpus.sentences("dev"))
    order = np.random.default_rng(0).permutation(len(sentences)).tolist()
    tenth = len(sentences) // 10
    return [sentences[place] for place in order[tenth:]], [sentences[place] for place in order[:tenth]]


def main(names: list[str]) -> None:
    """Print the table."""
    gains = []
    print(
        "| corpus | "
        + " | ".join(f"{rate:g}, {strength:g}" for rate, strength in choice.BOLDNESS)
        + " | chosen | gain |"
    )
    print("|---" * (len(choice.BOLDNESS) + 3) + "|")
    for corpus in find_corpora(Path(os.environ["SAPO_DATA"]), names or CORPORA):
        train, judged = divided(corpus)
        plan = make_plan(train, dev=judged)
        data = encode_data(plan, pick=default_template)
        usual = choice.usual_settings(plan.settings, plan.automatic, few=data.corpus.tokens < choice.SMALL)
        unseen = dataclasses.replace(data, dev=None)
        scores = []
        for rate, strength in choice.BOLDNESS:
            model = train_on(unseen, dataclasses.replace(usual, rate=rate, strength=strength)).tagger
            scores.append(100 * model.evaluate(judged).main[1])
        chosen = []
        for seed in range(SEEDS):
            settings = dataclasses.replace(plan.settings, seed=seed)
            found = choice.choose_settings(sapo_pass, unseen, settings, plan.automatic, lambda line: None)
            chosen.append(choice.BOLDNESS.index((found.rate, found.strength)))
        gains.append(statistics.mean(scores[place] - scores[choice.USUAL] for place in chosen))
        rates = ", ".join(f"{choice.BOLDNESS[place][0]:g}" for place in chosen)
        print(
            f"| {corpus.name} | " + " | ".join(f"{score:.2f}" for score in scores) + f" | {rates} | {gains[-1]:+.2f} |",
            flush=True,
        )
    print(f"\nmean gain over rate {choice.BOLDNESS[choice.USUAL][0]:g}: {statistics.mean(gains):+.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
