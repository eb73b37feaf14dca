"""What clusters and name lists are worth. Usage:

    SAPO_DATA=DIRECTORY python benchmarks/knowledge.py table [--part dev] [--vectors FILE] \\
        [--more NAME=FILE ...] [CORPUS ...]
    SAPO_DATA=DIRECTORY python benchmarks/knowledge.py curve [--sentences N ...] [--part test] [CORPUS ...]
    SAPO_DATA=DIRECTORY python benchmarks/knowledge.py cost [--vectors FILE] [CORPUS ...]

`table` trains with the defaults and scores the test file, or another part: means of seeds 0 to 2, without knowledge and
with each source of it. "own" are 500 clusters that `sapo cluster` makes from the texts of the directory `unlabelled`;
they contain training texts of some of the corpora, and may contain other sentences of test documents.
`--vectors` adds word vectors, and `--more` files of clusters, or lists of names if the file ends in .txt, such as
--more twitter=clusters.gz.

`curve` has the scores for 10 to 3,000 labeled sentences, with and without clusters of its own, and draws them. With
`--sentences` or `--part` it draws nothing.

`cost` compares time, speed and size with and without clusters, or vectors, on CoNLL-2000 and JNLPBA.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sapo
from sapo.training.unlabeled import clusters_of
from zoo_corpora import Corpus, find_corpora

SEEDS = 3
TEXTS = {  # by corpus; there is no text in other languages
    **dict.fromkeys(("anatem", "bc2gm", "bionlp13cg", "jnlpba", "linnaeus", "genia-pos"), "biomedical"),
    **dict.fromkeys(("conll2000", "ud-ewt", "wnut17", "twitter-pos", "snips", "masc-pos", "wsj-sample"), "english"),
}
CURVE = ("anatem", "conll2000", "ud-ewt", "wnut17")
COST = ("conll2000", "jnlpba")
SENTENCES = (10, 30, 100, 300, 1000, 3000)


def own_clusters(corpus: Corpus, data: Path) -> Any:
    """Return the clusters of the text of the same kind."""
    return clusters_of([data / "unlabelled" / f"{TEXTS[corpus.name]}.txt.gz"], _ignore, _ignore)


def _ignore(line: str) -> None:
    pass


def scores(corpus: Corpus, part: str, **options: Any) -> list[float]:
    """Return the scores of all seeds."""
    found = []
    for seed in range(SEEDS):
        tagger = sapo.train(corpus.path("train"), label=corpus.label, seed=seed, calibrate=False, **options)
        found.append(100 * tagger.evaluate(corpus.path(part)).main[1])
    return found


def show(name: str, what: str, found: list[float]) -> None:
    """Print a row."""
    mean, spread = statistics.mean(found), statistics.stdev(found) if len(found) > 1 else 0.0
    print(f"| {name} | {what} | {mean:.2f} ± {spread:.2f} |", flush=True)


def table(corpora: Iterable[Corpus], data: Path, part: str, more: dict[str, str], vectors: str | None) -> None:
    """Print the scores with each source."""
    print("| corpus | knowledge | score |\n|---|---|--:|")
    lists = {name: path for name, path in more.items() if path.endswith(".txt")}
    for corpus in corpora:
        clusters: dict[str, Any] = {"own": own_clusters(corpus, data)} if corpus.name in TEXTS else {}
        clusters |= {name: path for name, path in more.items() if name not in lists}
        show(corpus.name, "none", scores(corpus, part))
        for name, source in clusters.items():
            show(corpus.name, f"clusters ({name})", scores(corpus, part, clusters=source))
        if len(clusters) > 1:
            show(corpus.name, "all clusters", scores(corpus, part, clusters=list(clusters.values())))
        if lists:
            show(corpus.name, "names", scores(corpus, part, names=lists))
            both: dict[str, Any] = {"clusters": list(clusters.values()), "names": lists}
            show(corpus.name, "all clusters and names", scores(corpus, part, **both))
        if vectors:
            every = {"clusters": list(clusters.values()), "names": lists, "vectors": vectors}
            show(corpus.name, "vectors", scores(corpus, part, vectors=vectors))
            show(corpus.name, "all clusters, names and vectors", scores(corpus, part, **every))


def curve(corpora: Iterable[Corpus], data: Path, counts: Sequence[int], part: str | None) -> None:
    """Print the scores for more and more labeled sentences; draw those of the default counts on the dev files."""
    print("| corpus | sentences | words | clusters | gain |\n|---|--:|--:|--:|--:|")
    drawn: dict[str, list[tuple[int, float, float]]] = {}
    for corpus in corpora:
        sentences = list(corpus.sentences("train"))
        judged = list(corpus.sentences(part or ("dev" if "dev" in corpus.parts() else "test")))
        own = own_clusters(corpus, data)
        for count in counts or SENTENCES:
            pairs = []
            for seed in range(SEEDS):
                chosen = np.random.default_rng([seed, count]).permutation(len(sentences))[:count]
                train = [sentences[place] for place in chosen.tolist()]
                found = [sapo.train(train, seed=seed, calibrate=False, clusters=given) for given in (None, own)]
                pairs.append([100 * tagger.evaluate(judged).main[1] for tagger in found])
            words, clusters = (statistics.mean(column) for column in zip(*pairs, strict=True))
            drawn.setdefault(corpus.name, []).append((count, words, clusters))
            row = f"{words:.1f} | {clusters:.1f} | {clusters - words:+.1f}"
            print(f"| {corpus.name} | {min(count, len(sentences)):,} | {row} |", flush=True)
    if not counts and part is None:
        draw(drawn, Path(__file__).parent.parent / "docs" / "pictures" / "clusters.png")


def draw(drawn: dict[str, list[tuple[int, float, float]]], path: Path) -> None:
    """Draw a panel for each corpus."""
    from sapo.cli.plots import BLUE, GREY, Panel, Picture, save

    styles: dict[str, dict[str, Any]] = {
        "with clusters of raw text": {"color": BLUE, "marker": "o"},
        "words alone": {"color": GREY, "marker": "o"},
    }

    def panel(rows: list[tuple[int, float, float]]) -> Callable[[Any], None]:
        def draw_curves(axes: Any) -> None:
            counts, words, clusters = zip(*rows, strict=True)
            for scores, style in zip((clusters, words), styles.values(), strict=True):
                axes.plot(counts, scores, **style)
            axes.set_xscale("log")
            axes.set_xlabel("labeled sentences")
            axes.set_ylabel("F1 or accuracy")

        return draw_curves

    panels = tuple(Panel(name, panel(rows)) for name, rows in drawn.items())
    picture = Picture("clusters", "Labeled sentences and score", "", panels, columns=2, legend=tuple(styles.items()))
    path.write_bytes(save(picture, 2, "png"))


def cost(corpora: Iterable[Corpus], data: Path, vectors: str | None) -> None:
    """Print time, speed and size with clusters or vectors, as ratios to those without."""
    print("| corpus | knowledge | training | tagging speed | model |\n|---|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as directory:
        for corpus in corpora:
            model = Path(directory) / "m.sapo"
            known: dict[str, Any] = {"vectors": vectors} if vectors else {"clusters": own_clusters(corpus, data)}
            rounds = [[_measured(corpus, given, model) for given in ({}, known)] for _ in range(3)]
            ratios = [[b / a for a, b in zip(*pair, strict=True)] for pair in rounds]
            training, speed, size = (statistics.median(column) for column in zip(*ratios, strict=True))
            row = f"{training:.2f} | {1 / speed:.2f} | {size:.2f}"
            print(f"| {corpus.name} | {', '.join(known)} | {row} |", flush=True)


def _measured(corpus: Corpus, known: dict[str, Any], model: Path) -> tuple[float, float, int]:
    """Return processor seconds of training and of tagging, and bytes of the model."""
    begun = time.process_time()
    tagger = sapo.train(corpus.path("train"), calibrate=False, **known)
    tagger.save(model)
    trained = time.process_time()
    tagger = sapo.Tagger.load(model)
    seconds = []
    for _ in range(6):  # the first time, kernels are loaded
        started = time.process_time()
        tagger.evaluate(corpus.path("train"))
        seconds.append(time.process_time() - started)
    return trained - begun, min(seconds), model.stat().st_size


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("table", "curve", "cost"))
    parser.add_argument("corpora", nargs="*")
    parser.add_argument("--part")
    parser.add_argument("--sentences", nargs="*", type=int, default=[], metavar="N")
    parser.add_argument("--vectors", metavar="FILE")
    parser.add_argument("--more", nargs="*", default=[], metavar="NAME=FILE")
    given = parser.parse_intermixed_args(sys.argv[1:])
    data = Path(os.environ["SAPO_DATA"])
    if given.what == "cost":
        cost(find_corpora(data, given.corpora or COST), data, given.vectors)
    elif given.what == "curve":
        curve(find_corpora(data, given.corpora or CURVE), data, given.sentences, given.part)
    else:
        more = dict(one.split("=", 1) for one in given.more)
        table(find_corpora(data, given.corpora), data, given.part or "test", more, given.vectors)


if __name__ == "__main__":
    main()
