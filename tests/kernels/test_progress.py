"""Compiling is counted: what a kernel needs, what is done, and how long it took."""

from pathlib import Path

import pytest

from sapo.kernels import _jit, _progress

_jit.import_all()
REGISTERED = _jit._registered


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for name, value in {"_needed": set(), "_done": set(), "_expected": (), "_seconds": 0.0, "_told": (0, 0)}.items():
        monkeypatch.setattr(_progress, name, value)
    monkeypatch.setattr(_progress, "_observer", lambda done, total: found.append((done, total)))
    return found


def function(name: str) -> _progress.Function:
    return next(each for each in REGISTERED if _progress.name_of(each) == name)


def test_a_kernel_needs_all_that_it_calls() -> None:
    by_name = {_progress.name_of(each): each for each in REGISTERED}
    needed = _progress.reached(function("sapo.sapo_samples"), by_name)
    assert {"sapo.sapo_samples", "sapo.learn_piece", "searches.search_n", "topn.top_n", "viterbi.best_scores"} <= needed
    assert "scan.scan_lines" not in needed
    assert set(_progress.TRAINING) <= by_name.keys()


def test_counting_ends_with_all_that_is_needed(seen: list[tuple[int, int]]) -> None:
    with _progress.compiling(function("searches.search_n"), REGISTERED, None):
        _progress.part_compiled("topn.top_n")
    (_, total), *_ = seen
    assert seen == [(0, total), (1, total), (total, total)]
    assert total > 5
    assert _progress.compile_seconds() > 0


def test_what_is_expected_counts_unless_it_is_cached(seen: list[tuple[int, int]], tmp_path: Path) -> None:
    _progress.expect(["viterbi.best_path"])
    (tmp_path / "viterbi.best_path-0123.nbc").touch()
    with _progress.compiling(function("score.path_score"), REGISTERED, tmp_path):
        pass
    assert seen == [(0, 1), (1, 1)]
    with _progress.compiling(function("score.path_score"), REGISTERED, None):
        pass
    assert seen[-1] == (1, 2)


def test_the_clock_stands_still_meanwhile() -> None:
    before = _progress.clock()
    with _progress.aside():
        sum(range(3_000_000))
    assert _progress.clock() - before < 0.02


def test_what_only_others_compile_is_not_shown(seen: list[tuple[int, int]]) -> None:
    _progress.part_compiled("score.path_score")
    assert seen == []
    with _progress.compiling(function("searches.search_n"), REGISTERED, None):
        before = len(seen)
        _progress.part_compiled("scan.scan_lines")
        assert len(seen) == before
