"""Rerank the n best taggings of an entity corpus with features of whole sentences, and compare the F1.

    python benchmarks/rerank.py bionlp13cg [--n 20] [--folds 5] [--seed 0] [--part dev] [--sentences 5000]

A corpus without a dev file is reported on the last tenth of its training sentences. The lists to learn from are made by
models that have not seen the sentences (folds); those to report by a model of all of them. The right candidate of a
list is the one with the best F1 on its sentence, the first of equal ones.
"""

import argparse
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import sapo
from sapo.tags.spans import span_borders
from sapo.training.rerank import CandidateList, Reranker, train_reranker
from zoo_corpora import find_corpora

Spans = set[tuple[int, int, str]]


def features(
    words: Sequence[str], tags: Sequence[str], rank: int, log_probability: float, first: Spans
) -> dict[str, float]:
    """Describe a whole tagging: what the tagger thinks, its entities, and how they go together."""
    spans = span_borders(tags)
    found = {"log-p": log_probability, f"rank={min(rank, 5)}": 1.0, "entities": float(len(spans))}
    texts: dict[str, set[str]] = {}
    inside = {t for start, end, _ in spans for t in range(start, end)}
    for start, end, kind in spans:
        text = " ".join(words[start:end]).lower()
        texts.setdefault(text, set()).add(kind)
        length = min(end - start, 6)
        shape = "".join(
            "A" if c.isupper() else "0" if c.isdigit() else "a" if c.isalpha() else c for c in words[end - 1][:6]
        )
        before, after = words[start - 1].lower() if start else "<", words[end].lower() if end < len(words) else ">"
        for name in (
            f"{kind} {length}",
            f"{kind} text {text}",
            f"{kind} first {words[start].lower()}",
            f"{kind} last {words[end - 1].lower()}",
            f"{kind} shape {shape} {length}",
            f"{kind} between {before} {after}",
            f"{kind} brackets {text.count('(') - text.count(')')}",
            f"{kind} new" if (start, end, kind) not in first else "same as best",
        ):
            found[name] = found.get(name, 0.0) + 1.0
    outside = {word for t, word in enumerate(words) if t not in inside and len(word) > 3}
    for name, number in (
        ("one text, two types", sum(len(kinds) > 1 for kinds in texts.values())),
        ("same word inside and outside", len({words[t] for t in inside} & outside)),
        ("lost", len(first - set(spans))),
    ):
        if number:
            found[name] = float(number)
    return found


def lists_of(
    tagger: sapo.Tagger, sentences: Sequence[tuple[Sequence[str], Sequence[str]]], n: int
) -> list[tuple[CandidateList, list[Spans], Spans]]:
    lists = []
    for words, gold_tags in sentences:
        best = tagger.nbest(list(words), n=n)
        gold, spans = set(span_borders(gold_tags)), [set(span_borders(one.tags)) for one in best]
        scores = [2 * len(one & gold) / max(1, len(one) + len(gold)) if one or gold else 1.0 for one in spans]
        every = [
            features(words, one.tags, k, math.log(max(one.probability, 1e-12)), spans[0]) for k, one in enumerate(best)
        ]
        lists.append((CandidateList(every, int(np.argmax(scores))), spans, gold))
    return lists


def f1(pairs: Sequence[tuple[Spans, Spans]]) -> float:
    right = sum(len(found & gold) for found, gold in pairs)
    return 200 * right / max(1, sum(len(found) + len(gold) for found, gold in pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--n", type=int, default=20)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="dev")
    parser.add_argument("--learner", default="sapo")
    parser.add_argument("--sentences", type=int, help="learn from the first ones only")
    options = parser.parse_args()
    with TemporaryDirectory() as room:
        corpus = find_corpora(Path(os.environ["SAPO_DATA"]), [options.corpus])[0]
        if options.part == "dev":
            corpus = corpus.with_dev(Path(room))
        train, test = list(corpus.sentences("train"))[: options.sentences], list(corpus.sentences(options.part))
    started = time.process_time()
    lists = []
    for fold in range(options.folds):
        rest = [one for i, one in enumerate(train) if i % options.folds != fold]
        lists += lists_of(sapo.train(rest, seed=options.seed), train[fold :: options.folds], options.n)
    print(f"{len(lists)} lists in {time.process_time() - started:.0f} s of processor time", flush=True)
    model: Reranker = train_reranker([one for one, _, _ in lists], learner=options.learner)
    reported = lists_of(sapo.train(train, seed=options.seed), test, options.n)
    chosen = [int(model.probabilities(one.features).argmax()) for one, _, _ in reported]
    before = f1([(spans[0], gold) for _, spans, gold in reported])
    after = f1([(spans[k], gold) for k, (_, spans, gold) in zip(chosen, reported, strict=True)])
    bound = f1([(spans[one.gold or 0], gold) for one, spans, gold in reported])
    print(f"{options.corpus} {options.part}: {before:.2f} -> {after:.2f} F1 (best of the {options.n}: {bound:.2f})")


if __name__ == "__main__":
    main()
