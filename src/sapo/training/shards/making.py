"""A plan in, training data in shards on disk out: what a cache directory has is used, what it lacks is made.

The input is read once, into shards of numbers of strings (reading.py). Then the features are counted
(encode/counting.py), the labels decided (labels.py), and the shards encoded one by one. Each step is recorded in the
manifest, and a run that was killed goes on with the next one; only counting begins anew.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sapo import kernels
from sapo.corpus import LABEL
from sapo.corpus.labelled import Labelled, read_labelled, with_evidence
from sapo.corpus.replacing import told
from sapo.encode.counting import FeatureCounter
from sapo.encode.encoder import TemplateEncoder
from sapo.encode.layout import Layout, views_of
from sapo.encode.open_tables import make_tables
from sapo.encode.presets import template_text
from sapo.encode.strings import StringTable
from sapo.encode.template import TemplateSet, parse_templates
from sapo.encode.view_values import ViewValues
from sapo.errors import SapoError
from sapo.learn import DevSet
from sapo.model.arrayfile import load_arrays, save_arrays
from sapo.tags import refuse_missing
from sapo.text import Evidence, Rules, rules_of
from sapo.training.data import TrainingData, default_template, encoded_dev_set, reader_of, reading_of
from sapo.training.gold import Gold
from sapo.training.plan import Plan, StreamOptions
from sapo.training.shards.corpus import ShardedCorpus
from sapo.training.shards.files import AGAIN, WHAT, ids_path, write_counts, write_features, write_gold
from sapo.training.shards.labels import Labels, decide_labels
from sapo.training.shards.manifest import NAME, Manifest, check_request, load_manifest
from sapo.training.shards.reading import Strings, read_ids, read_shards, tags_of
from sapo.training.shards.source import input_file, request_of
from sapo.training.shards.watching import Watch

Say = Callable[[str], None]
DICTIONARY = "dictionary"


def sharded_data(plan: Plan, stream: StreamOptions, say: Say) -> TrainingData:
    """Return the data of a plan, in the shards of a cache directory; make what is not there yet.

    `say` is called with messages for the user. Raises SapoError if the directory belongs to other data or options.
    """
    path, reading = input_file(plan), reading_of(plan.reading)
    given = read_labelled(path, "training data", **reading)
    if not set(given.first.columns) - {LABEL}:
        raise SapoError(f"{path}: has ready-made features and no words; --stream needs words and a template")
    template = default_template(given.first, plan.labels.marks) if plan.template is None else plan.template
    text, source = template_text(template)
    templates = parse_templates(text, given.first.columns, source)
    kernels.compile_kernels()
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

    def read(self, given: Labelled, about: dict[str, Any]) -> None:
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
                return TemplateEncoder.from_arrays(header, load_arrays(path, WHAT)[1])
            except (KeyError, ValueError) as error:
                raise SapoError(f"{path}: its parts do not fit together ({error}); {AGAIN}") from None
        encoder = self._counted()
        self._record(dictionary=save_arrays(path, header, encoder.arrays()))
        return encoder

    def _counted(self) -> TemplateEncoder:
        columns = self._strings().columns
        self.say(f"counting features ({', '.join(f'{len(table):,} of {name}' for name, table in columns.items())})")
        views = tuple(ViewValues.of_words(view, columns[view.column]) for view in views_of(self.templates))
        layout = Layout(self.templates, views)
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
    given = read_labelled(plan.dev, "dev data", **reading)
    dev = encoded_dev_set(encoder, given.blocks, gold)
    refuse_missing(dev.labels, plan.labels.marks, given.name)
    return dev
