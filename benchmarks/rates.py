"""The calibrated start rate beside a grid of fixed ones, on chunking, part-of-speech and bio-entities.

    SAPO_DATA=DIRECTORY python benchmarks/rates.py

12 passes each, seed 0; the score of the last pass on the dev or test set. The bio template has many shared features
(substrings): it is where a rate that suits the others does harm.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from sapo.training.plan import make_settings
from sapo.training.run import read_data, train_on, with_start_rate

GRID = (0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
BIO = """
word[-2]
word[-1]
word[0]
word[1]
word[2]
word[-1] & word[0]
word[0] & word[1]
normalized(word)
substrings(word, 9)
shape(word)
short_shape(word)
shape(word[-1])
shape(word[1])
label[-1]
"""


def main() -> None:
    corpora = Path(os.environ["SAPO_DATA"])
    with tempfile.TemporaryDirectory() as room:
        bio = Path(room) / "bio.txt"
        bio.write_text(BIO)
        tasks: list[tuple[str, str, str, str | Path, dict[str, Any]]] = [
            ("chunking", "conll2000/train.txt.gz", "conll2000/test.txt.gz", "chunking", {}),
            ("UPOS", "ud-ewt/train.conllu.gz", "ud-ewt/dev.conllu.gz", "pos", {}),
            ("XPOS", "ud-ewt/train.conllu.gz", "ud-ewt/dev.conllu.gz", "pos", {"label": "xpos"}),
            ("bio", "jnlpba/train.txt.gz", "jnlpba/test.txt.gz", bio, {}),
        ]
        print("| task | " + " | ".join(map(str, GRID)) + " | auto | its rate | best of the grid less auto |")
        print("|---|" + "--:|" * (len(GRID) + 3))
        for name, train, dev, template, reading in tasks:
            prepared = read_data(corpora / train, dev=corpora / dev, template=template, **reading)
            settings = make_settings({"epochs": 12, "patience": 99, "tolerance": 0.0})
            auto = with_start_rate(prepared, settings, "sapo").rate
            scores = []
            for rate in (*GRID, auto):
                chosen = make_settings({"epochs": 12, "patience": 99, "tolerance": 0.0, "rate": rate})
                scores.append(100 * (train_on(prepared, chosen).history[-1].dev or 0.0))
            cells = " | ".join(f"{score:.2f}" for score in scores)
            print(f"| {name} | {cells} | {auto} | {max(scores[:-1]) - scores[-1]:.2f} |", flush=True)


if __name__ == "__main__":
    if "SAPO_DATA" not in os.environ:
        sys.exit(__doc__)
    main()
