"""Dev score and size of models by regularizer. Usage: python benchmarks/regularizers.py TRAIN DEV [l1:0.3 ...]

Each regularizer has its default strength, unless one is given. Default settings, seeds 0, 1 and 2.
"""

import sys

import numpy as np

from sapo import Settings
from sapo.training.run import read_data, train_on, with_start_rate

SEEDS = (0, 1, 2)


def main(train: str, dev: str, *others: str) -> None:
    """Print a line for each regularizer: the score of the pass that is kept, and the weights that are not 0."""
    data = read_data(train, dev=dev)
    for name in others or ("l2", "none", "l1"):
        regularizer, _, given = name.partition(":")
        scores, weights = [], []
        for seed in SEEDS:
            settings = Settings(regularizer=regularizer, strength=float(given) if given else None, seed=seed)
            outcome = train_on(data, with_start_rate(data, settings))
            scores.append(100 * (outcome.history[outcome.best_epoch - 1].dev or 0.0))
            weights.append(outcome.tagger.model.parameters.nonzero)
        print(
            f"{name} (strength {settings.strength}): dev {data.score_name} {np.mean(scores):.2f} "
            f"({' / '.join(f'{score:.2f}' for score in scores)}), {np.mean(weights):,.0f} weights",
            flush=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
