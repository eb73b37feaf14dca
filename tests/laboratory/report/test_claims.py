"""The rules of the claims, each with numbers that agree and numbers that do not."""

from pathlib import Path

import pytest

from laboratory.report import read_runs
from laboratory.report.claims import CLAIMS
from laboratory.report.findings import Finding, Verdict
from laboratory.report.results import by_task
from laboratory.report.significance import Significance

from .conftest import MakeRun

RULES = {claim.name: claim.decide for claim in CLAIMS}
CALM = [80.0, 88.0, 90.0, 90.0, 90.0, 90.0, 90.0, 90.0, 90.0, 90.0, 90.0, 90.0]
JUMPY = [80.0, 90.0, 89.0, 88.0, 89.0, 87.0, 89.0, 87.0, 89.0, 87.0, 89.0, 87.0]
FLAT = [1.0] * 12
GROWING = [float(epoch) for epoch in range(1, 13)]


def decide(claim: str, tmp_path: Path, p: dict[str, float] | None = None) -> Finding:
    (task,) = by_task(read_runs(tmp_path / "runs").runs)
    return RULES[claim](task, {system: Significance(1.0, value, value) for system, value in (p or {}).items()})


@pytest.mark.parametrize(
    ("sapo", "crf", "verdict"), [(93.0, 92.0, "agrees"), (92.0, 92.0, "agrees"), (91.9, 92.0, "disagrees")]
)
def test_sapo_at_least_as_good_as_crf(make_run: MakeRun, tmp_path: Path, sapo: float, crf: float, verdict: str) -> None:
    make_run("chunking", "SAPO", [99.0, sapo])  # the last pass counts, not the best
    make_run("chunking", "CRF", [50.0, crf])
    assert decide("crf", tmp_path).verdict == verdict


def test_a_difference_that_may_be_chance_is_called_so(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("chunking", "SAPO", [92.1])
    make_run("chunking", "CRF", [92.0])
    assert "CRF 92.00: SAPO +0.10, p = 0.300, which may be chance" in decide("crf", tmp_path, {"CRF": 0.3}).text
    assert "chance" not in decide("crf", tmp_path, {"CRF": 0.01}).text


def test_a_neural_system_that_is_better_counts_against_sapo(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("chunking", "SAPO", [92.0])
    make_run("chunking", "CRF", [91.0])
    make_run("chunking", "Bi-LSTM-CRF", [93.0])
    assert decide("crf", tmp_path).verdict == Verdict.DISAGREES


@pytest.mark.parametrize(
    ("other", "p", "verdict"),
    [
        (91.0, {"Perc-Avg": 0.01, "MIRA-Avg": 0.01}, "agrees"),
        (91.0, {"Perc-Avg": 0.01, "MIRA-Avg": 0.2}, "agrees in part"),
        (91.0, {"Perc-Avg": 0.01}, "agrees in part"),
        (92.0, {"Perc-Avg": 0.01, "MIRA-Avg": 0.01}, "disagrees"),
    ],
)
def test_sapo_better_than_perceptrons_and_miras(
    make_run: MakeRun, tmp_path: Path, other: float, p: dict[str, float], verdict: str
) -> None:
    make_run("chunking", "SAPO", [92.0])
    make_run("chunking", "Perc-Avg", [90.0])
    make_run("chunking", "MIRA-Avg", [other])
    assert decide("search-based", tmp_path, p).verdict == verdict


@pytest.mark.parametrize(
    ("sapo", "perceptron", "mira", "verdict"),
    [
        (CALM, JUMPY, JUMPY, "agrees"),
        (CALM, JUMPY, CALM, "agrees in part"),
        (CALM, CALM, CALM, "disagrees"),
        (JUMPY, JUMPY, JUMPY, "disagrees"),
    ],
)
def test_convergence(
    make_run: MakeRun, tmp_path: Path, sapo: list[float], perceptron: list[float], mira: list[float], verdict: str
) -> None:
    make_run("chunking", "SAPO", sapo)
    make_run("chunking", "CRF", CALM)
    make_run("chunking", "Perc-Naive", perceptron)
    make_run("chunking", "MIRA-Naive", mira)
    finding = decide("convergence", tmp_path)
    assert finding.verdict == verdict
    assert finding.numbers["CRF best - last"] == 0.0


def test_convergence_limits_are_a_part_of_the_errors_left(make_run: MakeRun, tmp_path: Path) -> None:
    """A fall of 0.25 is within 3 % of 10 points of errors, and beyond 3 % of 2."""
    fall = [0.0] * 11 + [0.25]
    make_run("chunking", "SAPO", CALM)
    make_run("chunking", "CRF", CALM)
    make_run("chunking", "Perc-Naive", [90 - down for down in fall])
    make_run("chunking", "Perc-Avg", [98 - down for down in fall])
    text = decide("convergence", tmp_path).text
    assert "Perc-Naive settles" in text
    assert "Perc-Avg does not settle" in text


@pytest.mark.parametrize("claim", ["convergence", "weights"])
def test_few_passes_tell_nothing(make_run: MakeRun, tmp_path: Path, claim: str) -> None:
    for system in ("SAPO", "CRF", "Perc-Naive"):
        make_run("chunking", system, CALM[:9])
    finding = decide(claim, tmp_path)
    assert finding.verdict == Verdict.UNKNOWN
    assert "Too few passes" in finding.text


@pytest.mark.parametrize(
    ("sapo", "perceptron", "mira", "verdict"),
    [
        (FLAT, GROWING, GROWING, "agrees"),
        (FLAT, GROWING, FLAT, "agrees in part"),
        (FLAT, FLAT, FLAT, "disagrees"),
        (GROWING, GROWING, GROWING, "disagrees"),
    ],
)
def test_weight_explosion(
    make_run: MakeRun, tmp_path: Path, sapo: list[float], perceptron: list[float], mira: list[float], verdict: str
) -> None:
    make_run("chunking", "SAPO", CALM, weights=sapo)
    make_run("chunking", "Perc-Naive", CALM, weights=perceptron)
    make_run("chunking", "MIRA-Naive", CALM, weights=mira)
    assert decide("weights", tmp_path).verdict == verdict


@pytest.mark.parametrize(
    ("sapo", "crf", "perceptron", "verdict"),
    [
        (1.0, 2.0, 0.5, "agrees"),
        (1.0, 1.9, 0.5, "agrees in part"),
        (1.0, 3.0, 0.4, "agrees in part"),
        (1.0, 1.9, 0.4, "disagrees"),
        (1.0, 1.0, 1.0, "disagrees"),
    ],
)
def test_speed(make_run: MakeRun, tmp_path: Path, sapo: float, crf: float, perceptron: float, verdict: str) -> None:
    for system, seconds in (("SAPO", sapo), ("CRF", crf), ("Perc-Naive", perceptron)):
        make_run("chunking", system, [90.0], seconds=[seconds])
    finding = decide("speed", tmp_path)
    assert finding.verdict == verdict
    assert finding.numbers == {"CRF / SAPO": crf / sapo, "SAPO / Perc-Naive": sapo / perceptron}


@pytest.mark.parametrize(
    ("n1", "n10", "n20", "verdict"),
    [
        (89.0, 90.0, 90.2, "agrees"),
        (89.0, 90.3, 90.5, "agrees"),  # n = 10 is enough where n = 5 is not
        (90.0, 90.0, 90.0, "agrees in part"),
        (89.0, 90.0, 90.4, "disagrees"),
    ],
)
def test_small_n_is_enough(make_run: MakeRun, tmp_path: Path, n1: float, n10: float, n20: float, verdict: str) -> None:
    for system, score in (("SAPO", 90.0), ("SAPO-n1", n1), ("SAPO-n10", n10), ("SAPO-n20", n20)):
        make_run("chunking", system, [score])
    assert decide("n", tmp_path).verdict == verdict


@pytest.mark.parametrize(("beam", "verdict"), [(90.2, "agrees"), (89.6, "disagrees"), (90.4, "disagrees")])
def test_beam_does_as_well_as_astar(make_run: MakeRun, tmp_path: Path, beam: float, verdict: str) -> None:
    for system, score in (("SAPO", 90.0), ("SAPO-astar", 90.0), ("SAPO-beam", beam)):
        make_run("chunking", system, [score])
    assert decide("search", tmp_path).verdict == verdict


@pytest.mark.parametrize("claim", list(RULES))
def test_a_claim_without_its_runs_is_not_known(make_run: MakeRun, tmp_path: Path, claim: str) -> None:
    make_run("chunking", "SAPO", CALM)
    finding = decide(claim, tmp_path)
    assert finding.verdict == Verdict.UNKNOWN
    assert finding.text.startswith("No finished run of ")
