"""Chunking with feature dictionaries, written for sklearn-crfsuite: only the import is another one.

SAPO_DATA=DIRECTORY python examples/chunking_sklearn_crfsuite.py

The directory holds conll2000/train.txt.gz and conll2000/test.txt.gz, as `python -m laboratory data` fetches them.
"""

import gzip
import os
import sys
from pathlib import Path
from typing import Any

from sapo.compat import CRF, metrics  # was: from sklearn_crfsuite import CRF, metrics

Token = tuple[str, str, str]  # word, part of speech, chunk
NEIGHBOURS = (-1, 1)


def read(path: Path) -> list[list[Token]]:
    """The sentences of a column file."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        blocks = stream.read().strip().split("\n\n")
    return [[(word, pos, chunk) for word, pos, chunk in map(str.split, block.splitlines())] for block in blocks]


def token_features(sentence: list[Token], place: int) -> dict[str, Any]:
    """What one token and its two neighbors look like."""
    word, pos, _ = sentence[place]
    features: dict[str, Any] = {
        "bias": 1.0,
        "word": word.lower(),
        "last 3": word[-3:],
        "last 2": word[-2:],
        "all upper": word.isupper(),
        "title": word.istitle(),
        "digits": word.isdigit(),
        "pos": pos,
        "pos class": pos[:2],
    }
    for step in NEIGHBOURS:
        if 0 <= place + step < len(sentence):
            word, pos, _ = sentence[place + step]
            features[f"{step:+d} word"] = word.lower()
            features[f"{step:+d} title"] = word.istitle()
            features[f"{step:+d} all upper"] = word.isupper()
            features[f"{step:+d} pos"] = pos
            features[f"{step:+d} pos class"] = pos[:2]
        else:
            features["first" if step < 0 else "last"] = True
    return features


def features_and_chunks(sentences: list[list[Token]]) -> tuple[list[list[dict[str, Any]]], list[list[str]]]:
    X = [[token_features(sentence, place) for place in range(len(sentence))] for sentence in sentences]
    return X, [[chunk for _, _, chunk in sentence] for sentence in sentences]


def main() -> None:
    data = os.environ.get("SAPO_DATA")
    if data is None:
        sys.exit("set SAPO_DATA to the directory of the corpora")
    X_train, y_train = features_and_chunks(read(Path(data) / "conll2000" / "train.txt.gz"))
    X_test, y_test = features_and_chunks(read(Path(data) / "conll2000" / "test.txt.gz"))

    crf = CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True)
    crf.fit(X_train, y_train)

    labels = [label for label in crf.classes_ if label != "O"]
    predicted = crf.predict(X_test)
    print(
        "F1 of tokens, weighted:", round(metrics.flat_f1_score(y_test, predicted, average="weighted", labels=labels), 4)
    )
    by_name = sorted(labels, key=lambda label: (label[2:], label[0]))
    print(metrics.flat_classification_report(y_test, predicted, labels=by_name, digits=3, zero_division=0))

    strongest = sorted(crf.transition_features_.items(), key=lambda item: -item[1])[:5]
    for (before, after), weight in strongest:
        print(f"{before:>6} -> {after:6} {weight:.2f}")


if __name__ == "__main__":
    main()
