"""Blocks of the input in, shards of numbers of strings and labels on disk out.

Each shard keeps the strings that are new in it, so that a run that was killed goes on after its last whole shard: the
strings are taken from the shards, and the sentences that are in them are skipped.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus import LABEL, Block
from sapo.encode.encoder import fields_of
from sapo.encode.strings import StringTable, array_of, valid_offsets
from sapo.errors import SapoError
from sapo.kernels.types import Ints, Longs
from sapo.model.arrayfile import save_arrays
from sapo.training.shards.files import AGAIN, ids_path, load_checked
from sapo.training.shards.manifest import Entry, Manifest
from sapo.training.shards.watching import Watch


@dataclass(slots=True)
class Strings:
    """The strings of the input so far: of each column, and the labels."""

    columns: dict[str, StringTable]
    labels: StringTable = field(default_factory=StringTable)

    @property
    def tables(self) -> dict[str, StringTable]:
        """All tables, by the names that they have in files."""
        return {**{f"column.{name}": table for name, table in self.columns.items()}, "labels": self.labels}

    def load(self, directory: Path, manifest: Manifest) -> None:
        """Add the strings of all shards."""
        for number, entry in enumerate(manifest.shards):
            arrays = load_checked(ids_path(directory, number), entry.ids)
            for name, table in self.tables.items():
                table.add_small_arrays(arrays, name)


def read_shards(
    directory: Path, manifest: Manifest, blocks: Iterable[Block], strings: Strings, watch: Watch
) -> Manifest:
    """Read the blocks into shards, after those that are there already, and return the manifest."""
    size = int(manifest.request["shard"])
    for some in _gathered(_skipped(_pieces(blocks, size), manifest), size):
        number = len(manifest.shards)
        before = {name: len(table) for name, table in strings.tables.items()}
        arrays = _numbers(some, strings)
        for name, table in strings.tables.items():
            arrays.update((f"{name}.{key}", array) for key, array in table.small_arrays(before[name]).items())
        sentences, tokens = len(arrays["offsets"]) - 1, int(arrays["offsets"][-1])
        entry = Entry(sentences, tokens, ids=save_arrays(ids_path(directory, number), {}, arrays))
        manifest = manifest.with_shard(number, entry)
        manifest.save(directory)
        watch.at(f"read {manifest.tokens:,} tokens")
    return manifest


def read_ids(directory: Path, number: int, entry: Entry, columns: Sequence[str]) -> tuple[dict[str, Ints], Ints, Longs]:
    """Return the numbers of the strings of each column of a shard, its labels and its offsets."""
    arrays = load_checked(ids_path(directory, number), entry.ids)
    try:
        offsets: Longs = array_of(arrays, "offsets", np.int64).copy()
        numbers = {name: array_of(arrays, name, np.int32).copy() for name in (LABEL, *_names(columns))}
        if not valid_offsets(offsets, entry.sentences, entry.tokens) or any(
            len(array) != entry.tokens for array in numbers.values()
        ):
            raise ValueError
    except (KeyError, ValueError):
        raise SapoError(f"{ids_path(directory, number)}: does not fit the manifest; {AGAIN}") from None
    return {name: numbers[f"{name}.ids"] for name in columns}, numbers[LABEL], offsets


def _names(columns: Iterable[str]) -> list[str]:
    return [f"{name}.ids" for name in columns]


def _numbers(blocks: Sequence[Block], strings: Strings) -> dict[str, np.ndarray]:
    """Return the numbers of all strings of some blocks; add new strings to the tables."""
    arrays: dict[str, Any] = {}
    for name, table in strings.columns.items():
        arrays[f"{name}.ids"] = np.concatenate([table.add_fields(*fields_of(block, name)) for block in blocks])
    arrays[LABEL] = np.concatenate([strings.labels.add_fields(*block.column(LABEL)) for block in blocks])
    sizes = [np.zeros(1, np.int64), *(np.diff(block.offsets) for block in blocks)]
    arrays["offsets"] = np.cumsum(np.concatenate(sizes))
    return arrays


def _gathered(blocks: Iterable[Block], tokens: int) -> Iterator[list[Block]]:
    """Yield runs of blocks with at least this many tokens; the last one may have fewer."""
    some: list[Block] = []
    size = 0
    for block in blocks:
        some.append(block)
        size += int(block.offsets[-1])
        if size >= tokens:
            yield some
            some, size = [], 0
    if some:
        yield some


def _pieces(blocks: Iterable[Block], tokens: int) -> Iterator[Block]:
    """Yield the sentences of blocks in blocks that are not much larger than this."""
    for block in blocks:
        first = 0
        while first < len(block.offsets) - 1:
            begin = block.offsets[first]
            last = max(first + 1, int(np.searchsorted(block.offsets, begin + tokens)))
            last = min(last, len(block.offsets) - 1)
            inside = slice(int(begin), int(block.offsets[last]))
            offsets = block.offsets[first : last + 1] - begin
            yield Block(block.name, block.columns, block.data, block.starts[inside], block.ends[inside], offsets)
            first = last


def _skipped(blocks: Iterable[Block], manifest: Manifest) -> Iterator[Block]:
    """Yield the blocks whose sentences are in no shard yet; a shard has whole pieces."""
    skip = manifest.sentences
    for block in blocks:
        if skip > 0:
            skip -= len(block.offsets) - 1
        else:
            yield block
    if skip:
        raise SapoError(f"its input has changed since the first shards were made; {AGAIN}")


def tags_of(directory: Path, manifest: Manifest) -> Iterator[tuple[Ints, Longs]]:
    """Yield the labels of each shard as they were read, and its offsets."""
    for number, entry in enumerate(manifest.shards):
        _, gold, offsets = read_ids(directory, number, entry, ())
        yield gold, offsets
