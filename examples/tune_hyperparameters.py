"""Search for good settings of `SequenceLabeler` with Ray Tune, on all cores or a whole cluster.

python examples/tune_hyperparameters.py [TRIALS]

Each trial trains on the bundled sample with other settings, and is judged by cross-validation. Needs
pip install '.[ray]' 'ray[tune]'.
"""

import sys
import tempfile
from typing import Any

import sapo
from sapo.corpus.sample import COLUMNS, sample_path

FOLDS = 3
Sentences = tuple[list[list[tuple[str, str]]], list[list[str]]]


def sample() -> Sentences:
    """Tokens (word and part of speech) and chunks of the sample."""
    found = list(sapo.read(sample_path("train"), columns=COLUMNS, label="chunk"))
    tokens = [list(zip(sentence.words, sentence.columns["pos"], strict=True)) for sentence in found]
    return tokens, [list(sentence.tags or ()) for sentence in found]


def objective(settings: dict[str, Any], data: Sentences) -> dict[str, float]:
    """Train with these settings on some of the sentences, and tag the others."""
    scores = []
    for fold in range(FOLDS):
        unseen = [number % FOLDS == fold for number in range(len(data[0]))]
        labeler = sapo.SequenceLabeler(epochs=8, settings=settings)
        labeler.fit(*(_chosen(part, unseen, False) for part in data))
        scores.append(labeler.score(*(_chosen(part, unseen, True) for part in data)))
    return {"score": sum(scores) / FOLDS}


def _chosen(part: list[Any], unseen: list[bool], wanted: bool) -> list[Any]:
    return [one for one, is_unseen in zip(part, unseen, strict=True) if is_unseen == wanted]


def search(trials: int, room: str) -> tuple[dict[str, Any], float]:
    """Return the best settings of so many trials, and their score. Ray Tune keeps its files in the directory `room`."""
    from ray import tune

    space = {"rate": tune.loguniform(0.02, 1.0), "strength": tune.loguniform(0.01, 3.0), "piece": tune.choice([0, 8])}
    tuner = tune.Tuner(
        tune.with_resources(tune.with_parameters(objective, data=sample()), {"cpu": 1}),
        param_space=space,
        tune_config=tune.TuneConfig(metric="score", mode="max", num_samples=trials),
        run_config=tune.RunConfig(verbose=0, storage_path=room),
    )
    best = tuner.fit().get_best_result()
    return dict(best.config or {}), float((best.metrics or {})["score"])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as room:
        settings, score = search(int(sys.argv[1]) if len(sys.argv) > 1 else 10, room)
    print(f"{score:.4f} with {settings}")
