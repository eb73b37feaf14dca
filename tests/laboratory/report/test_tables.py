"""The arithmetic of the tables, beside numbers computed by hand."""

from pathlib import Path

import pytest

from laboratory.report import read_runs
from laboratory.report.results import TaskResults, by_task
from laboratory.report.significance import Significance, against_sapo, compare_with_tests, paired_t_p
from laboratory.report.tables import data_table, feature_table, score_table, significance_table, task_numbers
from laboratory.report.timing import with_times_of
from laboratory.summary import summary_table

from .conftest import MakeRun


def only_task(tmp_path: Path) -> TaskResults:
    (task,) = by_task(read_runs(tmp_path / "runs").runs)
    return task


def test_best_last_seconds_and_weights_are_means_over_seeds(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("chunking", "SAPO", [90.0, 94.0, 92.0], seconds=[9.0, 1.0, 2.0], weights=[0.1, 0.2, 0.3])
    make_run("chunking", "SAPO", [90.0, 92.0, 93.0], seed=1, seconds=[9.0, 3.0, 4.0], weights=[0.1, 0.2, 0.5])
    table = score_table(only_task(tmp_path))
    assert table.rows == (
        # best (94 + 92) / 2 in pass 2, last (92 + 93) / 2, median seconds 2 and 4, weights 0.3 and 0.5
        ("SAPO", "93.00 ± 1.41", "2", "92.50 ± 0.71", "3.00 ± 1.41", "0.400 ± 0.141", "2"),
    )


def test_the_best_pass_is_the_same_for_all_seeds_as_in_the_summary_of_experiments(
    make_run: MakeRun, tmp_path: Path
) -> None:
    paths = [
        make_run("chunking", "Perc-Naive", scores, seed=seed)
        for seed, scores in enumerate([[99.0, 90.0, 95.0], [90.0, 99.0, 95.0, 99.0]])
    ]
    group = only_task(tmp_path).groups["Perc-Naive"]
    assert (group.best_pass(), group.best().mean, group.fall().mean) == (3, 95.0, -2.0)
    assert "95.00 ± 0.00 (3)" in summary_table("Chunking", "F1", [("Perc-Naive", paths)])


def test_a_single_seed_has_no_deviation(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("chunking", "CRF", [90.0, 91.0, 91.0], seconds=[1.0, 1.0, 0.25])
    assert score_table(only_task(tmp_path)).rows == (("CRF", "91.00", "2", "91.00", "1.00", "0.0100", "1"),)


def test_fall_spread_and_growth(make_run: MakeRun, tmp_path: Path) -> None:
    weights = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    make_run("chunking", "SAPO", [80.0, 95.0, 90.0, 91.0, 93.0, 92.0, 94.0, 93.5], weights=weights)
    numbers = task_numbers(only_task(tmp_path), {})["systems"]["SAPO"]
    assert numbers["best_less_last"]["mean"] == 1.5
    assert numbers["spread_of_last_passes"]["mean"] == 3.0  # 91, 93, 92, 94, 93.5
    assert numbers["w_growth"]["mean"] == 1.0  # pass 4 to pass 8
    assert numbers["seeds"] == [0]


def test_curves_have_the_passes_that_all_seeds_have(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("chunking", "SAPO", [90.0, 92.0, 93.0])
    make_run("chunking", "SAPO", [92.0, 92.0], seed=1)
    curve = only_task(tmp_path).groups["SAPO"].scores()
    assert curve.epochs == [1, 2]
    assert curve.mean == [91.0, 92.0]
    assert curve.high == pytest.approx([91.0 + 2**0.5, 92.0])
    assert curve.low == pytest.approx([91.0 - 2**0.5, 92.0])


def test_features_stand_beside_the_papers_with_the_reason(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("chunking", "SAPO", [90.0])
    make_run("chunking", "CRF", [90.0])
    make_run("chunking", "SAPO-best", [90.0], template="mine", features=900)
    first, second = feature_table([only_task(tmp_path)]).rows
    assert (first[0], first[1], first[3], first[4]) == ("chunking", "chunking", "1,000", "900")
    assert "Tsuruoka" in first[2]
    assert "Training sentences: 100, in the paper 8,936." in first[2]
    assert second == ("chunking", "mine", "The same number.", "900", "900")


def compare_by_count(gold: list[list[str]], a: list[list[str]], b: list[list[str]]) -> Significance:
    right = [sum(x == y for s, t in zip(gold, tags, strict=True) for x, y in zip(s, t, strict=True)) for tags in (a, b)]
    return Significance(difference=right[0] - right[1], t_p=0.04, randomization_p=None)


def test_two_systems_have_the_p_values_of_both_tests() -> None:
    gold = [["B-X", "O"], ["B-X"]]
    found = compare_with_tests(gold, gold, [["B-X", "B-X"], ["O"]])
    assert found.t_p == pytest.approx(0.2048, abs=1e-4)  # t = 3, one degree of freedom
    assert found.randomization_p == 0.5
    assert compare_with_tests(gold, gold, gold) == Significance(0.0, t_p=1.0, randomization_p=1.0)
    assert paired_t_p(gold, gold, [["O", "B-X"], ["O"]]) == 0.0  # all sentences differ by the same


def test_every_system_with_fitting_tags_is_compared_with_sapo(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("chunking", "SAPO", [90.0], tags="B\nI\n\nO\n\n").with_name("gold.tags").write_text("B\nI\n\nO\n\n")
    make_run("chunking", "CRF", [90.0], tags="B\nO\n\nB\n\n")
    make_run("chunking", "Perc-Avg", [90.0], tags="B\n\n")  # of other sentences
    make_run("chunking", "MIRA-Avg", [90.0])  # without tags
    make_run("chunking", "MIRA-Naive", [90.0], seed=1, tags="B\nO\n\nB\n\n")  # not of seed 0
    found = dict(against_sapo(only_task(tmp_path), compare_by_count))
    assert found == {"CRF": Significance(difference=2.0, t_p=0.04, randomization_p=None)}
    assert significance_table(only_task(tmp_path), found).rows == (("CRF", "+2.00", "0.040", "–"),)  # noqa: RUF001


def test_without_gold_tags_nothing_is_compared(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("chunking", "SAPO", [90.0], tags="B\n\n")
    make_run("chunking", "CRF", [90.0], tags="B\n\n")
    assert list(against_sapo(only_task(tmp_path), compare_by_count)) == []


def test_the_deciding_p_is_of_the_test_on_the_tasks_metric() -> None:
    assert Significance(1.0, t_p=0.1, randomization_p=0.2).p("F1") == 0.2
    assert Significance(1.0, t_p=0.1, randomization_p=0.2).p("accuracy") == 0.1
    assert Significance(1.0, t_p=0.1, randomization_p=None).p("F1") == 0.1


def test_training_sentences_stand_beside_the_papers(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("chunking", "SAPO", [90.0, 91.0])
    make_run("chunking", "CRF", [90.0])
    assert data_table([only_task(tmp_path)]).rows == (
        ("The task chunking", "100", "8,936", "2,000", "3", "6", "22", "1 to 2"),
    )


def test_times_come_from_the_runs_that_were_made_for_that(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("chunking", "SAPO", [90.0, 94.0, 92.0], seconds=[9.0, 1.0, 2.0])
    make_run("chunking", "CRF", [90.0, 94.0, 92.0], seconds=[9.0, 8.0, 7.0])
    runs = read_runs(tmp_path / "runs").runs
    timed = with_times_of(runs, [run for run in runs if run.system == "SAPO"])
    seconds = {run.system: [one.seconds for one in run.passes] for run in timed}
    assert seconds == {"SAPO": [2.0, 2.0, 2.0], "CRF": [9.0, 8.0, 7.0]}
