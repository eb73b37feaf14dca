"""Compiled kernels are kept apart: those with bounds checks from those without, and all of them from stale ones.

What is loaded is code, so files that are damaged and directories that others can write to are not used.
"""

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sapo.jit import cache as _cache
from sapo.search.lattice import path_score

LATE = """
import numpy as np
from sapo import jit
jit.compile_kernels()
from sapo.search.lattice import path_score
print(path_score(np.ones((1, 1), np.float32), np.zeros((1, 1, 1), np.float32), np.zeros(1, np.int32), 1))
print(jit.compile_seconds() > 0)
"""


COMPILED, LOADED = "1.0\nTrue\n", "1.0\nFalse\n"


def run_late(cache: Path) -> str:
    """Call a kernel in another process; return its result, and whether it had to be compiled."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "NUMBA_DISABLE_JIT": "0"}
    return subprocess.run([sys.executable, "-c", LATE], env=env, check=True, stdout=subprocess.PIPE, text=True).stdout


def test_checked_kernels_notice_an_index_outside(kernel_mode: str) -> None:
    if kernel_mode != "checked":
        pytest.skip("kernels run without bounds checks")
    node = np.zeros((2, 2), np.float32)
    with pytest.raises(IndexError):
        path_score(node, node[np.newaxis], np.array([0, 2], np.int32), 2)


def test_a_kernel_imported_after_compiling_is_cached_with_the_others(tmp_path: Path) -> None:
    # elsewhere numba neither notices a changed callee nor tells checked kernels from unchecked ones
    assert run_late(tmp_path) == COMPILED
    homes = {path.parent.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*.nbc")}
    assert homes == {"sapo"}


def test_a_damaged_file_is_compiled_anew(tmp_path: Path) -> None:
    run_late(tmp_path)
    assert run_late(tmp_path) == LOADED
    (file,) = tmp_path.rglob("*.nbc")
    whole = file.read_bytes()
    file.write_bytes(whole[:-200] + bytes(100) + whole[-100:])
    assert run_late(tmp_path) == COMPILED
    assert run_late(tmp_path) == LOADED


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[: len(data) // 2], lambda data: b"x" + data])
def test_only_what_was_written_is_read(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "file"
    _cache.write_file(path, b"code of a kernel")
    assert _cache.read_file(path) == b"code of a kernel"
    path.write_bytes(damage(path.read_bytes()))
    assert _cache.read_file(path) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_directory_that_others_can_write_to_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    directory = _cache.cache_directory(boundscheck=False)
    assert directory is not None
    assert directory.stat().st_mode & 0o777 == 0o700
    for place in (directory, directory.parent):
        for mode in (0o777, 0o770):
            place.chmod(mode)
            assert _cache.cache_directory(boundscheck=False) is None
        place.chmod(0o755)
    assert _cache.cache_directory(boundscheck=False) == directory


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such owners")
def test_a_directory_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert _cache.is_private(tmp_path) == (tmp_path.stat().st_uid == 0)  # what root installed may be used


def test_where_nothing_can_be_written_there_is_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    assert _cache.cache_directory(boundscheck=False) is None
    _cache.write_file(tmp_path / "file" / "kernel", b"")


@pytest.mark.skipif(not _cache.LOCKS, reason="this system has no such locks")
def test_a_second_process_waits_for_a_kernel_that_another_compiles(tmp_path: Path) -> None:
    path, seen = tmp_path / "kernel", []

    def compile_it() -> None:
        with _cache.alone(path):
            seen.append(path.exists())

    with _cache.alone(path):
        assert _cache.is_taken(path)
        other = threading.Thread(target=compile_it)  # locks are those of open files, not of processes
        other.start()
        other.join(0.1)
        assert other.is_alive()
        path.touch()
    other.join(10)
    assert seen == [True]
    assert not _cache.is_taken(path)
    assert list(tmp_path.iterdir()) == [path]  # no lock stays behind


def test_what_is_there_needs_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "kernel"
    path.touch()
    with _cache.alone(path), _cache.alone(path):
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not _cache.LOCKS, reason="this system has no such locks")
def test_where_there_are_no_locks_everybody_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(lock: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(_cache.fcntl, "flock", refuse)
    with _cache.alone(tmp_path / "kernel"), _cache.alone(tmp_path / "kernel"):
        assert not _cache.is_taken(tmp_path / "kernel")


@pytest.mark.skipif(not _cache.LOCKS, reason="this system has no such locks")
def test_nobody_waits_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cache, "WAIT", 0.1)
    with _cache.alone(tmp_path / "kernel"):
        with _cache.alone(tmp_path / "kernel"):  # the other may be stopped
            pass
        assert _cache.is_taken(tmp_path / "kernel")  # it is still that of the first


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_process_that_was_forked_does_not_keep_a_lock(tmp_path: Path) -> None:
    with _cache.alone(tmp_path / "kernel"):
        child = os.fork()
        if child == 0:
            signal.pause()
    lock = _cache._open(tmp_path / "kernel", os.O_CREAT)
    assert lock is not None
    assert _cache._try(lock)
    os.close(lock)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def test_an_interruption_that_is_lost_in_a_callback_comes_back() -> None:
    class Library:
        """What raises in a destructor is only reported, as in a function that LLVM calls."""

        def __del__(self) -> None:
            raise KeyboardInterrupt

    from sapo.jit.compiler import raised_again  # loads numba

    def compile_it() -> None:
        Library()
        raise RuntimeError("no compiled object yet")

    with pytest.raises(KeyboardInterrupt), raised_again():
        compile_it()


def test_what_older_versions_compiled_goes_when_nobody_uses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    old, used = tmp_path / "sapo" / "kernels-old", tmp_path / "sapo" / "kernels-used"
    for directory in (old, used):
        directory.mkdir(parents=True)
        (directory / "kernel.nbc").touch()
    os.utime(old, (0, 0))
    directory = _cache.cache_directory(boundscheck=False)
    assert sorted((tmp_path / "sapo").iterdir()) == sorted([directory, used])
    os.utime(directory, (0, 0))
    assert _cache.cache_directory(boundscheck=False) == directory
    assert directory.stat().st_mtime > 0
