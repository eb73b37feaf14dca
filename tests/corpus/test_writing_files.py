"""Writing files: zipped or not, to pipes and devices, and with every way a disk can fail."""

import errno
import gzip
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

import sapo
from sapo.corpus.files import check_writable, read_chunks, write_file
from sapo.errors import SapoError

SOURCE = str(Path(sapo.__file__).parent.parent)
TEXT = "Zoë\tNNP\n".encode() * 100


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("name", ["new.txt", "new.gz", "new", ".hidden", "ünï code"])
def test_what_is_written_can_be_read_again(tmp_path: Path, name: str) -> None:
    with write_file(tmp_path / name) as stream:
        stream.write(TEXT)
        stream.write(b"more")
    assert b"".join(read_chunks(tmp_path / name)) == TEXT + b"more"
    assert names_in(tmp_path) == [name]


def test_a_name_that_ends_in_gz_is_zipped_and_others_are_not(tmp_path: Path) -> None:
    for name in ("a.txt.gz", "a.txt"):
        with write_file(str(tmp_path / name)) as stream:
            stream.write(TEXT)
    assert gzip.decompress((tmp_path / "a.txt.gz").read_bytes()) == TEXT
    assert (tmp_path / "a.txt").read_bytes() == TEXT


def test_zipped_output_is_the_same_whenever_and_under_whatever_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, now in (("a.gz", 1e9), ("b.gz", 2e9)):
        monkeypatch.setattr("time.time", lambda now=now: now)
        with write_file(tmp_path / name) as stream:
            stream.write(TEXT)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_the_old_file_stays_until_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with write_file(path) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, SapoError, KeyboardInterrupt, SystemExit, BrokenPipeError])
@pytest.mark.parametrize("name", ["file", "file.gz"])
@pytest.mark.parametrize("old", [None, b"old"])
def test_after_any_error_the_old_file_is_as_it_was_and_nothing_else_is_left(
    tmp_path: Path, error: type[BaseException], name: str, old: bytes | None
) -> None:
    path = tmp_path / name
    if old is not None:
        path.write_bytes(old)

    def fail() -> None:
        with write_file(path) as stream:
            stream.write(TEXT)
            raise error("from inside")

    with pytest.raises(error, match="from inside"):
        fail()
    assert names_in(tmp_path) == [name] * (old is not None)
    assert old is None or path.read_bytes() == old


@pytest.mark.parametrize("function", ["os.fsync", "os.replace", "os.fchmod", "os.link"])
def test_an_error_in_the_last_steps_leaves_the_old_file_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(function, refuse)
    with (
        pytest.raises(SapoError, match=r"file: cannot be written \(No space left on device\).*unchanged"),
        write_file(path) as stream,
    ):
        stream.write(TEXT)
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["file"]


WRITE_TOO_MUCH = """
import random, resource, sys
from sapo.corpus.files import write_file
from sapo.errors import SapoError
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
for path in sys.argv[1:]:
    try:
        with write_file(path) as stream:
            for part in range(20):
                stream.write(random.Random(part).randbytes(1000))
    except SapoError as error:
        print(error)
"""


def test_when_no_more_fits_on_the_disk_the_old_file_stays_and_no_half_file_is_left(tmp_path: Path) -> None:
    old = {"plain": b"old", "zipped.gz": gzip.compress(b"old")}
    for name, data in old.items():
        (tmp_path / name).write_bytes(data)
    paths = [str(tmp_path / name) for name in (*old, "new", "new.gz")]
    done = subprocess.run([sys.executable, "-c", WRITE_TOO_MUCH, *paths], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"{path}: cannot be written (File too large); what was there before is unchanged" for path in paths
    ]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == old


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "file"
    with pytest.raises(SapoError, match="missing/file: cannot be written"), write_file(path):
        pass
    assert names_in(tmp_path) == []


def test_a_directory_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    message = r"directory: cannot be written \(Is a directory\)"
    with pytest.raises(SapoError, match=message), write_file(tmp_path / "directory"):
        pass
    assert names_in(tmp_path) == ["directory"]


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_mode_of_every_new_file(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with write_file(tmp_path / "ours"):
            pass
        (tmp_path / "other").touch()
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    ours, other = ((tmp_path / name).stat().st_mode for name in ("ours", "other"))
    assert oct(ours) == oct(other)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_an_old_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    path.touch()
    path.chmod(mode)
    with write_file(path) as stream:
        stream.write(TEXT)
    assert oct(stat.S_IMODE(path.stat().st_mode)) == oct(mode)


def test_a_device_is_written_to_and_not_replaced() -> None:
    with write_file("/dev/null") as stream:
        stream.write(TEXT)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_device_that_is_full_is_told() -> None:
    with (
        pytest.raises(SapoError, match=r"/dev/full: cannot be written \(No space left on device\)"),
        write_file("/dev/full") as stream,
    ):
        stream.write(TEXT)


def test_a_named_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    with write_file(path) as stream:
        stream.write(TEXT)
    reader.join()
    assert found == [TEXT]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_dash_is_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with write_file("-") as stream:
        stream.write(TEXT)
    assert capfdbinary.readouterr().out == TEXT
    assert not sys.stdout.buffer.closed


# finding out before the work


@pytest.mark.parametrize("name", ["new", "new.gz", "old"])
def test_a_file_that_can_be_written_passes_and_nothing_changes(tmp_path: Path, name: str) -> None:
    (tmp_path / "old").write_bytes(b"old")
    before = (tmp_path / "old").stat()
    check_writable(tmp_path / name)
    assert names_in(tmp_path) == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old"
    assert (tmp_path / "old").stat().st_mtime_ns == before.st_mtime_ns


def test_standard_output_and_devices_can_be_written() -> None:
    check_writable("-")
    check_writable("/dev/null")


def test_a_directory_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(SapoError, match="is a directory; give the name of a file"):
        check_writable(tmp_path)


def test_a_file_in_no_directory_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for parent in ("missing", "file"):
        with pytest.raises(SapoError, match=f"cannot be written, there is no directory .*{parent}$"):
            check_writable(tmp_path / parent / "model")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_the_right_to_write_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(SapoError, match="cannot be written"):
        check_writable(tmp_path / "model")
    tmp_path.chmod(0o700)


def test_a_full_disk_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(SapoError, match=r"model: cannot be written \(Read-only file system\)"):
        check_writable(tmp_path / "model")


KILLED = """
import os, signal, sys
from sapo.corpus import files
from sapo.corpus.files import write_file

if sys.argv[2] == "named":
    files._without_name = lambda directory: None
with write_file(sys.argv[1]) as stream:
    stream.write(b"half")
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("old", [None, b"old"])
@pytest.mark.parametrize("way", ["unnamed", "named"])
def test_a_process_that_is_killed_leaves_nothing_or_what_the_next_one_removes(
    tmp_path: Path, old: bytes | None, way: str
) -> None:
    path = tmp_path / "file[1].txt"
    if old is not None:
        path.write_bytes(old)
    done = subprocess.run([sys.executable, "-c", KILLED, path, way], env={**os.environ, "PYTHONPATH": SOURCE})
    assert done.returncode == -signal.SIGKILL
    left = [name for name in names_in(tmp_path) if name != path.name]
    assert len(left) == (way == "named" or not hasattr(os, "O_TMPFILE"))
    assert (path.read_bytes() if path.exists() else None) == old
    (tmp_path / f".{path.name}.00000000-1.00000000.part").touch()  # of another machine
    with write_file(path) as stream:
        stream.write(b"new")
    assert path.read_bytes() == b"new"
    assert names_in(tmp_path) == [f".{path.name}.00000000-1.00000000.part", path.name]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_new_file_has_the_rights_that_the_user_wants(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        for name in ("new", "new"):
            with write_file(tmp_path / name) as stream:
                stream.write(TEXT)
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o666 & ~umask
    finally:
        os.umask(before)


@pytest.mark.parametrize("name", ["a", "a/model"])
def test_links_that_lead_in_a_circle_are_told_before_any_work(tmp_path: Path, name: str) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(SapoError, match=f"{name}: cannot be written[ ,]"):
        check_writable(tmp_path / name)
    with pytest.raises(SapoError, match=f"{name}: cannot be written"), write_file(tmp_path / name):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="files without a name are of Linux")
def test_a_look_whether_a_file_can_be_written_leaves_nothing_even_if_it_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, seen = tempfile.TemporaryFile, []

    def made(**options: Any) -> Any:
        handle = make(**options)
        seen.append(list(tmp_path.iterdir()))
        return handle

    monkeypatch.setattr("tempfile.TemporaryFile", made)
    check_writable(tmp_path / "model")
    assert seen == [[]]
