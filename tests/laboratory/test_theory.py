"""The theory experiment: its arithmetic, its problem, and its files as the command makes them."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from laboratory.__main__ import app
from laboratory.report import read_theory
from laboratory.theory.bound import Constants
from laboratory.theory.bound_section import bound_of
from laboratory.theory.convergence import SMALL, small_problem, study_convergence
from laboratory.theory.optimum import minimize


def test_the_bound_by_hand() -> None:
    """c = 1/2, γ = 1: a_∞ = (2 * 1/4 + 4) / (1/2) = 9; after 2 updates (1/4)(25 - 9) + 9 = 13; times q/2 = 3/2."""
    constants = Constants(c=0.5, q=3.0, kappa=2.0, tau=0.25, a_0=25.0)
    assert constants.a_infinity(1.0) == 9.0
    assert constants.excess(1.0, 2) == 19.5
    # ε = 4: γ = (2 - 1.5) / (3 * 4) = 1/24, t = log(3 * 25 / 4) / (1/48)
    assert constants.rate(4.0) == pytest.approx(1 / 24)
    assert constants.updates(4.0) == pytest.approx(48 * math.log(18.75))
    assert constants.updates(4.0, beta=2.0) == pytest.approx(96 * math.log(18.75))
    assert constants.smallest_epsilon == 3.0
    assert constants.updates(3.0) == math.inf


def test_after_the_updates_of_the_theorem_the_bound_is_below_epsilon() -> None:
    constants = Constants(c=0.1, q=1.5, kappa=3.0, tau=0.001, a_0=20.0)
    t = math.ceil(constants.updates(2.0))
    assert constants.excess(constants.rate(2.0), t) <= 2.0
    assert constants.excess(constants.rate(2.0), 0) > 2.0


def test_the_gradient_of_f_agrees_with_finite_differences() -> None:
    problem = small_problem(SMALL[0])
    rng = np.random.default_rng(0)
    w = rng.normal(size=problem.size)
    _, gradient = problem.value(w)
    for _ in range(5):
        direction = rng.normal(size=problem.size)
        ahead, behind = (problem.value(w + h * direction)[0] for h in (1e-5, -1e-5))
        assert (ahead - behind) / 2e-5 == pytest.approx(gradient @ direction, rel=1e-6)


def test_both_ways_to_the_gradient_agree_and_with_all_taggings_the_update_is_the_same() -> None:
    problem = small_problem(SMALL[1])
    w = np.random.default_rng(1).normal(size=problem.size)
    found = problem.expected(w, (1, problem.labels**2))
    assert found.gradient == pytest.approx(problem.value(w)[1], abs=1e-5)
    assert found.updates[1] == pytest.approx(found.gradient, abs=1e-5)
    assert np.linalg.norm(found.updates[0] - found.gradient) > 0.1


def test_f_is_flat_along_weights_that_favor_no_label_so_c_is_the_regularizers() -> None:
    problem = small_problem(SMALL[0])
    flat = np.zeros((problem.features + problem.labels, problem.labels))
    flat[0] = 1.0
    loss = [problem.value(h * flat.ravel())[0] - problem.modulus / 2 * h * h * problem.labels for h in (0.0, 3.0)]
    assert loss[0] == pytest.approx(loss[1], abs=1e-9)


def test_the_optimum_has_no_slope_and_lies_below_its_surroundings() -> None:
    problem = small_problem(SMALL[0])
    optimum = minimize(problem.value, problem.zero())
    assert optimum.gradient_norm < 1e-6
    rng = np.random.default_rng(2)
    assert all(problem.value(optimum.w + rng.normal(size=problem.size) / 10)[0] > optimum.value for _ in range(5))


def test_the_ways_keep_to_the_bound_and_the_gradient_has_no_error() -> None:
    study = study_convergence(SMALL[0], lambda message: None)
    for trajectory in study.trajectories:
        assert all(a <= b for a, b in zip(trajectory.excess, bound_of(study, trajectory), strict=True))
    gradient = study.trajectories[-1]
    assert gradient.n == 0
    assert set(gradient.error) == {0.0}
    assert gradient.excess[-1] < gradient.excess[0]


def test_the_command_makes_the_parts_once(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SAPO_DATA", str(tiny))
    cache = tmp_path / "bioner" / "cache"
    cache.mkdir(parents=True)
    for part in ("train", "test"):
        (cache / f"{part}.txt").write_text((tiny / "bio" / f"{part}.txt").read_text())

    def call(*args: str) -> tuple[str, str]:
        app(["experiment", "theory", "--small", "--runs", str(tmp_path), *args], standalone_mode=False)
        told = capsys.readouterr()
        return told.out, told.err

    assert call("--list")[0] == "theory: 1-approximation to do, 2-condition to do, 3-bound to do\n"
    files = [Path(line) for line in call()[0].splitlines()]
    assert [path.name for path in files] == ["1-approximation.json", "2-condition.json", "3-bound.json"]
    parts = read_theory(tmp_path / "theory")
    assert len(parts) == 3
    for part in parts:
        assert part.figure is not None
        assert part.table is not None
        assert part.command == "python -m laboratory experiment theory --small"
    measured = json.loads(files[0].read_text("utf-8"))
    assert set(measured["tasks"]) == {"chunking", "bioner", "pos-upos"}

    times = [path.stat().st_mtime_ns for path in files]
    files[1].unlink()
    assert "1-approximation done, 2-condition to do, 3-bound done" in call("--list")[0]
    call()
    assert [path.stat().st_mtime_ns == time for path, time in zip(files, times, strict=True)] == [True, False, True]
    assert "all parts of the theory are done" in call()[1]
    call("--force", "--list")
    assert files[0].exists()
