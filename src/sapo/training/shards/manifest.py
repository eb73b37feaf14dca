"""Store encoded sentences in the files of a cache directory, with a manifest of the files that are complete.

A file is written under another name and moved to its place, and only then named in the manifest.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.files import read_json, write_file
from sapo.errors import DataError, SapoError
from sapo.features.encoded import EncodedCorpus
from sapo.features.strings import array_of, valid_offsets, within
from sapo.jit.arrays import Ints, Longs
from sapo.tagger.arrayfile import checksum_of, load_arrays, save_arrays
from sapo.tagger.file import is_count

FORMAT = 1
NAME = "manifest.json"
COUNTS = "counts"
CACHE = "a cache directory of sapo"  # for messages
SHARD = "a shard of sapo"
AGAIN = "delete the directory, and the shards are made again"


@dataclass(frozen=True, slots=True)
class Entry:
    """One shard: its sizes, and the checksums of its files; empty for files that do not exist yet."""

    sentences: int
    tokens: int
    rows: int = 0  # features of all tokens
    edge_rows: int = 0
    ids: str = ""
    features: str = ""
    gold: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a cache directory.

    `request` is what it was made from: the input, and every option that the shards depend on. A run with another
    request must not use the directory.
    """

    request: Mapping[str, Any]
    shards: tuple[Entry, ...] = ()
    read: bool = False  # whether the whole input was read
    dictionary: str = ""  # its checksum, once it exists
    sizes: tuple[int, ...] = ()  # features, edge features and learned labels, once they are known
    counts: str = ""  # the checksum of the counts of features
    labels: Mapping[str, Any] = field(default_factory=dict)  # how labels are learned, once all were read
    about: Mapping[str, Any] = field(default_factory=dict)  # the reader and the text rules of the future model

    @property
    def done(self) -> bool:
        """Whether every shard has its features and its gold tags."""
        return (
            self.read
            and len(self.sizes) == 3
            and bool(self.counts)
            and all(entry.features and entry.gold for entry in self.shards)
        )

    @property
    def sentences(self) -> int:
        """The sentences of all shards."""
        return sum(entry.sentences for entry in self.shards)

    @property
    def tokens(self) -> int:
        """The tokens of all shards."""
        return sum(entry.tokens for entry in self.shards)

    def with_shard(self, number: int, entry: Entry) -> "Manifest":
        """Return the manifest with one shard set, or added at the end."""
        return replace(self, shards=(*self.shards[:number], entry, *self.shards[number + 1 :]))

    def save(self, directory: Path) -> None:
        """Write the manifest, whole or not at all."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False, indent=1)
        with write_file(directory / NAME) as stream:
            stream.write(text.encode("utf-8", "surrogatepass"))


def load_manifest(directory: Path) -> Manifest:
    """Return the manifest of a directory. Raise SapoError if there is none, or if it makes no sense."""
    path = directory / NAME
    try:
        stored = read_json(path)
    except FileNotFoundError:
        raise DataError(f"{directory}: not {CACHE}: it has no {NAME}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError):
        raise damaged_manifest(directory) from None
    if not isinstance(stored, dict) or not isinstance(stored.get("format"), int):
        raise damaged_manifest(directory)
    version = stored.pop("format")
    if version != FORMAT:
        raise DataError(f"{path}: has format {version}, this sapo reads format {FORMAT}; give another directory")
    try:
        shards = tuple(Entry(**entry) for entry in stored.pop("shards"))
        manifest = Manifest(shards=shards, sizes=tuple(stored.pop("sizes")), **stored)
    except (TypeError, KeyError):
        raise damaged_manifest(directory) from None
    mappings = (manifest.request, manifest.labels, manifest.about)
    if not (
        all(isinstance(value, dict) for value in mappings)
        and isinstance(manifest.read, bool)
        and isinstance(manifest.dictionary, str)
        and isinstance(manifest.counts, str)
        and len(manifest.sizes) in (0, 3)
        and all(is_count(size) for size in manifest.sizes)
        and all(_fits(entry) for entry in shards)
    ):
        raise damaged_manifest(directory)
    return manifest


def check_request(directory: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raise SapoError if a directory was made for another request."""
    changed = [key for key in wanted if found.get(key) != wanted[key]]
    if not changed:
        return
    key = changed[0]
    then, now = found.get(key), wanted[key]
    if key == "input":
        why = "its input was another file, or has changed since"
    elif len(f"{then}{now}") > 60:
        why = f"it was made with another {key}"
    else:
        why = f"it was made with {key} {then}, not {now}"
    raise DataError(f"{directory}: {why}; give `stream` another directory, or delete this one")


def _fits(entry: Entry) -> bool:
    counts = (entry.sentences, entry.tokens, entry.rows, entry.edge_rows)
    texts = (entry.ids, entry.features, entry.gold)
    return all(is_count(count) for count in counts) and all(isinstance(text, str) for text in texts)


def damaged_manifest(directory: Path) -> SapoError:
    """Return the error for a manifest that makes no sense."""
    return DataError(f"{directory / NAME}: damaged; {AGAIN}")


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
        raise DataError(f"{features_path(directory, number)}: does not fit the manifest; {AGAIN}") from None
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
        raise DataError(f"{directory / COUNTS}: does not fit the manifest; {AGAIN}")
    return counts


def load_checked(path: Path, checksum: str, *, check: bool = True) -> dict[str, np.ndarray]:
    """Return the arrays of a file with this checksum; without `check`, trust the checksum that the file states."""
    header, arrays = load_arrays(path, SHARD, trusted=checksum)
    if check and checksum_of(header, arrays) != checksum:
        raise DataError(f"{path}: not {SHARD}: its checksum is wrong: it was changed or damaged; {AGAIN}")
    return arrays


def join_shards(directory: Path, manifest: Manifest, shards: Mapping[int, bool]) -> EncodedCorpus:
    """Return shards as one corpus in memory; `shards` maps their numbers to whether to check each.

    They are copied one by one, so that memory holds little more than the result.
    """
    entries = [manifest.shards[number] for number in shards]
    for number, entry in zip(shards, entries, strict=True):
        path = features_path(directory, number)
        if 8 * (entry.sentences + entry.tokens) + 4 * (entry.rows + entry.edge_rows) > _size(path):
            raise DataError(f"{path}: does not fit the manifest; {AGAIN}")
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


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _append(offsets: Longs, at: int, more: Longs) -> None:
    """Continue offsets, of which `at` entries are filled, with those of another shard."""
    offsets[at + 1 : at + len(more)] = more[1:]
    offsets[at + 1 : at + len(more)] += offsets[at]


def _offsets(arrays: dict[str, np.ndarray], name: str, count: int, end: int) -> Longs:
    offsets: Longs = array_of(arrays, name, np.int64)
    if not valid_offsets(offsets, count, end):
        raise ValueError(name)
    return offsets
