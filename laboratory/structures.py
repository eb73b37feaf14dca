"""Compare learners on structures other than chains: trees, edits of strings, and given lists.

Each task is a structure with training samples, and a score on test data after each pass. All weights are averaged over
the passes so far. The CRF is SAPO with all candidates of a list, so it exists only where the lists are given.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import sapo
from laboratory.report.curves import draw_curves
from laboratory.report.results import Curve, Mean
from laboratory.report.styles import legend_order
from laboratory.setup import Say
from sapo import jit
from sapo.cli.plots import Panel, Picture
from sapo.corpus.treebank import UDSentence, read_treebank
from sapo.jit.arrays import Floats, Longs, offsets_of
from sapo.learn.settings import Settings
from sapo.learn.structured import FlatWeights, GivenLists, PartStructure, learn_structure
from sapo.search.lists import CandidateLists, score_list
from sapo.search.trees import Tree, TreeSentence, lifted
from sapo.tagger.edits import SIZE, EditItem, EditModel, lists_of, propose
from sapo.tags.spans import span_borders
from sapo.training.edits import train_edits
from sapo.training.parser import Parser, TreeEncoder, TreeStructure

PASSES, SEEDS, N = 6, 3, 5
TREEBANK, ENTITIES = Path("zoo", "ud-greek-gdt"), Path("zoo", "bionlp13cg")
SENTENCES = {"trees": 300, "edits": 600, "lists": 1000}  # to learn from, so that everything takes minutes
SMALL = 100
BEAM, BITS = 8, 22
LIST = 20  # candidates of a sentence
LEARNERS = {
    "SAPO": "sapo",
    "CRF": "sapo",
    "Perc-Avg": "perceptron",
    "MIRA-Avg": "mira",
    "MIRA-Nbest-Avg": "mira-nbest",
}


@dataclass(frozen=True, slots=True)
class StructureTask:
    """A structure to learn, and how well weights do on the test data."""

    name: str
    metric: str
    structure: PartStructure
    size: int  # weights
    settings: Settings  # rate and strength count for SAPO and CRF only
    score: Callable[[Floats], float]
    most: int | None = None  # candidates of a sample, if all of them are known: then there is a CRF


@dataclass(frozen=True, slots=True)
class StructureRun:
    """The score after each pass of a run, and the seconds of processor time that a pass takes, as a median."""

    task: str
    metric: str
    system: str
    seed: int
    scores: list[float]
    seconds: float


def run_all(tasks: Sequence[StructureTask], seeds: int, passes: int, say: Say) -> list[StructureRun]:
    """Run every system on every task with each seed."""
    runs = []
    for task in tasks:
        for system in LEARNERS:
            for seed in range(seeds if system != "CRF" or task.most else 0):
                runs.append(_run(task, system, seed, passes))
                say(f"{task.name} {system} seed {seed}: {runs[-1].scores[-1]:.2f}, {runs[-1].seconds:.2f} s a pass")
    return runs


def _run(task: StructureTask, system: str, seed: int, passes: int) -> StructureRun:
    n = task.most or N if system == "CRF" else N
    settings = replace(task.settings, n=n, seed=seed, epochs=passes, average=1.0)
    seconds: list[float] = []
    begin = time.process_time()

    def evaluate(weights: Floats) -> float:
        nonlocal begin
        seconds.append(time.process_time() - begin)
        score = task.score(weights)
        begin = time.process_time()
        return score

    learned = learn_structure(
        task.structure, FlatWeights(task.size), settings, learner=LEARNERS[system], evaluate=evaluate
    )
    scores = [100 * (record.score or 0.0) for record in learned]
    return StructureRun(task.name, task.metric, system, seed, scores, float(np.median(seconds)))


def tree_task(train: Sequence[TreeSentence], test: Sequence[TreeSentence]) -> StructureTask:
    """Return the task to parse with gold tags: LAS."""
    trees = [lifted(sentence.tree) for sentence in train if sentence.tree is not None]
    encoder = TreeEncoder.of(train, trees, BITS)
    structure = TreeStructure(encoder, encoder.encode(train, trees), BEAM, learning=True)
    settings = Settings(rate=0.02, schedule="fixed", regularizer="none")

    def score(weights: Floats) -> float:
        return Parser(encoder, weights, BEAM).las(test)

    return StructureTask("trees", "LAS", structure, encoder.size, settings, score)


def edit_task(train: Sequence[EditItem], test: Sequence[EditItem]) -> StructureTask:
    """Return the task to rank lemmas with gold tags: accuracy.

    The candidates come from a model of one half of the items, so the ranker learns from forms that are new to it.
    """
    model = train_edits(train[::2])
    lists, gold = _edit_lists(train[1::2], model)
    test_lists, test_gold = _edit_lists(test, model)
    settings = Settings(rate=0.05, strength=0.1, decay=0.8)
    score = partial(_share_right, test_lists, test_gold)
    return StructureTask("edits", "accuracy", GivenLists(lists, gold), SIZE, settings, score, _longest(lists))


def _edit_lists(items: Sequence[EditItem], model: EditModel) -> tuple[CandidateLists, Longs]:
    proposals = propose([item.key for item in items], model.chain, model.known)
    pairs = zip(items, proposals, strict=True)
    gold = [one.outputs.index(item.output) if item.output in one.outputs else -1 for item, one in pairs]
    return lists_of(proposals, model.known), np.array(gold, np.int64)


def list_task(train: Sequence[sapo.Sentence], test: Sequence[sapo.Sentence]) -> StructureTask:
    """Return the task to rank the best taggings of a sentence by features of their spans: share of right taggings.

    Each half of the sentences is tagged by a model of the other one, the test sentences by a model of all.
    """
    names: dict[str, int] = {}
    halves = train[::2], train[1::2]
    learned = [one for own, other in (halves, halves[::-1]) for one in _tagged(_tagger(other), own)]
    lists, gold = _numbered(learned, names)
    test_lists, test_gold = _numbered(_tagged(_tagger(train), test), names)
    settings = Settings(rate=0.02, strength=10.0)
    score = partial(_share_right, test_lists, test_gold)
    return StructureTask("lists", "accuracy", GivenLists(lists, gold), len(names), settings, score, LIST)


def _tagger(sentences: Sequence[sapo.Sentence]) -> sapo.Tagger:
    return sapo.train(list(sentences), rate=0.2, strength=0.3, calibrate=False)


def _tagged(tagger: sapo.Tagger, sentences: Sequence[sapo.Sentence]) -> Iterator[tuple[list[dict[str, float]], int]]:
    """Yield the features of the best taggings of each sentence, and which one is right: -1 if none is."""
    for sentence in sentences:
        found = tagger.nbest(list(sentence.words), n=LIST)
        gold = [k for k, one in enumerate(found) if tuple(one.tags) == sentence.tags]
        yield [_features(sentence.words, one) for one in found], gold[0] if gold else -1


def _features(words: Sequence[str], tagging: Any) -> dict[str, float]:
    found = {"log-p": math.log(max(tagging.probability, 1e-12)) / 5}
    for start, end, kind in span_borders(tagging.tags):
        for what in (
            f"length {min(end - start, 6)}",
            f"text {' '.join(words[start:end]).lower()}",
            f"ends {words[start].lower()} {words[end - 1].lower()}",
            f"around {words[start - 1].lower() if start else ''} {words[end].lower() if end < len(words) else ''}",
        ):
            found[f"{kind} {what}"] = found.get(f"{kind} {what}", 0.0) + 1.0
    return found


def _numbered(
    samples: Iterable[tuple[list[dict[str, float]], int]], names: dict[str, int]
) -> tuple[CandidateLists, Longs]:
    """Return lists whose features are numbers; names that are new get the next ones."""
    gold, lengths, sizes, rows, values = list[int](), list[int](), list[int](), list[int](), list[float]()
    for candidates, right in samples:
        gold.append(right)
        lengths.append(len(candidates))
        for features in candidates:
            sizes.append(len(features))
            rows.extend(names.setdefault(name, len(names)) for name in features)
            values.extend(features.values())
    offsets, row_offsets = (offsets_of(np.array(counts, np.int64)) for counts in (lengths, sizes))
    lists = CandidateLists(offsets, row_offsets, np.array(rows, np.int64), np.array(values, np.float32))
    return lists, np.array(gold, np.int64)


def _longest(lists: CandidateLists) -> int:
    return int(np.diff(lists.offsets).max())


def _share_right(lists: CandidateLists, gold: Longs, weights: Floats) -> float:
    """Return the share of the lists whose best candidate is the right one."""
    scores = np.empty(int(lists.offsets[-1]))
    score_list(lists, 0, len(scores), weights, 1.0, scores)
    each = np.split(scores, lists.offsets[1:-1])
    return float(np.mean([int(one.argmax()) == right for one, right in zip(each, gold.tolist(), strict=True)]))


def tasks_of(data: Path, say: Say, *, small: bool) -> list[StructureTask]:
    """Read the corpora, and make the tasks."""
    jit.compile_kernels()
    say("making the candidates of all tasks")
    sizes = dict.fromkeys(SENTENCES, SMALL) if small else SENTENCES
    train, test = (list(read_treebank(data / TREEBANK / f"{part}.conllu.gz")) for part in ("train", "test"))
    items = dict.fromkeys(item for sentence in train[: sizes["edits"]] for item in _edit_items(sentence))
    tagged = [list(sapo.read(data / ENTITIES / f"{part}.txt.gz")) for part in ("train", "test")]
    return [
        tree_task([_tree_sentence(one) for one in train[: sizes["trees"]]], [_tree_sentence(one) for one in test]),
        edit_task([*items], [item for sentence in test for item in _edit_items(sentence)]),
        list_task(tagged[0][: sizes["lists"]], tagged[1]),
    ]


def _tree_sentence(sentence: UDSentence) -> TreeSentence:
    words, upos, xpos, feats, relations = zip(
        *((word.form, word.upos, word.xpos, word.feats, word.deprel) for word in sentence.words), strict=True
    )
    return TreeSentence(words, upos, xpos, feats, Tree(tuple(sentence.heads), relations))


def _edit_items(sentence: UDSentence) -> list[EditItem]:
    return [EditItem(word.form, (word.upos, word.feats), word.lemma) for word in sentence.words]


def table(runs: Sequence[StructureRun]) -> str:
    """Return the scores of the last pass and the seconds of a pass as tables of Markdown: mean ± deviation of seeds."""
    tasks = list(dict.fromkeys((run.task, run.metric) for run in runs))
    lines = ["| | " + " | ".join(f"{name}, {metric} | s a pass" for name, metric in tasks) + " |"]
    lines.append("|---" + "|--:" * (2 * len(tasks)) + "|")
    for system in (name for name in LEARNERS if any(run.system == name for run in runs)):
        cells = []
        for name, _ in tasks:
            some = [run for run in runs if (run.task, run.system) == (name, system)]
            last = Mean.of([run.scores[-1] for run in some]) if some else None
            deviation = f" ± {last.deviation:.2f}" if last and last.deviation is not None else ""
            cells += (
                [f"{last.mean:.2f}{deviation}", f"{np.mean([run.seconds for run in some]):.2f}"] if last else ["", ""]
            )
        lines.append(f"| {system} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(runs: Sequence[StructureRun]) -> Picture:
    """Return the figure: score by pass, one panel a task."""
    panels = []
    for name, metric in dict.fromkeys((run.task, run.metric) for run in runs):
        curves = {}
        for system in dict.fromkeys(run.system for run in runs if run.task == name):
            scores = np.array([run.scores for run in runs if (run.task, run.system) == (name, system)])
            mean, spread = scores.mean(axis=0), scores.std(axis=0, ddof=1) if len(scores) > 1 else 0.0
            passes = list(range(1, scores.shape[1] + 1))
            curves[system] = Curve(passes, mean.tolist(), (mean - spread).tolist(), (mean + spread).tolist())
        panels.append(Panel(name, partial(draw_curves, curves=curves, ylabel=metric, from_zero=False)))
    return Picture(
        "structures",
        "Score by pass on trees, edits and lists",
        "Score on the test set after each pass; lines are means over seeds, bands one deviation to either side.",
        tuple(panels),
        columns=3,
        legend=legend_order(tuple(LEARNERS), {run.system for run in runs}),
    )
