"""One sentence at a time with ready-made features, next to CRFsuite in the same process.

    python benchmarks/latency.py [ROUNDS]

Needs sklearn-crfsuite. Both train on the bundled sample with the same dictionaries (`features` of dropin.py), then tag
test sentences that are cut or joined to 15 tokens. Times are processor time in microseconds a sentence, the median of
ROUNDS rounds (default 15) in which the two take turns, after a warm-up. Sentences are repeated, as in CRFsuite's own
benchmarks; `new` changes a word of each sentence in each round, so that some features have not been seen before.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import sklearn_crfsuite

import sapo.compat
from dropin import features, read
from sapo import jit

LENGTH = 15  # tokens
SENTENCES = 60
Work = Callable[[Any, list[list[Any]]], object]


def single(crf: Any, sentences: list[list[Any]]) -> None:
    for sentence in sentences:
        crf.predict_single(sentence)


def marginals_single(crf: Any, sentences: list[list[Any]]) -> None:
    for sentence in sentences:
        crf.predict_marginals_single(sentence)


def set_tag_marginal(crf: Any, sentences: list[list[Any]]) -> None:
    """Tag as eli5 and parserator do: set a sentence, then ask for its tags and the probability of each."""
    tagger = crf.tagger_
    for sentence in sentences:
        tagger.set(sentence)
        for place, label in enumerate(tagger.tag()):
            tagger.marginal(label, place)


def batch(crf: Any, sentences: list[list[Any]]) -> None:
    crf.predict(sentences)


WORKS: dict[str, Work] = {
    "predict_single": single,
    "predict_single, new": single,
    "predict_marginals_single": marginals_single,
    "tagger_: set, tag, marginals": set_tag_marginal,
    "predict": batch,
    "predict, new": batch,
}


def seconds(work: Work, crf: Any, sentences: list[list[Any]]) -> float:
    start = time.process_time()
    work(crf, sentences)
    return (time.process_time() - start) / len(sentences)


def renewed(sentences: list[list[Any]], numbers: Iterator[int]) -> list[list[Any]]:
    """Return the sentences with a new word in each, in the features of its token."""
    return [
        [{**token, "word": f"new{next(numbers)}"} if place == 7 else token for place, token in enumerate(tokens)]
        for tokens in sentences
    ]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    train, test = read("sample-chunks", "train"), read("sample-chunks", "test")
    X = [[features(words, place) for place in range(len(words))] for words, _ in train]
    y = [tags for _, tags in train]
    run = [word for words, _ in test for word in words]
    cut = [run[start : start + LENGTH] for start in range(0, len(run) - LENGTH, LENGTH)]
    sentences = [[features(words, place) for place in range(LENGTH)] for words in cut[:SENTENCES]]
    given = {"algorithm": "lbfgs", "c1": 0.1, "c2": 0.1, "max_iterations": 50}
    ours, theirs = (kind(**given).fit(X, y) for kind in (sapo.compat.CRF, sklearn_crfsuite.CRF))
    jit.compile_kernels()
    features_of_token = statistics.mean(len(token) for sentence in sentences for token in sentence)
    print(f"{len(sentences)} sentences of {LENGTH} tokens with {features_of_token:.0f} features, processor time")
    print(f"{'microseconds a sentence':<32}{'sapo':>9}{'CRFsuite':>10}{'ratio':>8}")
    numbers = count()
    for name, work in WORKS.items():
        times: dict[str, list[float]] = {"sapo": [], "CRFsuite": []}
        for number in range(rounds + 3):
            asked = renewed(sentences, numbers) if name.endswith("new") else sentences
            for who, crf in (("sapo", ours), ("CRFsuite", theirs)):
                took = seconds(work, crf, asked)
                if number >= 3:
                    times[who].append(took)
        sapo_time, peer = (statistics.median(times[who]) * 1e6 for who in times)
        print(f"{name:<32}{sapo_time:>9.1f}{peer:>10.1f}{sapo_time / peer:>8.2f}")


if __name__ == "__main__":
    main()
