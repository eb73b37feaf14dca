"""`sapo.compat.CRF` beside `sklearn_crfsuite.CRF`: the same features, arguments and calls, in one run, on CoNLL-2000.

SAPO_DATA=DIRECTORY python benchmarks/compat.py [ALGORITHM ...]

Needs sklearn-crfsuite. Times are seconds of the processor, of one thread, so that neighbors disturb them less; the
compile cache is warm. The features are those of examples/chunking_sklearn_crfsuite.py, made once for both.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import sklearn_crfsuite

import sapo.compat
from sapo import jit
from sapo.evaluate.scores import score

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from chunking_sklearn_crfsuite import features_and_chunks, read

SYSTEMS = {"sapo.compat": sapo.compat.CRF, "sklearn-crfsuite": sklearn_crfsuite.CRF}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "lbfgs": {"c1": 0.1, "c2": 0.1, "max_iterations": 100},
    "l2sgd": {"c2": 0.1, "max_iterations": 30},
    "ap": {"max_iterations": 30},
    "pa": {"max_iterations": 30},
    "arow": {"max_iterations": 30},
}


def span_f1(gold: list[list[str]], found: Any) -> float:
    labels = sorted({label for tags in (*gold, *found) for label in tags})
    place = {label: number for number, label in enumerate(labels)}
    flat = [np.array([place[label] for tags in side for label in tags], np.int32) for side in (gold, found)]
    return score(labels, *flat, np.cumsum([0, *map(len, gold)])).main[1]


def seconds(work: Any) -> tuple[float, Any]:
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def main(chosen: list[str]) -> None:
    data = Path(os.environ["SAPO_DATA"]) / "conll2000"
    X, y = features_and_chunks(read(data / "train.txt.gz"))
    X_test, y_test = features_and_chunks(read(data / "test.txt.gz"))
    jit.compile_kernels()
    sapo.compat.CRF(max_iterations=1).fit(X[:50], y[:50]).predict(X[:50])  # loads the cache
    header = ("fit", "predict", "marginals", "accuracy", "span F1", "weights")
    print(f"{'algorithm':10} {'system':17}", *(f"{name:>9}" for name in header))
    for algorithm in chosen or ARGUMENTS:
        for name, system in SYSTEMS.items():
            crf = system(algorithm=algorithm, all_possible_transitions=True, **ARGUMENTS[algorithm])
            fit, _ = seconds(lambda crf=crf: crf.fit(X, y))
            predict, found = seconds(lambda crf=crf: crf.predict(X_test))
            marginals, _ = seconds(lambda crf=crf: crf.predict_marginals(X_test))
            accuracy = sapo.sklearn.metrics.flat_accuracy_score(y_test, found)
            figures = f"{fit:9.1f} {predict:9.2f} {marginals:9.2f} {100 * accuracy:9.2f}"
            f1, weights = 100 * span_f1(y_test, found), len(crf.state_features_)
            print(f"{algorithm:10} {name:17} {figures} {f1:9.2f} {weights:9,}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
