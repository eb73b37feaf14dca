"""Directories here or elsewhere, by fsspec: list files, fetch them, and put them in place whole or not at all."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import uuid4

from sapo.errors import SapoError

HIDDEN = (".", "_")  # how names of files begin that are not data


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory: a path of this machine, or an address that fsspec knows, such as s3://bucket/texts."""

    address: str

    @property
    def local(self) -> Path | None:
        """The path, if it is one of this machine."""
        if self.address.startswith("file://"):
            return Path(self.address.removeprefix("file://"))
        return None if "://" in self.address else Path(self.address)

    def files(self) -> dict[str, int]:
        """Return the names of all files below, relative to the directory, with their sizes.

        Raises SapoError if there is no such directory.
        """
        store, root = self._open()
        try:
            if not store.isdir(root):
                raise SapoError(f"{self.address}: no such directory")
            found = store.find(root, detail=True)
        except OSError as error:
            raise SapoError(f"{self.address}: cannot be read ({error})") from None
        named = {str(PurePosixPath(path).relative_to(root)): int(entry["size"] or 0) for path, entry in found.items()}
        return {
            name: named[name]
            for name in sorted(named)
            if not any(part.startswith(HIDDEN) for part in PurePosixPath(name).parts)
        }

    @contextmanager
    def fetched(self, name: str) -> Iterator[Path]:
        """Give a file as one of this machine."""
        if self.local is not None:
            yield self.local / name
            return
        store, root = self._open()
        with tempfile.TemporaryDirectory() as room:
            path = Path(room) / PurePosixPath(name).name
            with self._told(name):
                store.get_file(f"{root}/{name}", str(path))
            yield path

    @contextmanager
    def placed(self, name: str) -> Iterator[Path]:
        """Give a path to write a file to, which is in its place, whole, only at the end. It must be written whole."""
        if self.local is not None:
            path = self.local / name
            with self._told(name):
                path.parent.mkdir(parents=True, exist_ok=True)
            yield path  # whoever writes files of sapo writes them whole
            return
        store, root = self._open()
        target = PurePosixPath(root) / name
        part = target.with_name(f".{target.name}.{uuid4().hex}.part")
        with tempfile.TemporaryDirectory() as room:
            path = Path(room) / target.name
            yield path
            with self._told(name):
                store.makedirs(str(target.parent), exist_ok=True)
                try:
                    store.put_file(str(path), str(part))
                    store.mv(str(part), str(target))
                except BaseException:
                    with suppress(OSError):
                        store.rm(str(part))
                    raise

    def make(self) -> None:
        """Make the directory if it is not there."""
        store, root = self._open()
        with self._told(""):
            store.makedirs(root, exist_ok=True)

    def read(self, name: str) -> bytes | None:
        """Return the content of a small file, or None if there is none."""
        store, root = self._open()
        with self._told(name):
            return bytes(store.cat_file(f"{root}/{name}")) if store.exists(f"{root}/{name}") else None

    def _open(self) -> tuple[Any, str]:
        import fsspec

        try:
            store, root = fsspec.core.url_to_fs(self.address)
        except (ValueError, ImportError) as error:
            raise SapoError(f"{self.address}: not an address that fsspec can open ({error})") from None
        return store, str(root).rstrip("/") or "/"

    @contextmanager
    def _told(self, name: str) -> Iterator[None]:
        try:
            yield
        except (OSError, shutil.Error) as error:
            raise SapoError(f"{self.address}/{name}: cannot be read or written ({error})") from None
