"""Kernels are compiled in other processes while a run starts, and it says how far they are."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import sapo
from sapo.jit import cache, processes, progress
from sapo.jit.processes import start_python

pytestmark = pytest.mark.skipif(not cache.LOCKS, reason="this system has no locks")

# The other process: two small kernels, which each of its processes might compile.
JOB = """
import os
import numpy as np
from sapo import jit
from sapo.learn import rows
from sapo.search import lattice

def use():
    lattice.path_score(np.ones((1, 1), np.float32), np.zeros((1, 1, 1), np.float32), np.zeros(1, np.int32), 1)
    rows.absolute_sum(np.ones((1, 3), np.float32))

jit.compile_what(use, os.getppid())
"""
NAMES = {"search.lattice.path_score", "learn.rows.absolute_sum"}


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and the directory of a module that other processes run."""
    (tmp_path / "job.py").write_text(JOB)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    return tmp_path


def cached(directory: Path) -> list[str]:
    return sorted(path.name.rsplit("-", 1)[0] for path in directory.rglob("*.nbc"))


def test_each_kernel_is_compiled_once_and_reported(environment: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(sapo.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "job.py"], cwd=environment, env=env, check=True, stdout=subprocess.PIPE)
    assert cached(environment) == sorted(NAMES)
    assert set(done.stdout.decode().split()) == NAMES
    assert not list(environment.rglob("*.lock"))


def test_a_run_counts_what_others_compile(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(progress, "part_compiled", told.append)
    monkeypatch.setattr(processes, "cores", lambda: 2)
    monkeypatch.setattr(processes, "_child", None)
    directory = cache.cache_directory(boundscheck=False)
    processes.begin_ahead("job", {}, directory)
    assert processes._child is not None
    assert processes._child.wait(60) == 0
    for thread in threading.enumerate():
        if thread.name == "sapo-ahead":
            thread.join(60)
    assert set(told) == NAMES
    assert cached(environment) == sorted(NAMES)


@pytest.mark.parametrize("why", ["cached", "one core", "no cache", "no command", "frozen", "read only", "another run"])
def test_nothing_is_started_where_it_is_of_no_use(environment: Path, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    monkeypatch.setattr(processes, "_child", None)
    monkeypatch.setattr(processes, "cores", lambda: 1 if why == "one core" else 2)
    directory = None if why == "no cache" else cache.cache_directory(boundscheck=False)
    if why == "cached":
        assert directory is not None
        (directory / f"{processes.LONGEST}-0123.nbc").touch()
    if why == "no command":
        monkeypatch.setattr(sys, "executable", "/usr/sbin/server")
    if why == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    if why == "read only":
        monkeypatch.setattr(os, "access", lambda *_: False)
    with processes.only_one(directory if why == "another run" else None):
        processes.begin_ahead("job", {}, directory)
    assert processes._child is None


def test_a_second_helper_does_nothing(environment: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(sapo.__file__).parent.parent)}
    with processes.only_one(cache.cache_directory(boundscheck=False)) as free:
        assert free
        subprocess.run([sys.executable, "job.py"], cwd=environment, env=env, check=True)
    assert cached(environment) == []


def test_modules_of_the_current_directory_are_not_run(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data of a stranger may have a file with the name of a module. Paths that are not strings are ignored."""
    monkeypatch.setattr(sys, "path", [*(place for place in sys.path if place), Path("somewhere")])
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "numpy.py").write_text("open('was run', 'w')")
    monkeypatch.chdir(tmp_path / "data")
    child = start_python("-m", "job")
    assert child is not None
    child.communicate(b"{}", 60)
    assert child.returncode == 0
    assert not Path("was run").exists()


def test_a_container_has_its_share_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(16), raising=False)
    shares = {"150000 100000": 1, "400000 100000": 4, "max 100000": 16}
    for text, cores in shares.items():
        monkeypatch.setattr(Path, "read_text", lambda _, text=text: text)
        assert processes.cores() == cores
