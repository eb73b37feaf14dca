"""Compiling is counted: what a kernel needs, what is done, and how long it took."""

from pathlib import Path

import pytest

from sapo.jit import kernels, progress

kernels.import_all()
REGISTERED = kernels._registered


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for name, value in {
        "_needed": set(),
        "_done": set(),
        "_expected": (),
        "_seconds": 0.0,
        "_reported": (0, 0),
    }.items():
        monkeypatch.setattr(progress, name, value)
    monkeypatch.setattr(progress, "_observer", lambda done, total: found.append((done, total)))
    return found


def function(name: str) -> progress.Function:
    return next(each for each in REGISTERED if progress.name_of(each) == name)


def test_a_kernel_needs_all_that_it_calls() -> None:
    by_name = {progress.name_of(each): each for each in REGISTERED}
    needed = progress.reached(function("learn.sapo.sapo_samples"), by_name)
    assert {
        "learn.sapo.sapo_samples",
        "search.chain._find_candidates",
        "search.topn.find_top_n",
        "search.viterbi.best_scores",
    } <= needed
    assert "corpus.scanner.scan_lines" not in needed
    assert set(progress.TRAINING) <= by_name.keys()


def test_counting_ends_with_all_that_is_needed(seen: list[tuple[int, int]]) -> None:
    with progress.compiling(function("search.chain._find_candidates"), REGISTERED, None):
        progress.part_compiled("search.topn.find_top_n")
    (_, total), *_ = seen
    assert seen == [(0, total), (1, total), (total, total)]
    assert total > 5
    assert progress.compile_seconds() > 0


def test_what_is_expected_counts_unless_it_is_cached(seen: list[tuple[int, int]], tmp_path: Path) -> None:
    progress.expect(["search.viterbi.best_path"])
    (tmp_path / "search.viterbi.best_path-0123.nbc").touch()
    with progress.compiling(function("search.lattice.path_score"), REGISTERED, tmp_path):
        pass
    assert seen == [(0, 1), (1, 1)]
    with progress.compiling(function("search.lattice.path_score"), REGISTERED, None):
        pass
    assert seen[-1] == (1, 2)


def test_the_clock_stands_still_meanwhile() -> None:
    before = progress.clock()
    with progress.aside():
        sum(range(3_000_000))
    assert progress.clock() - before < 0.02


def test_what_only_others_compile_is_not_shown(seen: list[tuple[int, int]]) -> None:
    progress.part_compiled("search.lattice.path_score")
    assert seen == []
    with progress.compiling(function("search.chain._find_candidates"), REGISTERED, None):
        before = len(seen)
        progress.part_compiled("corpus.scanner.scan_lines")
        assert len(seen) == before
