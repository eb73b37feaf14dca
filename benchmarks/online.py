"""Learning from one corrected sentence at a time, beside tagging one.

    SAPO_DATA=DIRECTORY python benchmarks/online.py

A model of the CoNLL-2000 training set, chunking preset, default settings, seed 0; then sentences of the test set one
after the other, each with its true tags: tag it, learn from it, tag it again. F1 on the rest of the test set, before
and after, shows what that spoils. Then the same for sentences that bring a label that is new. Beside the time on the
clock stands that of the processor, which other programs on the machine do not lengthen so much.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sapo
from sapo.corpus.blocks import block_sentences
from sapo.corpus.formats import read_blocks
from sapo.tags.spans import loose_spans

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
    sentences = [(tokens, tags) for tokens, tags in sentences if tokens]
    sentences, rest = sentences[: SENTENCES + NEW_LABELS + 1], sentences[SENTENCES + NEW_LABELS + 1 :]
    (warm, warm_tags), *sentences = sentences  # the first one loads the kernels

    made, trainer = timed(lambda: sapo.Trainer(tagger))
    trainer.update([(warm, warm_tags)], new_labels=True)
    trainer.tagger.tag(warm)
    features = trainer.tagger.model.encoder.features
    learning, wrong_before, wrong_after = [], 0, 0
    for tokens, tags in sentences[:SENTENCES]:
        wrong_before += trainer.tagger.tag(tokens) != tags
        learning.append(timed(lambda pair=(tokens, tags): trainer.update([pair], new_labels=True))[0])
        wrong_after += trainer.tagger.tag(tokens) != tags
    features = trainer.tagger.model.encoder.features - features
    forgotten = sum(trainer.tagger.tag(tokens) != tags for tokens, tags in sentences[:SENTENCES])
    quality = [f1_of(one, rest) for one in (tagger, trainer.tagger)]
    tagging: dict[str, list[tuple[float, float]]] = {"before": [], "after": []}
    for _ in range(3):  # in turn, each with a warm cache
        for name, one in (("before", tagger), ("after", trainer.tagger)):
            tagging[name] += [timed(lambda tokens=tokens, one=one: one.tag(tokens))[0] for tokens, _ in sentences]
    labels = []
    for number, (tokens, tags) in enumerate(sentences[SENTENCES:]):
        labels.append(
            timed(lambda pair=(tokens, [f"B-{number}", *tags[1:]]): trainer.update([pair], new_labels=True))[0]
        )
    frozen, _ = timed(trainer.snapshot)

    print(
        f"{SENTENCES} sentences, {features:,} new features; {wrong_before} were wrong, {wrong_after} after learning "
        f"each, {forgotten} after learning all"
    )
    print(f"F1 on the other {len(rest):,}: {quality[0]:.2f} before, {quality[1]:.2f} after\n")
    print("| ms | median | worst | processor, median | worst |")
    print("|---|--:|--:|--:|--:|")
    row("learning from a sentence", learning)
    row("learning from a sentence with a new label", labels)
    row("tagging a sentence, the tagger as trained", tagging["before"])
    row("tagging a sentence, the tagger after all updates", tagging["after"])
    row("making a Trainer", [made])
    row("a snapshot", [frozen])


def f1_of(tagger: sapo.Tagger, sentences: list[Any]) -> float:
    """F1 of spans, in percent."""
    gold = [loose_spans(tags) for _, tags in sentences]
    found = [loose_spans(tags) for tags in tagger.tag_many([tokens for tokens, _ in sentences])]
    right = sum(len(set(one) & set(other)) for one, other in zip(gold, found, strict=True))
    return 200 * right / (sum(map(len, gold)) + sum(map(len, found)))


def timed(work: Callable[[], Any]) -> tuple[tuple[float, float], Any]:
    """Milliseconds on the clock and of the processor, and what came of it."""
    clock, processor = time.perf_counter(), time.process_time()
    result = work()
    return (1e3 * (time.perf_counter() - clock), 1e3 * (time.process_time() - processor)), result


def row(what: str, times: list[tuple[float, float]]) -> None:
    median, worst = np.median(times, axis=0), np.max(times, axis=0)
    print(f"| {what} | {median[0]:.2f} | {worst[0]:.2f} | {median[1]:.2f} | {worst[1]:.2f} |")


if __name__ == "__main__":
    main()
