"""Make the shards of a training corpus on disk, or reuse those that a cache directory has.

The result is that of `make_gold` (training/gold.py) for the whole corpus in memory, without missing tags.

Each shard keeps the strings that are new in it, so that a run that was killed goes on after its last whole shard: the
strings are taken from the shards, and the sentences that are in them are skipped.

The input is read once, into shards of numbers of strings (reading.py). Then the features are counted
(features/building.py), the labels decided (labels.py), and the shards encoded one by one. Each step is recorded in the
manifest, and a run that was killed goes on with the next one; only counting begins anew.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sapo import jit
from sapo.corpus.blocks import LABEL, Block
from sapo.corpus.files import is_special, missing_file, told
from sapo.corpus.labeled import Labeled, read_labeled, with_evidence
from sapo.errors import SapoError
from sapo.features.building import FeatureCounter
from sapo.features.encoded import EncodedCorpus
from sapo.features.encoder import TemplateEncoder, fields_of
from sapo.features.layout import FeatureLayout, views_of
from sapo.features.presets import template_text
from sapo.features.strings import StringTable, array_of, valid_offsets
from sapo.features.tables import make_tables
from sapo.features.template import TemplateSet, parse_templates
from sapo.features.views import ViewValues
from sapo.jit.arrays import Ints, Longs
from sapo.learn.records import DevSet
from sapo.learn.settings import AUTO
from sapo.tagger.arrayfile import load_arrays, save_arrays
from sapo.tagger.file import check_constraints
from sapo.tags.constraints import Constraints, bans_of, broken_rules, constraints_of
from sapo.tags.labels import learn_as, refuse_missing
from sapo.tags.recognition import transition_counts
from sapo.tags.schemes import TABLE
from sapo.text.learning import Evidence, rules_of
from sapo.text.tokens import Rules
from sapo.training.data import TrainingData, default_template, encoded_dev_set, reader_of, reading_of
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
    ids_path,
    load_checked,
    load_manifest,
    write_counts,
    write_features,
    write_gold,
)

CHUNK = 1 << 24


def input_file(plan: Plan) -> Path:
    """Return the file to read. Raise SapoError if the data is something else."""
    if not isinstance(plan.data, str | Path):
        raise SapoError("stream: the training data must be a file; write the sentences into one first")
    path = Path(plan.data)
    if str(plan.data) == "-" or is_special(path):
        raise SapoError(f"{plan.data}: --stream reads its input again when it goes on; give it a file, not a pipe")
    if path.is_dir():
        raise SapoError(f"{path}: --stream reads a single file, not a directory; sapo convert makes one")
    if not path.exists():
        raise missing_file(path)
    return path


def request_of(plan: Plan, path: Path, templates: TemplateSet, shard: int, old: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that the shards depend on, as JSON values. `old` is the request of a directory, or empty.

    A file that has the size and the time of the old input is taken for the same; otherwise its content decides.
    """
    labels = plan.labels
    rules = read_rules(labels.rules) if isinstance(labels.rules, str | Path) else list(labels.rules)
    return {
        "input": _identity(path, old.get("input")),
        "template": templates.text,
        "columns": list(templates.file_columns),
        "reading": {name: _plain(value) for name, value in reading_of(plan.reading).items()},
        "min_count": plan.min_count,
        "constraints": labels.constraints,
        "scheme": labels.scheme,
        "rules": rules,
        "shard": shard,
    }


def _identity(path: Path, old: Any) -> dict[str, Any]:
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


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int) else list(value)


Tags = Callable[[], Iterator[tuple[Ints, Longs]]]  # the tags of each shard as they are read, and its offsets
DATA = "training data"


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a sharded corpus, as a manifest keeps them."""

    read: list[str]  # in the order in which they come in the input
    learned: list[str]
    outer: list[str]  # as they are shown
    shown: tuple[str, ...]
    scheme: str | None  # that they are rewritten in; None if they are learned as they are
    constraints: Constraints
    notes: list[str]

    def as_json(self) -> dict[str, Any]:
        """Return the labels as JSON values."""
        values = {name: getattr(self, name) for name in ("read", "learned", "outer", "scheme", "notes")}
        return {**values, "shown": list(self.shown), "constraints": self.constraints.as_json()}

    @classmethod
    def from_json(cls, stored: Any) -> "Labels":
        """Return what `as_json` wrote. Raise KeyError, TypeError or ValueError if it makes no sense."""
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


def decide_labels(labels: Sequence[str], tags: Tags, options: LabelOptions) -> Labels:
    """Decide what to learn. Raise SapoError if a tag is missing, or the options do not fit the data."""
    read = list(labels)
    check_number(read)
    for mark in set(read) & set(options.marks):
        raise SapoError(f"{DATA}: some tags are missing ({mark!r}); --stream needs all of them")
    counts = _counts(tags, lambda gold, offsets: gold, len(read))
    scheme = scheme_to_learn(read, counts, options)
    learned, shown, notes = read, tuple[str, ...](), list[str]()
    if scheme is not None and not already_in(scheme, read, counts):
        learned, shown, mended = _learned(scheme, read, tags, complete=options.scheme == AUTO)
        notes = mended_notes(mended)
        rewritten = scheme
    else:
        rewritten = None
    outer = read if scheme is None else list(dict.fromkeys([*(shown or learned), *read]))
    found = Labels(read, learned, outer, shown, rewritten, Constraints(), [])
    if rewritten is not None:
        counts = _counts(tags, found.learn, len(learned))
    rules = read_rules(options.rules) if isinstance(options.rules, str | Path) else list(options.rules)
    constraints, bans, more = constraints_of(
        learned, counts, scheme=scheme, rules=rules, on=options.constraints, shown=shown
    )
    if counts[bans < 0].any():
        before = 0
        for gold, offsets in tags():
            inner = found.learn(gold, offsets)
            if transition_counts(inner, offsets, len(learned))[bans < 0].any():
                raise broken_rules(bans, constraints, inner, offsets, counts, f"{DATA}: after {before:,} sentences")
            before += len(offsets) - 1
    return Labels(read, learned, outer, shown, rewritten, constraints, [*notes, *more])


def _counts(tags: Tags, learn: Callable[[Ints, Longs], Ints], labels: int) -> Longs:
    """Return how often each label follows each other one in the whole corpus."""
    total = np.zeros((labels + 2, labels), np.int64)
    for gold, offsets in tags():
        total += transition_counts(learn(gold, offsets), offsets, labels)
    return total


def _learned(scheme: str, read: list[str], tags: Tags, *, complete: bool) -> tuple[list[str], tuple[str, ...], int]:
    """Return the labels in a scheme in the order in which they come, how they are shown, and what was mended."""
    known: list[str] = []
    mended = 0
    for gold, offsets in tags():
        inner = learn_as(scheme, read, gold, offsets, known=known)
        known, mended = inner.labels, mended + inner.mended
    none = np.empty(0, np.int32)
    last = learn_as(scheme, read, none, np.zeros(1, np.int64), known=known, complete=complete)
    return last.labels, last.shown, mended


SECONDS = 10.0  # between two messages


class Watch:
    """Says how far some work is, at most every few seconds."""

    def __init__(self, say: Callable[[str], None], *, of: int = 0) -> None:
        self.say, self.of = say, of
        self.started = self.told = jit.clock()

    def at(self, what: str, done: int = 0) -> None:
        """Say what was done, and how long the rest will take where it is known how many steps there are."""
        now = jit.clock()
        if now - self.told < SECONDS:
            return
        self.told = now
        left = ""
        if self.of and done:
            left = f"  {(now - self.started) / done * (self.of - done):.0f} s left"
        self.say(f"  {what}{left}")


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


Say = Callable[[str], None]
DICTIONARY = "dictionary"


def sharded_data(plan: Plan, stream: StreamOptions, say: Say) -> TrainingData:
    """Return the data of a plan, in the shards of a cache directory; make what is not there yet.

    `say` is called with messages for the user. Raises SapoError if the directory belongs to other data or options.
    """
    path, reading = input_file(plan), reading_of(plan.reading)
    given = read_labeled(path, "training data", **reading)
    if not set(given.first.columns) - {LABEL}:
        raise SapoError(f"{path}: has ready-made features and no words; --stream needs words and a template")
    template = default_template(given.first, plan.labels.marks) if plan.template is None else plan.template
    text, source = template_text(template)
    templates = parse_templates(text, given.first.columns, source)
    jit.compile_kernels()
    directory = Path(stream.directory)
    making = _Making(directory, _manifest(plan, stream, path, templates), plan, templates, say)
    if not making.manifest.read:
        making.read(given, {"reader": reader_of(path, given.first, reading), "template": Path(str(template)).name})
    encoder = making.encoder()
    labels = making.labels()
    making.encode(encoder, labels)
    shards = ShardedCorpus(directory, making.manifest, buffer=stream.buffer)
    gold = labels.gold(shards.sample)
    known, named, rules = _about(directory, making.manifest)
    return TrainingData(
        encoder,
        gold,
        known,
        named,
        _dev_set(plan, encoder, gold, reading),
        plan.labels.missing,
        text_rules=rules,
        shards=shards,
    )


def _about(directory: Path, manifest: Manifest) -> tuple[dict[str, Any], str, Rules]:
    """Return the reader, the name of the template and the rules of text that a manifest keeps."""
    try:
        about = manifest.about
        reader, template, rules = dict(about["reader"]), about["template"], Rules.from_json(about["text"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _damaged(directory) from None
    if not isinstance(template, str):
        raise _damaged(directory)
    return reader, template, rules


def _damaged(directory: Path) -> SapoError:
    return SapoError(f"{directory / NAME}: damaged; {AGAIN}")


def _manifest(plan: Plan, stream: StreamOptions, path: Path, templates: TemplateSet) -> Manifest:
    """Return the manifest of the cache directory, which is made if it is not there."""
    directory = Path(stream.directory)
    with told(directory):
        directory.mkdir(parents=True, exist_ok=True)
    if (directory / NAME).exists():
        manifest = load_manifest(directory)
        wanted = request_of(plan, path, templates, stream.shard, manifest.request)
        check_request(directory, manifest.request, wanted)
        return manifest
    if any(directory.iterdir()):
        raise SapoError(f"{directory}: is not empty, and not a cache directory of sapo; give --stream another one")
    manifest = Manifest(request_of(plan, path, templates, stream.shard, {}))
    manifest.save(directory)
    return manifest


@dataclass(slots=True)
class _Making:
    """A cache directory that is being made."""

    directory: Path
    manifest: Manifest
    plan: Plan
    templates: TemplateSet
    say: Say
    strings: Strings | None = None

    def _record(self, **changes: Any) -> None:
        self.manifest = replace(self.manifest, **changes)
        self.manifest.save(self.directory)

    def _strings(self) -> Strings:
        """Return the strings of all shards."""
        if self.strings is None:
            self.strings = Strings({name: StringTable() for name in self.templates.columns})
            self.strings.load(self.directory, self.manifest)
        return self.strings

    def read(self, given: Labeled, about: dict[str, Any]) -> None:
        """Read the whole input into shards."""
        evidence = Evidence()
        blocks = with_evidence(given.blocks, evidence)
        self.manifest = read_shards(self.directory, self.manifest, blocks, self._strings(), Watch(self.say))
        self._record(read=True, about={**about, "text": rules_of(evidence).as_json()})

    def encoder(self) -> TemplateEncoder:
        """Return the encoder: from the file of the dictionary, or counted now."""
        path = self.directory / DICTIONARY
        header = {"template": self.templates.text, "file_columns": list(self.templates.file_columns)}
        if self.manifest.dictionary:
            try:
                return TemplateEncoder.from_arrays(header, load_arrays(path, SHARD)[1])
            except (KeyError, ValueError) as error:
                raise SapoError(f"{path}: its parts do not fit together ({error}); {AGAIN}") from None
        encoder = self._counted()
        self._record(dictionary=save_arrays(path, header, encoder.arrays()))
        return encoder

    def _counted(self) -> TemplateEncoder:
        columns = self._strings().columns
        self.say(f"counting features ({', '.join(f'{len(table):,} of {name}' for name, table in columns.items())})")
        views = tuple(ViewValues.of_words(view, columns[view.column]) for view in views_of(self.templates))
        layout = FeatureLayout(self.templates, views)
        counter = FeatureCounter(layout, self.directory / "counting")
        watch = Watch(self.say, of=len(self.manifest.shards))
        for number, entry in enumerate(self.manifest.shards):
            ids, _, offsets = read_ids(self.directory, number, entry, tuple(columns))
            counter.add(ids, offsets)
            watch.at(f"counted {number + 1:,} of {watch.of:,} shards", number + 1)
        nodes, edges = counter.features(self.plan.min_count)
        counter.close()
        return TemplateEncoder(self.templates, columns, views, make_tables(layout, nodes, edges))

    def labels(self) -> Labels:
        """Return what the labels are learned as: as it was decided, or decided now."""
        if self.manifest.labels:
            try:
                return Labels.from_json(self.manifest.labels)
            except (KeyError, TypeError, ValueError):
                raise _damaged(self.directory) from None
        read = self._strings().labels.strings()
        found = decide_labels(read, lambda: tags_of(self.directory, self.manifest), self.plan.labels)
        self._record(labels=found.as_json())
        return found

    def encode(self, encoder: TemplateEncoder, labels: Labels) -> None:
        """Encode every shard that is not encoded yet, count the features, and remove what the shards were made from."""
        self.strings = None  # what is needed of them is in the encoder
        sizes = encoder.features, encoder.edge_features, len(labels.learned)
        if not self.manifest.sizes:
            self._record(sizes=sizes)
        if self.manifest.sizes != sizes or not self.manifest.sentences:  # numbers of shards are checked by these
            raise _damaged(self.directory)
        waiting = [number for number, entry in enumerate(self.manifest.shards) if not entry.gold]
        watch = Watch(self.say, of=len(waiting))
        session = encoder.session()
        for done, number in enumerate(waiting, 1):
            entry = self.manifest.shards[number]
            ids, gold, offsets = read_ids(self.directory, number, entry, tuple(encoder.columns))
            corpus = session.encode_ids(ids, offsets)
            entry = replace(
                entry,
                features=write_features(self.directory, number, corpus),
                rows=len(corpus.rows),
                edge_rows=len(corpus.edge_rows),
                gold=write_gold(self.directory, number, labels.learn(gold, offsets)),
            )
            self.manifest = self.manifest.with_shard(number, entry)
            self.manifest.save(self.directory)
            watch.at(f"encoded {done:,} of {len(waiting):,} shards", done)
        if not self.manifest.counts:
            self._record(counts=write_counts(self.directory, self.manifest))
        for number in range(len(self.manifest.shards)):
            ids_path(self.directory, number).unlink(missing_ok=True)


def _dev_set(plan: Plan, encoder: TemplateEncoder, gold: Gold, reading: dict[str, Any]) -> DevSet | None:
    if plan.dev is None:
        return None
    given = read_labeled(plan.dev, "dev data", **reading)
    dev = encoded_dev_set(encoder, given.blocks, gold)
    refuse_missing(dev.labels, plan.labels.marks, given.name)
    return dev
