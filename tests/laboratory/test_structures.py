"""Learners are compared on trees, edits and lists: tiny ones here, made for the test."""

from laboratory.structures import LEARNERS, StructureRun, edit_task, list_task, picture, run_all, table, tree_task
from sapo import Sentence
from sapo.cli.plots import save
from sapo.search.trees import Tree, TreeSentence
from sapo.tagger.edits import EditItem

CATS = [
    TreeSentence(tuple(words.split()), tuple(upos), ("_",) * len(upos), ("_",) * len(upos), Tree(heads, relations))
    for words, upos, heads, relations in (
        ("the cat sleeps", "DNV", (2, 3, 0), ("det", "subj", "root")),
        ("cats sleep", "NV", (2, 0), ("subj", "root")),
    )
]
VERBS = ("walk", "talk", "jump", "call", "bark", "look", "help", "play")
ITEMS = [EditItem(verb + "ed", ("VERB",), verb) for verb in VERBS]
SENTENCES = [Sentence({"word": (name, "sleeps")}, ("B-CAT", "O")) for name in ("Tom", "Minka", "Felix", "Kitty")]


def test_every_system_learns_every_task_and_the_crf_those_with_lists() -> None:
    tasks = [tree_task(CATS, CATS), edit_task(ITEMS, ITEMS), list_task(SENTENCES, SENTENCES)]
    said: list[str] = []
    runs = run_all(tasks, 2, 3, said.append)
    systems = {task.name: {run.system for run in runs if run.task == task.name} for task in tasks}
    assert systems == {"trees": set(LEARNERS) - {"CRF"}, "edits": set(LEARNERS), "lists": set(LEARNERS)}
    assert len(runs) == len(said) == 2 * (4 + 5 + 5)
    assert all(len(run.scores) == 3 for run in runs)
    assert all(run.scores[-1] == 100 for run in runs if run.task == "trees")


def test_tables_and_figures_show_means_over_seeds_and_no_crf_without_sums() -> None:
    runs = [
        StructureRun("trees", "LAS", "SAPO", 0, [50.0, 80.0], 1.0),
        StructureRun("trees", "LAS", "SAPO", 1, [52.0, 82.0], 3.0),
        StructureRun("lists", "accuracy", "SAPO", 0, [60.0, 61.0], 1.0),
        StructureRun("lists", "accuracy", "CRF", 0, [60.0, 62.0], 1.0),
    ]
    assert table(runs).splitlines()[2:] == [
        "| SAPO | 81.00 ± 1.41 | 2.00 | 61.00 | 1.00 |",
        "| CRF |  |  | 62.00 | 1.00 |",
    ]
    drawn = picture(runs)
    assert [panel.title for panel in drawn.panels] == ["trees", "lists"]
    assert b"<svg" in save(drawn, 2, "svg")
