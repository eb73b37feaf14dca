"""Does teaching save work? Usage: SAPO_DATA=DIRECTORY python benchmarks/teach.py [--help]

A simulated person goes through open sentences in some order, corrects what the model got wrong, and accepts. The model
learns each accepted sentence at once, and is trained from scratch on all of them now and then, as in `sapo teach`. The
score of the model trained from scratch is compared with that of one trained on the whole pool.
A run that is in the results file is not run again, so that after Ctrl-C the same command goes on.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sapo
from sapo.apps.taggers import doubt
from sapo.apps.teach.predictions import Variety, choose
from sapo.errors import SapoError
from sapo.tags.spans import loose_spans
from sapo.training.unlabeled import word_clusters
from teach_table import GOALS, ORDERS, draw, reached, run_key, table
from zoo import add_result, main_score, read_results
from zoo_corpora import Corpus, find_corpora

CORPORA = ("conll2000", "wnut17", "turku-ner", "ud-ewt")
SEEDS = (0, 1, 2)
POOL = 4000  # open sentences
CANDIDATES = 2000  # of these, drawn at random, the next ones are chosen
SCORED = 1000  # sentences to score on
FIRST = 10  # sentences before the first model
GROWTH = 1.25  # the model is trained from scratch, and scored, when there are this many times the sentences
ORDER = {"least sure": "least-sure", "most different": "different", "random": "random"}
TEMPLATES = {True: "ner", False: "pos-best"}  # as in sapo teach; both need nothing but words

Pair = tuple[list[str], list[str]]  # words and tags


def keystrokes(gold: Sequence[str], shown: Sequence[str] | None, *, spans: bool) -> int:
    """Return the keys that a person presses: two for each correction (select, label), and Enter.

    A span that is marked replaces those under it; one that stands where nothing is must be removed (select, delete).
    `shown` is what the model says, or None if there is none: then everything must be marked.

    >>> keystrokes(["B-LOC", "I-LOC", "O"], ["B-LOC", "O", "O"], spans=True)
    3
    >>> keystrokes(["DT", "NN"], None, spans=False)
    5
    """
    if not spans:
        return 1 + 2 * (len(gold) if shown is None else sum(a != b for a, b in zip(gold, shown, strict=True)))
    wanted, given = loose_spans(gold), loose_spans(shown or ())
    missing = [span for span in wanted if span not in given]
    idle = [one for one in given if not any(one.start < two.end and two.start < one.end for two in wanted)]
    return 1 + 2 * (len(missing) + len(idle))


@dataclass(slots=True)
class Work:
    """What a person has done so far."""

    sentences: int = 0
    tokens: int = 0
    keys: int = 0  # with a model that learns each sentence
    keys_fixed: int = 0  # with a model that is trained from scratch now and then, and learns nothing between
    keys_alone: int = 0  # without a model

    def add(self, gold: Sequence[str], live: Sequence[str] | None, fixed: Sequence[str] | None, *, spans: bool) -> None:
        self.sentences += 1
        self.tokens += len(gold)
        self.keys += keystrokes(gold, live, spans=spans)
        self.keys_fixed += keystrokes(gold, fixed, spans=spans)
        self.keys_alone += keystrokes(gold, None, spans=spans)


class Lesson:
    """One pool of sentences, and a test set."""

    def __init__(self, corpus: Corpus, part: str, seed: int, *, clusters: bool = True) -> None:
        pool = [(list(words), tags) for words, tags in corpus.sentences("train") if words]
        test = [(list(words), tags) for words, tags in corpus.sentences(part) if words]
        self.seed = seed
        self.pool: list[Pair] = _sample(pool, POOL, seed)
        self.test: list[Pair] = _sample(test, SCORED, 0)  # the same for all seeds
        self.clusters = word_clusters(words for words, _ in self.pool) if clusters else None
        self.labels = sorted({tag for _, tags in pool for tag in tags})
        self.spans = bool(loose_spans([tag for _, tags in pool[:500] for tag in tags])) and "O" in self.labels

    def train(self, pairs: Sequence[Pair]) -> sapo.Tagger:
        return sapo.train(pairs, template=TEMPLATES[self.spans], seed=self.seed, clusters=self.clusters)

    def score(self, tagger: sapo.Tagger) -> tuple[str, float]:
        found = tagger.tag_many([words for words, _ in self.test])
        return main_score(self.labels, [tags for _, tags in self.test], found)

    def run(self, order: str) -> dict[str, Any]:
        """Work through the pool until the last goal is reached twice in a row; return the checkpoints."""
        measure, full = self.score(self.train(self.pool))
        points = []
        for point in self._points(order):
            points.append(point)
            if all(one["score"] >= max(GOALS) * full for one in points[-2:]) and len(points) > 1:
                break
        return {"measure": measure, "full": full, "pool": len(self.pool), "points": points}

    def _points(self, order: str) -> Iterator[dict[str, Any]]:
        rng = np.random.default_rng(self.seed)
        variety = Variety([words for words, _ in self.pool])
        open_ones = list(range(len(self.pool)))
        accepted: list[Pair] = []
        work = Work()
        trainer: sapo.Trainer | None = None
        fixed: sapo.Tagger | None = None
        while open_ones:
            count = FIRST if trainer is None else max(1, round(len(accepted) * (GROWTH - 1)))
            listed = sorted(rng.permutation(open_ones)[:CANDIDATES].tolist())
            for one in self._next(order, listed, count, trainer, variety):
                words, tags = self.pool[one]
                work.add(
                    tags,
                    None if trainer is None else trainer.tagger.tag(words),
                    None if fixed is None else fixed.tag(words),
                    spans=self.spans,
                )
                if trainer is not None:
                    trainer.update([(words, tags)], new_labels=True)
                accepted.append((words, tags))
                variety.label(one)
                open_ones.remove(one)
            live = None if trainer is None else self.score(trainer.tagger)[1]
            fixed = self.train(accepted)
            trainer = sapo.Trainer(fixed)
            point = {name: getattr(work, name) for name in Work.__slots__}
            yield {**point, "score": self.score(fixed)[1], "live_score": live}

    def _next(
        self, order: str, listed: list[int], count: int, trainer: sapo.Trainer | None, variety: Variety
    ) -> list[int]:
        name = ORDER[order]
        if name == "least-sure" and trainer is None:
            name = "different"  # nobody is sure of anything yet
        doubts = None
        if name == "least-sure" and trainer is not None:
            arrays = trainer.snapshot().marginal_arrays([self.pool[one][0] for one in listed])
            doubts = [doubt(array.max(axis=1).tolist()) for array in arrays]
        return choose(name, listed, count, doubts=doubts, variety=variety, seed=self.seed)


def _sample(pairs: Sequence[Pair], count: int, seed: int) -> list[Pair]:
    return [pairs[place] for place in np.random.default_rng(seed).permutation(len(pairs))[:count]]


def run_all(corpora: Sequence[Corpus], part: str, path: Path, *, clusters: bool) -> None:
    """Run what is not in the file yet."""
    for seed in SEEDS:
        for corpus in corpora:
            done = read_results(path)
            left = [order for order in ORDERS if run_key(corpus.name, part, order, seed) not in done]
            lesson = Lesson(corpus, part, seed, clusters=clusters) if left else None
            for order in left:
                assert lesson is not None
                result = lesson.run(order)
                add_result(path, run_key(corpus.name, part, order, seed), result)
                found = [reached(result, goal) for goal in GOALS]
                counts = ", ".join("-" if one is None else f"{one['sentences']:.0f}" for one in found)
                print(f"{corpus.name} {order} {seed}: {counts} sentences", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpora", default=",".join(CORPORA), metavar="A,B", help="%(default)s")
    parser.add_argument(
        "--dev", action="store_true", help="scores on dev; where there is no such file, on a tenth of train, held out"
    )
    parser.add_argument("--no-clusters", action="store_true", help="without clusters of the words of the pool")
    parser.add_argument("--table", action="store_true", help="run nothing: show what is in the results")
    parser.add_argument("--results", type=Path, default=Path("runs/teach.json"), metavar="FILE", help="%(default)s")
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="draw the curves")
    options = parser.parse_args(arguments)
    if "SAPO_DATA" not in os.environ:
        parser.error("set SAPO_DATA to the directory of the corpora")
    options.results.parent.mkdir(parents=True, exist_ok=True)
    part = "dev" if options.dev else "test"
    with tempfile.TemporaryDirectory() as name:
        corpora = find_corpora(Path(os.environ["SAPO_DATA"]), options.corpora.split(","))
        if options.dev:
            corpora = [corpus.with_dev(Path(name)) for corpus in corpora]
        if not options.table:
            run_all(corpora, part, options.results, clusters=not options.no_clusters)
    results, names = read_results(options.results), [corpus.name for corpus in corpora]
    print(table(results, names, part, SEEDS))
    if options.picture:
        draw(results, names, part, SEEDS, options.picture)


if __name__ == "__main__":
    try:
        main()
    except SapoError as error:
        sys.exit(f"teach.py: {error}")
