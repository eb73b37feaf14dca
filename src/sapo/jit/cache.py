"""Keep compiled kernels between runs, and decide which of these files may be used.

Loading compiled code means unpickling and running it. So a directory is used only if its owner is this user or root,
and only the owner can write to it; a file is used only if its checksum is right. Otherwise kernels are compiled again.
"""

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: two processes may compile the same kernel, which does no harm
    fcntl = None  # type: ignore[assignment]

LOCKS = fcntl is not None
PACKAGE = Path(__file__).parent.parent
ENDING = ".nbc"
UNUSED = 30 * 86400  # seconds
WAIT = 60.0  # seconds for a kernel that another process compiles
PAUSE = 0.02
CHECKSUM = 32  # bytes of SHA-256 in front of each file


def kernel_files() -> list[Path]:
    """Return the files of the package that define kernels."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if b"\n@kernel\n" in path.read_bytes()]


def cache_directory(*, boundscheck: bool) -> Path | None:
    """Return the directory of this version of the kernels, or None if there is none that may be used.

    Its name has a hash of all kernels, because compiled code contains copies of the kernels that it calls.
    """
    digest = hashlib.sha256(b"boundscheck" if boundscheck else b"")
    for path in (*sorted(Path(__file__).parent.glob("*.py")), *kernel_files()):
        digest.update(path.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        home = Path(base).expanduser() / "sapo"
        directory = home / f"kernels-{digest.hexdigest()[:16]}"
        if new := not directory.is_dir():
            home.mkdir(parents=True, exist_ok=True)
            directory.mkdir(mode=0o700, exist_ok=True)
        if not (is_private(home) and is_private(directory)):
            return None
        if new:
            remove_unused(home)
        elif os.access(directory, os.W_OK):
            os.utime(directory)  # it is in use
        return directory
    except (OSError, RuntimeError):
        return None


def remove_unused(home: Path) -> None:
    """Remove the kernels of other versions that have not been used for a month."""
    import shutil

    for directory in home.glob("kernels-*"):
        with contextlib.suppress(OSError):
            if time.time() - directory.stat().st_mtime > UNUSED:
                shutil.rmtree(directory, ignore_errors=True)


def is_private(directory: Path) -> bool:
    """Return whether a directory belongs to this user or to root, and only the owner can write to it."""
    if not hasattr(os, "getuid"):  # Windows keeps the files of users apart
        return True
    found = directory.stat()
    return found.st_uid in (os.getuid(), 0) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def read_file(path: Path) -> bytes | None:
    """Return what `write_file` wrote, or None if it is not there or damaged; what is damaged is removed."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data[CHECKSUM:]).digest() == data[:CHECKSUM]:
        return data[CHECKSUM:]
    with contextlib.suppress(OSError):
        path.unlink()
    return None


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all. If it cannot be written, the kernel is compiled again next time."""
    new = path.with_name(f"{path.name}.{os.urandom(8).hex()}")
    try:
        new.write_bytes(hashlib.sha256(data).digest() + data)
        new.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            new.unlink()


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep other processes from compiling what will be in this file: they wait here, and then find the file."""
    lock = None if path.exists() else _open(path, os.O_CREAT)
    if lock is None:
        yield
        return
    held = False
    try:
        held = _wait_for(lock, path)
        yield
    finally:
        _close(lock, path if held else None)


@contextlib.contextmanager
def first(path: Path) -> Iterator[bool]:
    """Give True if no other process is in this context for the same path, or if there are no locks."""
    lock = _open(path, os.O_CREAT)
    if lock is None:
        yield True
        return
    taken = _try(lock) is False
    try:
        yield not taken
    finally:
        _close(lock, None if taken else path)


def is_taken(path: Path) -> bool:
    """Return whether some process is in one of these contexts for this path."""
    lock = _open(path)
    if lock is None:
        return False
    try:
        return _try(lock) is False
    finally:
        _close(lock, None)


def _wait_for(lock: int, path: Path) -> bool:
    """Wait until the lock is free or the file exists; return whether this process has the lock now.

    The wait has a limit: the other process may be stopped, or on a machine that is gone.
    """
    until, waited = time.monotonic() + WAIT, False
    while not (got := _try(lock)):
        if got is None or path.exists() or time.monotonic() > until:
            return False
        waited = True
        time.sleep(PAUSE)
    if waited and not path.exists():
        # The other process could not write the file, and neither can this one: let all compile at the same time.
        fcntl.flock(lock, fcntl.LOCK_UN)
        return False
    return True


def _try(lock: int) -> bool | None:
    """Try to take a lock; return whether it was free, and None if this file system has no locks."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _open(path: Path, flags: int = 0) -> int | None:
    """Return a descriptor of the lock of a file, or None if there is none and none can be made."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            return os.open(_lock_of(path), os.O_RDWR | flags, 0o600)
    return None


def _close(lock: int, held: Path | None) -> None:
    """Release a lock; `held` is the path whose lock file to remove."""
    with contextlib.suppress(OSError):
        if held is not None:
            _lock_of(held).unlink()
        fcntl.flock(lock, fcntl.LOCK_UN)  # closing is not enough where this process was forked meanwhile
    os.close(lock)


def _lock_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")
