"""What hashed features cost: the dev score with a dictionary and with hashes of 18, 20 and 22 bits.

    SAPO_DATA=DIRECTORY python benchmarks/hash_bits.py [--epochs 10] [--seeds 3]

Each corpus is trained with its usual template, with the rate and strength below, and scored on its dev file (for
CoNLL-2000, which has none, on its last tenth). Prints the mean score over the seeds, the number of features that get a
weight, the bytes of the model, and the processor seconds of a run beside those with a dictionary.
"""

import argparse
import os
import statistics
import time
from pathlib import Path
from typing import Any

import sapo
from sapo.corpus.labelled import Source
from sapo.model.file import model_bytes

TASKS: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "conll2000": ("conll2000/train.txt.gz", None, {}),
    "ud-ewt": ("ud-ewt/train.conllu.gz", "ud-ewt/dev.conllu.gz", {"label": "upos"}),
    "wnut17": ("zoo/wnut17/train.txt.gz", "zoo/wnut17/dev.txt.gz", {}),
}
FIXED: dict[str, Any] = {"rate": 0.2, "strength": 0.3}
BITS = (None, 18, 20, 22)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    directory = Path(os.environ["SAPO_DATA"])
    for name in options.tasks:
        train, dev, how = TASKS[name]
        data, held_out = parts(directory / train, None if dev is None else directory / dev, how)
        usual = 0.0
        for bits in BITS:
            scores, seconds, features, size = [], [], 0, 0
            for seed in range(options.seeds):
                started = time.process_time()
                tagger = sapo.train(data, hash_bits=bits, seed=seed, epochs=options.epochs, **FIXED, **how)
                seconds.append(time.process_time() - started)
                scores.append(100 * tagger.evaluate(held_out, **how).main[1])
                rows = tagger.model.parameters.rows
                features, size = int((rows.entries()[0] > 0).sum()), len(model_bytes(tagger.model))
            mean, took = statistics.mean(scores), statistics.mean(seconds)
            usual = usual or took
            spread = ", ".join(f"{score:.2f}" for score in scores)
            print(
                f"{name:10} {'dictionary' if bits is None else f'{bits} bits':10} {mean:.2f} ({spread})  "
                f"{features:,} features  {size / 1e6:.1f} MB  {took / usual:.2f} x",
                flush=True,
            )


def parts(train: Path, dev: Path | None, how: dict[str, Any]) -> tuple[Source, Source]:
    """Return what to train on and what to score: two files, or nine tenths of one and the last tenth."""
    if dev is not None:
        return train, dev
    pairs = [(list(zip(*one.columns.values(), strict=True)), list(one.tags or ())) for one in sapo.read(train, **how)]
    cut = len(pairs) * 9 // 10
    return pairs[:cut], pairs[cut:]


if __name__ == "__main__":
    main()
