"""Write the files of a shard from encoded sentences, and read them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.encode.strings import array_of, valid_offsets, within
from sapo.errors import SapoError
from sapo.kernels.types import Ints, Longs
from sapo.model.arrayfile import checksum_of, load_arrays, save_arrays
from sapo.training.shards.manifest import Manifest

WHAT = "a shard of sapo"
COUNTS = "counts"
AGAIN = "delete the directory, and the shards are made anew"


def features_path(directory: Path, number: int) -> Path:
    """Return the file of the features of a shard."""
    return directory / f"{number:05d}.features"


def gold_path(directory: Path, number: int) -> Path:
    """Return the file of the gold tags of a shard."""
    return directory / f"{number:05d}.gold"


def ids_path(directory: Path, number: int) -> Path:
    """Return the file of the strings of a shard, which is deleted once it is encoded."""
    return directory / f"{number:05d}.ids"


def write_features(directory: Path, number: int, corpus: EncodedCorpus) -> str:
    """Write the features of a shard; return the checksum."""
    arrays: dict[str, np.ndarray] = {
        "offsets": corpus.offsets,
        "row_offsets": corpus.row_offsets,
        "rows": corpus.rows,
        "words": corpus.words,
    }
    if len(corpus.edge_row_offsets) > 1:
        arrays |= {"edge_row_offsets": corpus.edge_row_offsets, "edge_rows": corpus.edge_rows}
    return save_arrays(features_path(directory, number), {"shard": number}, arrays)


def write_gold(directory: Path, number: int, gold: Ints) -> str:
    """Write the gold tags of a shard; return the checksum."""
    return save_arrays(gold_path(directory, number), {"shard": number}, {"gold": gold})


def open_shard(directory: Path, number: int, manifest: Manifest, *, check: bool = True) -> EncodedCorpus:
    """Return a shard, whose arrays are read-only.

    With `check` its checksums and its numbers are checked, which reads it whole. Raises SapoError if it is missing or
    damaged.
    """
    entry = manifest.shards[number]
    features = load_checked(features_path(directory, number), entry.features, check=check)
    gold = load_checked(gold_path(directory, number), entry.gold, check=check)
    try:
        more: dict[str, Any] = {}
        if "edge_rows" in features:
            more["edge_row_offsets"] = _offsets(features, "edge_row_offsets", entry.tokens, entry.edge_rows)
            more["edge_rows"] = array_of(features, "edge_rows", np.int32)
        corpus = EncodedCorpus(
            _offsets(features, "offsets", entry.sentences, entry.tokens),
            _offsets(features, "row_offsets", entry.tokens, entry.rows),
            array_of(features, "rows", np.int32),
            gold=array_of(gold, "gold", np.int32),
            words=array_of(features, "words", np.int32),
            **more,
        )
        if len(corpus.rows) != entry.rows or len(corpus.gold) != entry.tokens:
            raise ValueError
        if len(corpus.edge_rows) != entry.edge_rows or len(corpus.words) not in (0, entry.tokens):
            raise ValueError
        if check:  # kernels use them as indices
            numbers = (corpus.rows, corpus.edge_rows, corpus.gold)
            if not all(within(some, size) for some, size in zip(numbers, manifest.sizes, strict=True)):
                raise ValueError
    except (KeyError, ValueError):
        raise SapoError(f"{features_path(directory, number)}: does not fit the manifest; {AGAIN}") from None
    return corpus


def write_counts(directory: Path, manifest: Manifest) -> str:
    """Write how often each feature occurs in all shards; return the checksum."""
    counts = np.zeros(manifest.sizes[0], np.int64)
    for number, entry in enumerate(manifest.shards):
        arrays = load_checked(features_path(directory, number), entry.features, check=False)
        counts += np.bincount(arrays["rows"], minlength=len(counts))
    return save_arrays(directory / COUNTS, {}, {"counts": counts})


def read_counts(directory: Path, manifest: Manifest) -> Longs:
    """Return how often each feature occurs in all shards."""
    arrays = load_checked(directory / COUNTS, manifest.counts)
    counts = arrays.get("counts", np.empty(0))
    if counts.shape != manifest.sizes[:1] or counts.dtype != np.int64:
        raise SapoError(f"{directory / COUNTS}: does not fit the manifest; {AGAIN}")
    return counts


def load_checked(path: Path, checksum: str, *, check: bool = True) -> dict[str, np.ndarray]:
    """Return the arrays of a file with this checksum; without `check` the file is only asked for it."""
    header, arrays = load_arrays(path, WHAT, trusted=checksum)
    if check and checksum_of(header, arrays) != checksum:
        raise SapoError(f"{path}: not {WHAT}: its checksum is wrong: it was changed or damaged; {AGAIN}")
    return arrays


def join_shards(directory: Path, manifest: Manifest, shards: Mapping[int, bool]) -> EncodedCorpus:
    """Return shards as one corpus in memory; `shards` has their numbers, and whether to check each.

    They are copied one by one, so that little more than the result is in memory.
    """
    entries = [manifest.shards[number] for number in shards]
    tokens, rows = sum(entry.tokens for entry in entries), sum(entry.rows for entry in entries)
    edge_rows = sum(entry.edge_rows for entry in entries)
    offsets = np.zeros(sum(entry.sentences for entry in entries) + 1, np.int64)
    row_offsets = np.zeros(tokens + 1, np.int64)
    edge_row_offsets = np.zeros(1, np.int64)
    joined: dict[str, Any] = {"rows": np.empty(rows, np.int32), "gold": np.empty(tokens, np.int32)}
    joined |= {"edge_rows": np.empty(edge_rows, np.int32), "words": np.empty(0, np.int32)}
    at = dict.fromkeys(("sentences", "tokens", "rows", "edge_rows"), 0)
    for number, check in shards.items():
        corpus, entry = open_shard(directory, number, manifest, check=check), manifest.shards[number]
        if not at["tokens"]:
            joined["words"] = np.empty(tokens if len(corpus.words) else 0, np.int32)
            if len(corpus.edge_row_offsets) > 1:
                edge_row_offsets = np.zeros(tokens + 1, np.int64)
        _append(offsets, at["sentences"], corpus.offsets)
        _append(row_offsets, at["tokens"], corpus.row_offsets)
        for name, place in (("rows", at["rows"]), ("gold", at["tokens"]), ("edge_rows", at["edge_rows"])):
            found = getattr(corpus, name)
            joined[name][place : place + len(found)] = found
        if len(corpus.edge_row_offsets) > 1:
            _append(edge_row_offsets, at["tokens"], corpus.edge_row_offsets)
        if len(joined["words"]):
            joined["words"][at["tokens"] : at["tokens"] + entry.tokens] = corpus.words
        for name in at:
            at[name] += getattr(entry, name)
    return EncodedCorpus(offsets, row_offsets, **joined, edge_row_offsets=edge_row_offsets, part_of=manifest.sentences)


def _append(offsets: Longs, at: int, more: Longs) -> None:
    """Let offsets, of which `at` entries are there, go on with those of another shard."""
    offsets[at + 1 : at + len(more)] = more[1:]
    offsets[at + 1 : at + len(more)] += offsets[at]


def _offsets(arrays: dict[str, np.ndarray], name: str, count: int, end: int) -> Longs:
    offsets: Longs = array_of(arrays, name, np.int64)
    if not valid_offsets(offsets, count, end):
        raise ValueError(name)
    return offsets
