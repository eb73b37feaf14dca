"""Learning from one corrected sentence at a time, beside tagging one.

    SAPO_DATA=DIRECTORY python benchmarks/online.py

A model of the CoNLL-2000 training set, chunking preset, default settings, seed 0; then sentences of the test set one
after the other, each with its true tags: tag it, learn from it, tag it again. Then the same for sentences that bring a
label that is new.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sapo
from sapo.corpus import block_sentences, read_blocks

SENTENCES = 200
NEW_LABELS = 10


def main() -> None:
    corpora = Path(os.environ["SAPO_DATA"]) / "conll2000"
    tagger = sapo.train(corpora / "train.txt.gz", template="chunking")
    sentences = [
        (list(zip(*sentence.columns.values(), strict=True)), list(sentence.tags or ()))
        for block in read_blocks(corpora / "test.txt.gz")
        for sentence in block_sentences(block)
    ]
    sentences = [(tokens, tags) for tokens, tags in sentences if tokens][: SENTENCES + NEW_LABELS + 1]
    (warm, warm_tags), *sentences = sentences  # the first one loads the kernels

    made, trainer = timed(lambda: sapo.Trainer(tagger))
    trainer.update([(warm, warm_tags)])
    trainer.tagger.tag(warm)
    features = trainer.tagger.model.encoder.features
    before, learning, after, wrong_before, wrong_after = [], [], [], 0, 0
    for tokens, tags in sentences[:SENTENCES]:
        seconds, found = timed(lambda tokens=tokens: trainer.tagger.tag(tokens))
        before.append(seconds)
        wrong_before += found != tags
        learning.append(timed(lambda pair=(tokens, tags): trainer.update([pair]))[0])
        seconds, found = timed(lambda tokens=tokens: trainer.tagger.tag(tokens))
        after.append(seconds)
        wrong_after += found != tags
    features = trainer.tagger.model.encoder.features - features
    untouched = [timed(lambda tokens=tokens: tagger.tag(tokens))[0] for tokens, _ in sentences[:SENTENCES]]
    labels = []
    for number, (tokens, tags) in enumerate(sentences[SENTENCES:]):
        labels.append(timed(lambda pair=(tokens, [f"B-{number}", *tags[1:]]): trainer.update([pair]))[0])
    frozen, _ = timed(trainer.snapshot)

    print(
        f"{SENTENCES} sentences, {features:,} new features; {wrong_before} were wrong, {wrong_after} after learning\n"
    )
    print("| ms | median | worst |")
    print("|---|--:|--:|")
    row("learning from a sentence", learning)
    row("learning from a sentence with a new label", labels)
    row("tagging a sentence, before learning from it", before)
    row("tagging a sentence, after learning from it", after)
    row("tagging a sentence, the tagger that never learned on", untouched)
    row("making a Trainer", [made])
    row("a snapshot", [frozen])


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def row(what: str, seconds: list[float]) -> None:
    print(f"| {what} | {1e3 * np.median(seconds):.2f} | {1e3 * max(seconds):.2f} |")


if __name__ == "__main__":
    main()
