"""`sapo.compat.CRF` beside `sklearn_crfsuite.CRF` with the same arguments: scores on test files, for every algorithm.

    SAPO_DATA=DIRECTORY python benchmarks/dropin.py [CORPUS ...] [ALGORITHM ...]

Needs sklearn-crfsuite. The sample comes with the package; the others lie in DIRECTORY/zoo, a directory each with train
and test files. Tokens are dictionaries (bias, word, affixes, shape, neighbors), made once for both. Scores are F1
of spans where the labels mark spans, else accuracy. CRFsuite cannot fix the order of the sentences, so its online
algorithms differ from run to run by some tenths.
"""

import gzip
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import sklearn_crfsuite

import sapo.compat
from sapo import jit
from sapo.corpus.sample import sample_path
from sapo.evaluate.scores import score

Sentences = list[tuple[list[str], list[str]]]
CORPORA = ("sample-chunks", "sample-entities", "twitter-pos", "anystyle", "weibo-ner", "bionlp13cg", "ud-greek-gdt")
RUNS: dict[str, dict[str, Any]] = {
    "lbfgs": {"algorithm": "lbfgs"},
    "lbfgs, c1 0.1, c2 0.1, 100 iterations": {"algorithm": "lbfgs", "c1": 0.1, "c2": 0.1, "max_iterations": 100},
    "l2sgd": {"algorithm": "l2sgd"},
    "l2sgd, c2 0.1, 50 iterations": {"algorithm": "l2sgd", "c2": 0.1, "max_iterations": 50},
    "ap": {"algorithm": "ap"},
    "ap, 10 iterations": {"algorithm": "ap", "max_iterations": 10},
    "pa": {"algorithm": "pa"},
    "arow": {"algorithm": "arow"},
}


def read(corpus: str, part: str) -> Sentences:
    treebank = corpus.startswith("ud-")
    if corpus.startswith("sample"):
        text, column = sample_path(part).read_text("utf-8"), 2 if corpus == "sample-chunks" else 3
        word = 0
    else:
        (path,) = (Path(os.environ["SAPO_DATA"]) / "zoo" / corpus).glob(f"{part}.*")
        text = gzip.decompress(path.read_bytes()).decode("utf-8")
        word, column = (1, 3) if treebank else (0, -1)
    sentences = []
    for block in text.strip().split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n")]
        rows = [row for row in rows if not treebank or row[0].isdigit()]  # not comments, nor words that are no tokens
        sentences.append(([row[word] for row in rows], [row[column] for row in rows]))
    return sentences


def features(words: list[str], place: int) -> dict[str, Any]:
    """The features of a token: its word, affixes and shape, and the words beside it."""
    word = words[place]
    found: dict[str, Any] = {
        "bias": 1.0,
        "lower": word.lower(),
        "prefix": word[:2],
        "suffix2": word[-2:],
        "suffix3": word[-3:],
        "upper": word.isupper(),
        "title": word.istitle(),
        "digit": word.isdigit(),
    }
    for step in (-1, 1):
        if 0 <= place + step < len(words):
            other = words[place + step]
            found |= {f"{step:+d}lower": other.lower(), f"{step:+d}title": other.istitle()}
        else:
            found["first" if step < 0 else "last"] = True
    return found


def prepared(sentences: Sentences) -> tuple[list[list[dict[str, Any]]], list[list[str]]]:
    return [[features(words, place) for place in range(len(words))] for words, _ in sentences], [
        y for _, y in sentences
    ]


def main_score(gold: list[list[str]], found: Any) -> float:
    place: dict[str, int] = {}
    flat = [
        np.array([place.setdefault(label, len(place)) for tags in side for label in tags], np.int32)
        for side in (gold, found)
    ]
    return 100 * score(list(place), *flat, np.cumsum([0, *map(len, gold)])).main[1]


def main(arguments: list[str]) -> None:
    only = [name for name in arguments if name in {run["algorithm"] for run in RUNS.values()}]
    chosen = [name for name in arguments if name in CORPORA]
    jit.compile_kernels()
    print("| corpus | arguments | sapo.compat | sklearn-crfsuite | difference | seconds |")
    print("|---|---|--:|--:|--:|--:|", flush=True)
    for corpus in chosen or CORPORA:
        X, y = prepared(read(corpus, "train"))
        X_test, y_test = prepared(read(corpus, "test"))
        for name, arguments_of in RUNS.items():
            if only and arguments_of["algorithm"] not in only:
                continue
            scores, seconds = [], []
            for system in (sapo.compat.CRF, sklearn_crfsuite.CRF):
                started = time.process_time()
                crf = system(**arguments_of).fit(X, y)
                seconds.append(time.process_time() - started)
                scores.append(main_score(y_test, crf.predict(X_test)))
            ours, theirs = scores
            times = f"{seconds[0]:.0f}, {seconds[1]:.0f}"
            print(f"| {corpus} | {name} | {ours:.2f} | {theirs:.2f} | {ours - theirs:+.2f} | {times} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
