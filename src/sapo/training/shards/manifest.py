"""The manifest of a cache directory: what it was made from, and which files are whole."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sapo.corpus.files import write_file
from sapo.errors import SapoError
from sapo.model.checks import is_count

FORMAT = 1
NAME = "manifest.json"
WHAT = "a cache directory of sapo"


@dataclass(frozen=True, slots=True)
class Entry:
    """One shard: its sizes, and the checksums of its files; those of files that are not made yet are empty."""

    sentences: int
    tokens: int
    rows: int = 0  # features of all tokens
    edge_rows: int = 0
    ids: str = ""
    features: str = ""
    gold: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a cache directory holds.

    `request` says what it was made from: the input, and every option that the shards depend on. Whoever asks for
    something else must not use the directory.
    """

    request: Mapping[str, Any]
    shards: tuple[Entry, ...] = ()
    read: bool = False  # whether the whole input was read
    dictionary: str = ""  # its checksum, once it is made
    sizes: tuple[int, ...] = ()  # features, edge features and learned labels, once they are known
    counts: str = ""  # the checksum of the counts of features
    labels: Mapping[str, Any] = field(default_factory=dict)  # what was decided about labels, once all were read
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
        stored = json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
    except FileNotFoundError:
        raise SapoError(f"{directory}: not {WHAT}: it has no {NAME}") from None
    except OSError as error:
        raise SapoError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError):
        raise _damaged(path) from None
    if not isinstance(stored, dict) or not isinstance(stored.get("format"), int):
        raise _damaged(path)
    version = stored.pop("format")
    if version != FORMAT:
        raise SapoError(f"{path}: has format {version}, this sapo reads format {FORMAT}; give another directory")
    try:
        shards = tuple(Entry(**entry) for entry in stored.pop("shards"))
        manifest = Manifest(shards=shards, sizes=tuple(stored.pop("sizes")), **stored)
    except (TypeError, KeyError):
        raise _damaged(path) from None
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
        raise _damaged(path)
    return manifest


def check_request(directory: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raise SapoError, in one line, if a directory was made for another request."""
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
    raise SapoError(f"{directory}: {why}; give --stream another directory, or delete this one")


def _fits(entry: Entry) -> bool:
    counts = (entry.sentences, entry.tokens, entry.rows, entry.edge_rows)
    texts = (entry.ids, entry.features, entry.gold)
    return all(is_count(count) for count in counts) and all(isinstance(text, str) for text in texts)


def _damaged(path: Path) -> SapoError:
    return SapoError(f"{path}: damaged; delete the directory, and the shards are made anew")
