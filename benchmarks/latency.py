"""One sentence at a time, next to CRFsuite in the same process; then the first sentences of a new process.

    python benchmarks/latency.py [ROUNDS]

Needs sklearn-crfsuite. Both train on the bundled sample with the same dictionaries (`features` of dropin.py), then tag
test sentences that are cut or joined to 15 tokens. Times are processor time in microseconds a sentence, the median of
ROUNDS rounds (default 15) in which the two take turns, after a warm-up. Sentences are repeated, as in CRFsuite's own
benchmarks; `new` changes a word of each sentence in each round, so that some features have not been seen before.

The models of templates have the words alone and make the same features of them (TEMPLATE). CRFsuite is timed with its
features made once and, as in a program, made from the words of each sentence.

At the end, new processes open the models of ready-made features and tag sentence after sentence. Kernels are in the
cache by then. Times are milliseconds since the first import, of the processor and on the clock.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import sklearn_crfsuite

import sapo
import sapo.compat
from dropin import features, read
from sapo import jit

LENGTH = 15  # tokens
SENTENCES = 60
TEMPLATE = """bias
lower(word)
prefix(word, 2)
suffix(word, 2)
suffix(word, 3)
classes(word)
lower(word[-1])
lower(word[1])
shape(word[-1])
shape(word[1])
"""
NEW_PROCESS = """
import sys, time
began = time.perf_counter(), time.process_time()
who, model, counts = sys.argv[1], sys.argv[2], [int(text) for text in sys.argv[3:]]
sentences = eval(sys.stdin.read())
if who == "sapo":
    from sapo.compat.pycrfsuite import Tagger
else:
    from pycrfsuite import Tagger
tagger = Tagger()
tagger.open(model)
for done in range(1, max(counts) + 1):
    tagger.tag(sentences[done % len(sentences)])
    if done in counts:
        print((time.process_time() - began[1]) * 1000, (time.perf_counter() - began[0]) * 1000)
"""
FIRST = (1, 10, 100, 1000, 10000)
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


def in_turn(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> list[float]:
    """Return the medians of the times of both, in microseconds a sentence."""
    times: list[list[float]] = [[], []]
    for number in range(rounds + 3):
        for work, found in zip((ours, theirs), times, strict=True):
            start = time.process_time()
            work()
            if number >= 3:
                found.append((time.process_time() - start) / SENTENCES * 1e6)
    return [statistics.median(found) for found in times]


def templates(cut: list[list[str]], train: Any, crfsuite: Any, rounds: int) -> None:
    """Time models of templates, one sentence at a time and in a batch."""
    tagger = sapo.train(train, template=_written(TEMPLATE), learner="crf-lbfgs", epochs=50)
    jit.compile_kernels()
    made = [[features(words, place) for place in range(LENGTH)] for words in cut]
    numbers = count()

    def each(words: list[list[str]]) -> None:
        for sentence in words:
            tagger.tag(sentence)

    def from_words(words: list[list[str]]) -> None:
        for sentence in words:
            crfsuite.predict_single([features(sentence, place) for place in range(LENGTH)])

    def changed() -> list[list[str]]:
        return [[*words[:7], f"new{next(numbers)}", *words[8:]] for words in cut]

    rows: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "template, features made": (lambda: each(cut), lambda: single(crfsuite, made)),
        "template, from words": (lambda: each(cut), lambda: from_words(cut)),
        "template, from words, new": (lambda: each(changed()), lambda: from_words(changed())),
        "template, batch, features made": (lambda: tagger.tag_many(cut), lambda: crfsuite.predict(made)),
    }
    for name, (ours, theirs) in rows.items():
        mine, peer = in_turn(ours, theirs, rounds)
        print(f"{name:<32}{mine:>9.1f}{peer:>10.1f}{mine / peer:>8.2f}")


def _written(text: str) -> str:
    path = Path(tempfile.mkdtemp()) / "template.txt"
    path.write_text(text, "utf-8")
    return str(path)


def new_processes(ours: Any, theirs: Any, sentences: list[list[Any]]) -> None:
    """Time the first sentences of new processes."""
    with tempfile.TemporaryDirectory() as name:
        ours._trained().save(Path(name) / "ours")
        Path(name, "theirs").write_bytes(Path(theirs.modelfile.name).read_bytes())
        print(f"{'ms from import to sentence':<28}" + "".join(f"{number:>14}" for number in FIRST))
        for who, model in (("sapo", "ours"), ("sapo", "ours"), ("CRFsuite", "theirs")):
            command = [sys.executable, "-c", NEW_PROCESS, who, str(Path(name) / model), *map(str, FIRST)]
            done = subprocess.run(command, input=repr(sentences), text=True, capture_output=True, check=True)
            times = [
                f"{float(cpu):.0f} / {float(clock):.0f}" for cpu, clock in map(str.split, done.stdout.splitlines())
            ]
            print(f"{who + ', processor / clock':<28}" + "".join(f"{text:>14}" for text in times), flush=True)


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
        print(f"{name:<32}{sapo_time:>9.1f}{peer:>10.1f}{sapo_time / peer:>8.2f}", flush=True)
    templates(cut[:SENTENCES], train, theirs, rounds)
    new_processes(ours, theirs, sentences)


if __name__ == "__main__":
    main()
