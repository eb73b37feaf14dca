"""sapo beside python-crfsuite on many corpora. Usage: SAPO_DATA=DIRECTORY python benchmarks/zoo.py [--help]

Every corpus of SAPO_DATA/zoo and five others, with the same ready-made features for both, and with the presets of sapo.
A run that is in the results file is not run again, so that after Ctrl-C the same command goes on.
"""

import argparse
import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import sapo
from sapo.corpus.files import write_file
from sapo.errors import SapoError
from sapo.evaluate.scores import Scores, score
from zoo_corpora import Corpus, Pair, find_corpora
from zoo_table import PEERS, TITLES, draw, make_rows, run_key, table

SEEDS = (0, 1, 2)
SETTINGS: dict[str, tuple[str, dict[str, float]]] = {
    "L-BFGS 0.1": ("lbfgs", {"c1": 0.1, "c2": 0.1}),
    "L-BFGS": ("lbfgs", {}),
    "ap": ("ap", {}),
}
WARM_UP = 300  # sentences
LONGEST = 600.0  # seconds that a run of python-crfsuite may be expected to take
# Expected seconds of all iterations for each token and pair of labels; the features of a token take as long as
# FEATURES pairs. Roughly, from small corpora: how many iterations L-BFGS needs depends on the data.
COSTS = {"L-BFGS 0.1": 2e-6, "L-BFGS": 8e-7, "ap": 1.5e-7}
FEATURES = 60


class Bench:
    """One corpus and its features, made when they are first needed."""

    def __init__(self, corpus: Corpus, room: Path) -> None:
        self.corpus, self.room = corpus, room
        self.pairs: Callable[[str], list[Pair]] = cache(corpus.pairs)
        tags = [tags for _, tags in corpus.sentences("train")]
        self.tokens = sum(map(len, tags))
        self.labels = sorted({tag for some in tags for tag in some})
        self.warm: set[str] = set()

    def expected_seconds(self, peer: str) -> float:
        return COSTS[peer] * self.tokens * (len(self.labels) ** 2 + FEATURES)

    def run(self, system: str, seed: int) -> dict[str, Any]:
        """Train and evaluate; return what is kept of a run."""
        if system not in self.warm:
            self._warm_up(system)
            self.warm.add(system)
        data = self._data(self.corpus, system)  # before the clock starts
        wall, processor = time.perf_counter(), time.process_time()
        tagger = self._crfsuite(data, system) if system in SETTINGS else self._sapo(data, seed)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        found = {part: self._evaluate(tagger, system, part) for part in self.corpus.parts()}
        return {
            "scores": {part: round(100 * value, 3) for part, (_, value) in found.items()},
            "measure": next(iter(found.values()))[0],
            "labels": len(self.labels),
            "seconds": round(wall, 3),
            "processor_seconds": round(processor, 3),
        }

    def _warm_up(self, system: str) -> None:
        """Train on a few sentences, so that no import, compiling or loading of kernels is measured."""
        if system in SETTINGS:
            importlib.import_module("pycrfsuite")
        else:
            self._sapo(self._data(self.corpus.beginning(self.room, WARM_UP), system), seed=0)

    def _data(self, corpus: Corpus, system: str) -> Path | list[Pair]:
        if system == "presets":
            return corpus.path("train")
        return self.pairs("train") if corpus is self.corpus else corpus.pairs("train")

    def _sapo(self, data: Path | list[Pair], seed: int) -> sapo.Tagger:
        return sapo.train(data, label=self.corpus.label, seed=seed)

    def _crfsuite(self, data: Any, peer: str) -> Any:
        import pycrfsuite

        trainer = pycrfsuite.Trainer(*SETTINGS[peer], verbose=False)
        for tokens, tags in data:
            trainer.append(tokens, tags)
        model = str(self.room / "peer.crfsuite")
        trainer.train(model)
        tagger = pycrfsuite.Tagger()
        tagger.open(model)
        return tagger

    def _evaluate(self, tagger: Any, system: str, part: str) -> tuple[str, float]:
        if system == "presets":
            whole: Scores = tagger.evaluate(self.corpus.path(part))
            return whole.main
        tokens, gold = zip(*self.pairs(part), strict=True)
        found = tagger.tag_many(tokens) if system == "sapo" else map(tagger.tag, tokens)
        return main_score(self.labels, gold, list(found))


def main_score(labels: Iterable[str], gold: Sequence[list[str]], found: Sequence[list[str]]) -> tuple[str, float]:
    """Return F1 of spans or accuracy, by the rules of `sapo eval`. `labels` are those of training.

    >>> main_score(["DT", "NN"], [["DT", "NN"], ["XX", "NN"]], [["DT", "NN"], ["DT", "NN"]])
    ('accuracy', 0.75)
    """
    known = list(dict.fromkeys([*labels, *(tag for tags in gold for tag in tags)]))
    numbers = {label: number for number, label in enumerate(known)}
    right, given = (np.array([numbers[tag] for tags in some for tag in tags], np.int32) for some in (gold, found))
    return score(known, right, given, np.cumsum([0, *map(len, gold)])).main


def read_results(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise SapoError(f"{path}: not a results file; delete it to run all again, or give another to --results")
    return found


def add_result(path: Path, key: str, result: dict[str, Any]) -> None:
    """Add a run to the file as it is now: another process may have added some."""
    results = {**read_results(path), key: result}
    with write_file(path) as stream:
        stream.write((json.dumps(results, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode())


def run_all(corpora: Iterable[Corpus], path: Path, room: Path, *, slow: bool) -> None:
    """Run what is not in the file yet. Without `slow`, leave out runs of python-crfsuite that would take too long."""
    wanted = [(system, seed) for system in TITLES for seed in SEEDS] + [(peer, 0) for peer in PEERS]
    for corpus in corpora:
        done = read_results(path)
        left = [run for run in wanted if run_key(corpus.name, *run) not in done]
        if not left:
            continue
        bench = Bench(corpus, room)
        for system, seed in left:
            key = run_key(corpus.name, system, seed)
            if system in SETTINGS and not slow and (expected := bench.expected_seconds(system)) > LONGEST:
                print(
                    f"{key}: left out, would take about {expected / 60:,.0f} minutes; --slow runs it", file=sys.stderr
                )
                continue
            result = bench.run(system, seed)
            add_result(path, key, result)
            print(f"{key}: {result['scores']}, {result['seconds']:.1f} s", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpora", default="", metavar="A,B", help="default: all")
    parser.add_argument(
        "--dev", action="store_true", help="scores on dev; where there is no such file, on a tenth of train, held out"
    )
    parser.add_argument("--slow", action="store_true", help="also run python-crfsuite where it takes over 10 minutes")
    parser.add_argument("--table", action="store_true", help="run nothing: show what is in the results")
    parser.add_argument("--results", type=Path, default=Path("runs/zoo.json"), metavar="FILE", help="%(default)s")
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="draw the differences")
    options = parser.parse_args(arguments)
    if "SAPO_DATA" not in os.environ:
        parser.error("set SAPO_DATA to the directory of the corpora")
    options.results.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        corpora = find_corpora(Path(os.environ["SAPO_DATA"]), [name for name in options.corpora.split(",") if name])
        if options.dev:
            corpora = [corpus.with_dev(room) for corpus in corpora]
        if not options.table:
            run_all(corpora, options.results, room, slow=options.slow)
    results, names = read_results(options.results), [corpus.name for corpus in corpora]
    part = "dev" if options.dev else "test"
    panels = {system: make_rows(results, names, system, part, SEEDS) for system in TITLES}
    for system, rows in panels.items():
        print(f"{TITLES[system]}, scores on {part}:\n\n{table(rows)}\n")
    if options.picture:
        draw(panels, options.picture)


if __name__ == "__main__":
    try:
        main()
    except SapoError as error:
        sys.exit(f"zoo.py: {error}")
