"""Write a file whole or not at all, and leave nothing behind, even if the process is killed.

On Linux the new content has no name until it is complete: it is gone with the process. Elsewhere, and on file systems
that cannot do this, it stands beside its target as `.NAME.PLACE-PROCESS.RANDOM.part`. If the process is killed, the
next one that writes to this target removes it.
"""

import errno
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sapo.errors import SapoError

_PART = re.compile(r"\.([0-9a-f]{8})-(\d+)\.[0-9a-f]{8}\.part")


@contextmanager
def told(target: Path) -> Iterator[None]:
    """Turn an error of the operating system into a SapoError about the target."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise SapoError(
            f"{target}: cannot be written ({error.strerror or error}); what was there before is unchanged"
        ) from error


@contextmanager
def replace_file(target: Path) -> Iterator[Path]:
    """Give a path to write to; its content replaces the target at the end, or is removed on any error."""
    real = real_path(target)  # through links: the file behind them is meant
    remove_abandoned(real)
    with told(target):
        handle = _without_name(real.parent)
    if handle is None:
        with _named(real, target) as part:
            yield part
        return
    try:
        with told(target):
            yield Path(f"/proc/self/fd/{handle}")
            _keep_mode(handle, real)
            os.fsync(handle)
            _give_name(handle, real)
    finally:
        os.close(handle)


def real_path(target: Path) -> Path:
    """Return a path without links. Raise SapoError if they lead in a circle."""
    try:
        target.stat()  # resolve() notices a circle only before Python 3.13
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise SapoError(f"{target}: cannot be written, its links lead in a circle") from None
    try:
        return target.resolve()
    except (OSError, RuntimeError) as error:  # the current directory is gone, or a circle under Windows
        raise SapoError(f"{target}: cannot be written ({getattr(error, 'strerror', None) or error})") from None


def remove_abandoned(real: Path) -> None:
    """Remove what processes that were killed have left beside this target."""
    with suppress(OSError):
        for path in real.parent.glob(f".{_escaped(real.name)}.*.part"):
            found = _PART.fullmatch(path.name[1 + len(real.name) :])
            if found is not None and found[1] == _place() and not _alive(int(found[2])):
                _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        import shutil

        shutil.rmtree(path)
    else:
        path.unlink()


def part_name(real: Path) -> Path:
    """Return a path beside the target with the number of this process."""
    return real.with_name(f".{real.name}.{_place()}-{os.getpid()}.{os.urandom(4).hex()}.part")


def _without_name(directory: Path) -> int | None:
    """Return a new file without a name in this directory, or None where there is no such thing."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.open(directory, flag | os.O_RDWR | os.O_CLOEXEC, 0o666)
    except OSError:  # this file system cannot, or the directory is read-only: the named way finds out
        return None


def _give_name(handle: int, real: Path) -> None:
    """Put the file in its place. If there is a file already, it gets another name first: only renaming replaces."""
    source = f"/proc/self/fd/{handle}"
    directory = os.open(real.parent, os.O_RDONLY)
    try:
        with suppress(FileExistsError):
            # src_dir_fd makes Python follow the link to the file, which plain link() would not
            os.link(source, real, src_dir_fd=directory, follow_symlinks=True)
            return
        part = part_name(real)
        os.link(source, part, src_dir_fd=directory, follow_symlinks=True)
        try:
            part.replace(real)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    finally:
        os.close(directory)


@contextmanager
def _named(real: Path, target: Path) -> Iterator[Path]:
    part = part_name(real)
    with told(target):
        part.touch(exist_ok=False)
    try:
        with told(target):
            yield part
            with part.open("rb+") as written:
                _keep_mode(written.fileno(), real)
                os.fsync(written.fileno())
            part.replace(real)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _keep_mode(handle: int, real: Path) -> None:
    """Give the rights of the file that is replaced."""
    with suppress(FileNotFoundError):
        mode = real.stat().st_mode & 0o777
        if hasattr(os, "fchmod"):
            os.fchmod(handle, mode)


def _place() -> str:
    """Return a name of this machine: processes of another one cannot be looked at."""
    import socket

    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)
