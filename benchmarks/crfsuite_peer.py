"""python-crfsuite on the features of the `chunking` preset, from a column file.

python crfsuite_peer.py train FILE MODEL ALGORITHM [MAX_ITERATIONS]   prints the seconds of each iteration
python crfsuite_peer.py tag FILE MODEL OUTPUT                         appends the tag column
"""

import gzip
import json
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pycrfsuite

WORDS = (-2, -1, 0, 1, 2)
WORD_PAIRS = ((-1, 0), (0, 1))
POS_PAIRS = ((-2, -1), (-1, 0), (0, 1), (1, 2))
POS_TRIPLES = ((-2, -1, 0), (-1, 0, 1), (0, 1, 2))


def sentences(path: str) -> Iterator[list[list[str]]]:
    opener = gzip.open if path.endswith(".gz") else open
    sentence: list[list[str]] = []
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                sentence.append(line.split())
            elif sentence:
                yield sentence
                sentence = []
    if sentence:
        yield sentence


def features(sentence: list[list[str]]) -> list[list[str]]:
    """The same 19 features a token."""

    def at(column: int, place: int) -> str:
        if place < 0:
            return f"_B{place}"
        return sentence[place][column] if place < len(sentence) else f"_B+{place - len(sentence) + 1}"

    result = []
    for t in range(len(sentence)):
        word = {d: at(0, t + d) for d in WORDS}
        pos = {d: at(1, t + d) for d in WORDS}
        result.append(
            [f"w{d}={word[d]}" for d in WORDS]
            + [f"w{a}{b}={word[a]}|{word[b]}" for a, b in WORD_PAIRS]
            + [f"p{d}={pos[d]}" for d in WORDS]
            + [f"p{a}{b}={pos[a]}|{pos[b]}" for a, b in POS_PAIRS]
            + [f"p{a}{b}{c}={pos[a]}|{pos[b]}|{pos[c]}" for a, b, c in POS_TRIPLES]
        )
    return result


def train(path: str, model: str, algorithm: str, iterations: int | None, *, lists: bool) -> None:
    trainer = pycrfsuite.Trainer(algorithm, verbose=False)
    if iterations:
        trainer.set("max_iterations", iterations)
    data = ((features(sentence), [token[-1] for token in sentence]) for sentence in sentences(path))
    for xs, ys in list(data) if lists else data:
        trainer.append(xs, ys)
    trainer.train(model)
    print(
        json.dumps(
            {
                "iterations": [entry["time"] for entry in trainer.logparser.iterations],
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


def tag(path: str, model: str, output: str) -> None:
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    started = time.perf_counter()
    tokens = 0
    with Path(output).open("w", encoding="utf-8") as out:
        for sentence in sentences(path):
            tokens += len(sentence)
            for token, label in zip(sentence, tagger.tag(features(sentence)), strict=True):
                out.write(" ".join(token) + f" {label}\n")
            out.write("\n")
    print(json.dumps({"tokens_per_second": tokens / (time.perf_counter() - started)}))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["train" | "train-lists" as how, path, model, algorithm, *rest]:
            train(path, model, algorithm, int(rest[0]) if rest else None, lists=how == "train-lists")
        case ["tag", path, model, output]:
            tag(path, model, output)
        case _:
            sys.exit(__doc__)
