"""Prepare the shards of a training corpus on disk, or reuse those that a cache directory has.

The result is the same as for the whole corpus in memory (`make_gold` in training/gold.py), except that no tag may be
missing. There are four steps:

1. Read the input once, into shards of numbers of strings. Each shard keeps the strings that are new in it.
2. Count the features (`FeatureCounter` in features/building.py).
3. Decide the labels: their scheme, constraints and rules.
4. Encode the shards one by one.

Each step and each shard is recorded in the manifest. A run that was killed goes on after the last whole shard: it takes
the strings from the shards, and skips the sentences that they have. Only counting starts over.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sapo import jit
from sapo.corpus.blocks import LABEL, Block
from sapo.corpus.files import as_sapo_error, is_special, missing_file
from sapo.corpus.labeled import Labeled, read_labeled, with_evidence
from sapo.errors import DataError, OptionError
from sapo.features.building import FeatureCounter
from sapo.features.encoded import EncodedCorpus
from sapo.features.encoder import TemplateEncoder, header_of
from sapo.features.knowledge import Knowledge
from sapo.features.layout import FeatureLayout, views_of
from sapo.features.strings import StringTable, array_of, valid_offsets
from sapo.features.tables import make_tables
from sapo.features.template import TemplateSet
from sapo.features.words import ViewValues
from sapo.jit.arrays import Ints, Longs, joined_offsets
from sapo.learn.records import DevSet
from sapo.learn.settings import AUTO
from sapo.tagger.arrayfile import checksum_of, load_arrays, save_arrays
from sapo.tagger.file import check_constraints
from sapo.tags.constraints import Constraints, bans_of, broken_rules, constraints_of
from sapo.tags.labels import learn_as, refuse_missing
from sapo.tags.recognition import transition_counts
from sapo.tags.schemes import TABLE
from sapo.text.learning import Evidence, rules_of
from sapo.text.tokens import Rules
from sapo.training.data import (
    Pick,
    TrainingData,
    default_template,
    encoded_dev_set,
    reader_of,
    reading_of,
    templates_with_knowledge,
)
from sapo.training.gold import Gold, already_in, check_number, mended_notes, read_rules, scheme_to_learn
from sapo.training.plan import LabelOptions, Plan, StreamOptions
from sapo.training.shards.corpus import ShardedCorpus
from sapo.training.shards.manifest import (
    AGAIN,
    NAME,
    SHARD,
    Entry,
    Manifest,
    check_request,
    damaged_manifest,
    ids_path,
    load_checked,
    load_manifest,
    write_counts,
    write_features,
    write_gold,
)

Say = Callable[[str], None]
Tags = Callable[[], Iterator[tuple[Ints, Longs]]]  # yields the tags of each shard as they were read, and its offsets
DATA = "training data"
DICTIONARY = "dictionary"  # the file of the encoder
CHUNK = 1 << 24  # bytes to hash at once
SECONDS = 10.0  # between two messages


def sharded_data(plan: Plan, stream: StreamOptions, say: Say, pick: Pick = default_template) -> TrainingData:
    """Return the data of a plan, in the shards of a cache directory; make what is missing.

    `say` is called with messages for the user; `pick` chooses the template if the plan has none. Raises SapoError if
    the directory belongs to other data or options.
    """
    path, reading = input_file(plan), reading_of(plan.reading)
    given = read_labeled(path, DATA, **reading)
    if not set(given.first.columns) - {LABEL}:
        raise DataError(f"{path}: has ready-made features and no words; `stream` needs words and a template")
    template = pick(given.first, plan.labels.marks) if plan.template is None else plan.template
    jit.compile_kernels()
    templates = templates_with_knowledge(plan, template, given.first)
    directory = Path(stream.directory)
    cache = _Cache(directory, _manifest(plan, stream, path, templates), plan, templates, say)
    if not cache.manifest.read:
        cache.read(given, {"reader": reader_of(path, given.first, reading), "template": Path(str(template)).name})
    encoder = cache.encoder()
    labels = cache.labels()
    cache.encode(encoder, labels)
    shards = ShardedCorpus(directory, cache.manifest, buffer=stream.buffer)
    gold = labels.gold(shards.sample)
    reader, template_name, rules = cache.about()
    dev = _dev_set(plan, encoder, gold, reading)
    return TrainingData(encoder, gold, reader, template_name, dev, plan.labels.missing, text_rules=rules, shards=shards)


def _dev_set(plan: Plan, encoder: TemplateEncoder, gold: Gold, reading: dict[str, Any]) -> DevSet | None:
    if plan.dev is None:
        return None
    given = read_labeled(plan.dev, "dev data", **reading)
    dev = encoded_dev_set(encoder, given.blocks, gold)
    refuse_missing(dev.labels, plan.labels.marks, given.name)
    return dev


def input_file(plan: Plan) -> Path:
    """Return the file to read. Raise SapoError if the data is not a file that can be read again."""
    if not isinstance(plan.data, str | Path):
        raise OptionError("stream: the training data must be a file; write the sentences into one first")
    path = Path(plan.data)
    if str(plan.data) == "-" or is_special(path):
        raise DataError(f"{plan.data}: `stream` reads its input again when it continues; give it a file, not a pipe")
    if path.is_dir():
        raise DataError(f"{path}: `stream` reads a single file, not a directory; sapo convert makes one")
    if not path.exists():
        raise missing_file(path)
    return path


def _manifest(plan: Plan, stream: StreamOptions, path: Path, templates: TemplateSet) -> Manifest:
    """Return the manifest of the cache directory, which is made if it does not exist."""
    directory = Path(stream.directory)
    with as_sapo_error(directory):
        directory.mkdir(parents=True, exist_ok=True)
    if (directory / NAME).exists():
        manifest = load_manifest(directory)
        wanted = _request(plan, path, templates, stream.shard, manifest.request)
        check_request(directory, manifest.request, wanted)
        return manifest
    if any(directory.iterdir()):
        raise DataError(f"{directory}: is not empty, and not a cache directory of sapo; give `stream` another one")
    manifest = Manifest(_request(plan, path, templates, stream.shard, {}))
    manifest.save(directory)
    return manifest


def _request(plan: Plan, path: Path, templates: TemplateSet, shard: int, old: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything that the shards depend on, as JSON values. `old` is the request of a directory, or empty."""
    reading = reading_of(plan.reading)
    return {
        "input": _identity(path, old.get("input")),
        "template": templates.text,
        "columns": list(templates.file_columns),
        "knowledge": checksum_of(templates.knowledge.header(), templates.knowledge.arrays()),
        "reading": {
            name: value if value is None or isinstance(value, str | int) else list(value)
            for name, value in reading.items()
        },
        "min_count": plan.min_count,
        "constraints": plan.labels.constraints,
        "scheme": plan.labels.scheme,
        "rules": _rules(plan.labels),
        "shard": shard,
    }


def _identity(path: Path, old: Any) -> dict[str, Any]:
    """Return size, time and checksum of a file; or `old`, if it describes a file of this size and time, or content."""
    stat = path.stat()
    found: dict[str, Any] = {"size": stat.st_size, "time": stat.st_mtime_ns}
    if isinstance(old, dict) and {key: old.get(key) for key in found} == found:
        return old
    with path.open("rb") as stream:
        digest = hashlib.sha256()
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    found["sha256"] = digest.hexdigest()
    if isinstance(old, dict) and old.get("sha256") == found["sha256"]:
        return old  # copied, or touched
    return found


def _rules(options: LabelOptions) -> list[str]:
    return read_rules(options.rules) if isinstance(options.rules, str | Path) else list(options.rules)


@dataclass(slots=True)
class _Cache:
    """A cache directory that is being made."""

    directory: Path
    manifest: Manifest
    plan: Plan
    templates: TemplateSet
    say: Say
    strings: "_Strings | None" = None

    def _record(self, manifest: Manifest) -> None:
        self.manifest = manifest
        manifest.save(self.directory)

    def _all_strings(self) -> "_Strings":
        """Return the strings of all shards."""
        if self.strings is None:
            tables = {name: StringTable() for name in self.templates.columns}
            self.strings = _Strings(tables, self.templates.knowledge)
            for number, entry in enumerate(self.manifest.shards):
                arrays = load_checked(ids_path(self.directory, number), entry.ids)
                for name, table in self.strings.tables.items():
                    table.add_small_arrays(arrays, name)
        return self.strings

    def read(self, given: Labeled, about: dict[str, Any]) -> None:
        """Read the whole input into shards, after those that exist."""
        evidence, watch = Evidence(), _Watch(self.say)
        size = int(self.manifest.request["shard"])
        pieces = _pieces(with_evidence(given.blocks, evidence), size)
        for blocks in _gathered(_skipped(pieces, self.manifest.sentences), size):
            number = len(self.manifest.shards)
            arrays = self._all_strings().add(blocks)
            entry = Entry(
                len(arrays["offsets"]) - 1,
                int(arrays["offsets"][-1]),
                ids=save_arrays(ids_path(self.directory, number), {}, arrays),
            )
            self._record(self.manifest.with_shard(number, entry))
            watch.at(f"read {self.manifest.tokens:,} tokens")
        self._record(replace(self.manifest, read=True, about={**about, "text": rules_of(evidence).as_json()}))

    def about(self) -> tuple[dict[str, Any], str, Rules]:
        """Return the reader, the name of the template and the rules of text that the manifest keeps."""
        try:
            about = self.manifest.about
            reader, template, rules = dict(about["reader"]), about["template"], Rules.from_json(about["text"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise damaged_manifest(self.directory) from None
        if not isinstance(template, str):
            raise damaged_manifest(self.directory)
        return reader, template, rules

    def encoder(self) -> TemplateEncoder:
        """Return the encoder: from the file of the dictionary, or counted now."""
        path = self.directory / DICTIONARY
        header = header_of(self.templates)
        if self.manifest.dictionary:
            try:
                return TemplateEncoder.from_arrays(header, load_arrays(path, SHARD)[1])
            except (KeyError, ValueError) as error:
                raise DataError(f"{path}: its parts do not fit together ({error}); {AGAIN}") from None
        encoder = self._counted()
        self._record(replace(self.manifest, dictionary=save_arrays(path, header, encoder.arrays())))
        return encoder

    def _counted(self) -> TemplateEncoder:
        columns = self._all_strings().columns
        self.say(f"counting features ({', '.join(f'{len(table):,} of {name}' for name, table in columns.items())})")
        views = tuple(ViewValues.of_words(view, columns[view.column]) for view in views_of(self.templates))
        layout = FeatureLayout(self.templates, views)
        counter = FeatureCounter(layout, self.directory / "counting")
        watch = _Watch(self.say, of=len(self.manifest.shards))
        for number, entry in enumerate(self.manifest.shards):
            ids, _, offsets = _read_ids(self.directory, number, entry, tuple(columns))
            counter.add(ids, offsets)
            watch.at(f"counted {number + 1:,} of {watch.of:,} shards", number + 1)
        nodes, edges = counter.features(self.plan.min_count)
        counter.close()
        return TemplateEncoder(self.templates, columns, views, make_tables(layout, nodes, edges))

    def labels(self) -> "_Labels":
        """Return how the labels are learned: from the manifest, or decided now."""
        if self.manifest.labels:
            try:
                return _Labels.from_json(self.manifest.labels)
            except (KeyError, TypeError, ValueError):
                raise damaged_manifest(self.directory) from None
        found = _decide_labels(self._all_strings().labels.strings(), self._tags, self.plan.labels)
        self._record(replace(self.manifest, labels=found.as_json()))
        return found

    def _tags(self) -> Iterator[tuple[Ints, Longs]]:
        for number, entry in enumerate(self.manifest.shards):
            _, gold, offsets = _read_ids(self.directory, number, entry, ())
            yield gold, offsets

    def encode(self, encoder: TemplateEncoder, labels: "_Labels") -> None:
        """Encode every shard that is not encoded yet, count the features, and remove the files of strings."""
        self.strings = None  # the encoder has what is needed of them
        sizes = encoder.features, encoder.edge_features, len(labels.learned)
        if not self.manifest.sizes:
            self._record(replace(self.manifest, sizes=sizes))
        if self.manifest.sizes != sizes or not self.manifest.sentences:  # `open_shard` checks numbers by these
            raise damaged_manifest(self.directory)
        waiting = [number for number, entry in enumerate(self.manifest.shards) if not entry.gold]
        watch = _Watch(self.say, of=len(waiting))
        session = encoder.session()
        for done, number in enumerate(waiting, 1):
            entry = self.manifest.shards[number]
            ids, gold, offsets = _read_ids(self.directory, number, entry, tuple(encoder.strings))
            corpus = session.encode_ids(ids, offsets)
            entry = replace(
                entry,
                features=write_features(self.directory, number, corpus),
                rows=len(corpus.rows),
                edge_rows=len(corpus.edge_rows),
                gold=write_gold(self.directory, number, labels.learn(gold, offsets)),
            )
            self._record(self.manifest.with_shard(number, entry))
            watch.at(f"encoded {done:,} of {len(waiting):,} shards", done)
        if not self.manifest.counts:
            self._record(replace(self.manifest, counts=write_counts(self.directory, self.manifest)))
        for number in range(len(self.manifest.shards)):
            ids_path(self.directory, number).unlink(missing_ok=True)


class _Watch:
    """Report how far the work is, at most every few seconds. `of` is the number of steps, if it is known."""

    def __init__(self, say: Say, *, of: int = 0) -> None:
        self.say, self.of = say, of
        self.started = self.reported = jit.clock()

    def at(self, what: str, done: int = 0) -> None:
        """Report what was done, and how long the rest will take."""
        now = jit.clock()
        if now - self.reported < SECONDS:
            return
        self.reported = now
        left = f"  {(now - self.started) / done * (self.of - done):.0f} s left" if self.of and done else ""
        self.say(f"  {what}{left}")


@dataclass(slots=True)
class _Strings:
    """The strings of the input so far: of each column, and the labels."""

    columns: dict[str, StringTable]
    knowledge: Knowledge  # makes some of the columns
    labels: StringTable = field(default_factory=StringTable)

    @property
    def tables(self) -> dict[str, StringTable]:
        """All tables, by their names in files."""
        return {**{f"column.{name}": table for name, table in self.columns.items()}, "labels": self.labels}

    def add(self, blocks: Sequence[Block]) -> dict[str, np.ndarray]:
        """Return the arrays of a shard with these blocks: the numbers of their strings, and the new strings."""
        before = {name: len(table) for name, table in self.tables.items()}
        arrays: dict[str, np.ndarray] = {}
        for name, table in self.columns.items():
            numbers = [table.add_fields(*self.knowledge.fields_of(block, name)) for block in blocks]
            arrays[f"{name}.ids"] = np.concatenate(numbers)
        arrays[LABEL] = np.concatenate([self.labels.add_fields(*block.column(LABEL)) for block in blocks])
        arrays["offsets"] = joined_offsets(block.offsets for block in blocks)
        for name, table in self.tables.items():
            arrays.update((f"{name}.{key}", array) for key, array in table.small_arrays(before[name]).items())
        return arrays


def _read_ids(
    directory: Path, number: int, entry: Entry, columns: Sequence[str]
) -> tuple[dict[str, Ints], Ints, Longs]:
    """Return the numbers of the strings of each column of a shard, its labels and its offsets."""
    arrays = load_checked(ids_path(directory, number), entry.ids)
    try:
        offsets: Longs = array_of(arrays, "offsets", np.int64).copy()
        gold: Ints = array_of(arrays, LABEL, np.int32).copy()
        ids: dict[str, Ints] = {name: array_of(arrays, f"{name}.ids", np.int32).copy() for name in columns}
        if not valid_offsets(offsets, entry.sentences, entry.tokens) or any(
            len(array) != entry.tokens for array in (gold, *ids.values())
        ):
            raise ValueError
    except (KeyError, ValueError):
        raise DataError(f"{ids_path(directory, number)}: does not fit the manifest; {AGAIN}") from None
    return ids, gold, offsets


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


def _skipped(blocks: Iterable[Block], sentences: int) -> Iterator[Block]:
    """Yield the blocks after the first sentences, which existing shards have; a shard has whole blocks."""
    for block in blocks:
        if sentences > 0:
            sentences -= len(block.offsets) - 1
        else:
            yield block
    if sentences:
        raise DataError(f"its input has changed since the first shards were made; {AGAIN}")


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


@dataclass(frozen=True, slots=True)
class _Labels:
    """The labels of a sharded corpus, as a manifest keeps them."""

    read: list[str]  # in the order of their first occurrence in the input
    learned: list[str]
    outer: list[str]  # as they are shown
    shown: tuple[str, ...]
    scheme: str | None  # in which they are rewritten; None if they are learned as they are
    constraints: Constraints
    notes: list[str]

    def as_json(self) -> dict[str, Any]:
        """Return the labels as JSON values."""
        values = {name: getattr(self, name) for name in ("read", "learned", "outer", "scheme", "notes")}
        return {**values, "shown": list(self.shown), "constraints": self.constraints.as_json()}

    @classmethod
    def from_json(cls, stored: Any) -> "_Labels":
        """Return the labels of `as_json`. Raise KeyError, TypeError or ValueError if the values make no sense."""
        kept = {**stored, "shown": tuple(stored["shown"]), "constraints": Constraints.from_json(stored["constraints"])}
        labels = cls(**kept)
        names = [*labels.read, *labels.learned, *labels.outer, *labels.shown, *labels.notes]
        if not all(isinstance(name, str) for name in names) or len(labels.shown) not in (0, len(labels.learned)):
            raise ValueError("labels")
        if not labels.learned or len(set(labels.learned)) != len(labels.learned):
            raise ValueError("labels")
        if labels.outer != list(dict.fromkeys(labels.shown or labels.learned)):
            raise ValueError("labels")
        if labels.scheme is not None and labels.scheme not in TABLE:
            raise ValueError("scheme")
        check_constraints(labels.constraints, labels.learned, labels.shown)
        return labels

    def learn(self, gold: Ints, offsets: Longs) -> Ints:
        """Return the tags of a shard as they are learned."""
        if self.scheme is None:
            return gold
        return learn_as(self.scheme, self.read, gold, offsets, known=self.learned).gold

    def gold(self, sample: EncodedCorpus) -> Gold:
        """Return the labels with some sentences, as training takes them."""
        bans = bans_of(self.constraints, self.learned, self.shown)
        return Gold(self.learned, self.outer, self.shown, sample, self.constraints, bans, self.notes)


def _decide_labels(read: list[str], tags: Tags, options: LabelOptions) -> _Labels:
    """Decide what to learn. Raise SapoError if a tag is missing, or the options do not fit the data."""
    check_number(read, DATA)
    for mark in set(read) & set(options.marks):
        raise DataError(f"{DATA}: some tags are missing ({mark!r}); `stream` needs all of them")
    counts = _transition_counts(tags, None, len(read))
    scheme = scheme_to_learn(read, counts, options)
    learned, shown, notes = read, tuple[str, ...](), list[str]()
    rewritten = None
    if scheme is not None and not already_in(scheme, read, counts):
        learned, shown, mended = _learned(scheme, read, tags, complete=options.scheme == AUTO)
        check_number(learned, DATA)
        notes = mended_notes(mended)
        rewritten = scheme
    outer = read if scheme is None else list(dict.fromkeys([*(shown or learned), *read]))
    found = _Labels(read, learned, outer, shown, rewritten, Constraints(), notes)
    if rewritten is not None:
        counts = _transition_counts(tags, found, len(learned))
    constraints, bans, more = constraints_of(
        learned, counts, scheme=scheme, rules=_rules(options), on=options.constraints, shown=shown
    )
    if counts[bans < 0].any():
        before = 0
        for gold, offsets in tags():
            inner = found.learn(gold, offsets)
            if transition_counts(inner, offsets, len(learned))[bans < 0].any():
                raise broken_rules(bans, constraints, inner, offsets, counts, f"{DATA}: after {before:,} sentences")
            before += len(offsets) - 1
    return replace(found, constraints=constraints, notes=[*notes, *more])


def _transition_counts(tags: Tags, labels: _Labels | None, count: int) -> Longs:
    """Return how often each label follows each other one in the whole corpus, as read or as `labels` learn them."""
    total = np.zeros((count + 2, count), np.int64)
    for gold, offsets in tags():
        total += transition_counts(gold if labels is None else labels.learn(gold, offsets), offsets, count)
    return total


def _learned(scheme: str, read: list[str], tags: Tags, *, complete: bool) -> tuple[list[str], tuple[str, ...], int]:
    """Return the labels in a scheme in the order of their first occurrence, how they are shown, and what was mended."""
    known: list[str] = []
    mended = 0
    for gold, offsets in tags():
        inner = learn_as(scheme, read, gold, offsets, known=known)
        known, mended = inner.labels, mended + inner.mended
    none = np.empty(0, np.int32)
    last = learn_as(scheme, read, none, np.zeros(1, np.int64), known=known, complete=complete)
    return last.labels, last.shown, mended
