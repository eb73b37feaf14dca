"""What the tests of corpora share: files to read, a pipe that trickles, and tagging a file with its own labels."""

import io
import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sapo.corpus.annotations import Annotation
from sapo.corpus.blocks import LABEL, Block
from sapo.corpus.formats import FORMATS, format_of, read_blocks

MakeFile = Callable[[bytes | str, str], Path]
Piped = Callable[[bytes, int], AbstractContextManager[None]]
TagWithGold = Callable[..., bytes]


class Trickle(io.RawIOBase):
    """A pipe that gives at most so many bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self.stream = io.BytesIO(data)
        self.size = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self.stream.read(min(self.size, len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)


@pytest.fixture(scope="session")
def make_file(tmp_path_factory: pytest.TempPathFactory) -> MakeFile:
    """Write a file and return its path. Of the session, so that properties may use it; the next one overwrites it."""
    room = tmp_path_factory.mktemp("files")

    def make(data: bytes | str, name: str) -> Path:
        path = room / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return make


@pytest.fixture(scope="session")
def piped() -> Piped:
    """Standard input that arrives in pieces of some bytes."""

    @contextmanager
    def pipe(data: bytes, size: int) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdin", SimpleNamespace(buffer=io.BufferedReader(Trickle(data, size))))
            yield

    return pipe


@pytest.fixture(scope="session")
def tag_with_gold() -> TagWithGold:
    """The bytes of a file after tagging it with the labels that it has."""

    def tagged(path: str | Path, **reading: Any) -> bytes:
        write = FORMATS[format_of(path, reading.get("format"))].write
        pieces = (write(block, Annotation(*gold(block))) for block in read_blocks(path, **reading))
        return b"".join(itertools.chain.from_iterable(pieces))

    return tagged


def gold(block: Block) -> tuple[Any, list[str]]:
    """The numbers of a block's labels, and the labels by number."""
    names = block.strings(LABEL)
    number = {name: i for i, name in enumerate(sorted(set(names)))}
    return np.array([number[name] for name in names], np.int32), list(number)
