"""Labelled data in, a corpus ready to learn from out: read, encoded, with its labels, constraints and dev set."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

from sapo import kernels
from sapo.corpus import LABEL, Block, Sentence, format_of
from sapo.corpus.labelled import Source, read_labelled, read_pairs
from sapo.encode.building import build_encoder
from sapo.encode.encoded import EncodedCorpus, join_encoded
from sapo.encode.encoder import TemplateEncoder
from sapo.encode.pairs import observed_pairs
from sapo.encode.presets import template_text
from sapo.encode.ready import FeatureEncoder, build_feature_encoder
from sapo.encode.strings import StringTable, label_ids
from sapo.encode.template import parse_templates
from sapo.errors import SapoError
from sapo.learn import DevSet, Weights
from sapo.model.model import Encoder
from sapo.tags import looks_like_spans, refuse_missing
from sapo.training.labels import Conditions, Lesson, make_lesson
from sapo.training.network import Texts

DEFAULT = Conditions()


@dataclass(frozen=True, slots=True)
class Prepared:
    """The data of a run, read and encoded."""

    encoder: Encoder
    corpus: EncodedCorpus
    labels: list[str]
    reader: dict[str, Any]
    template: str
    dev: DevSet | None
    unseen: list[str]  # labels that only the dev set has
    lesson: Lesson
    missing: str | None = None  # the mark of a missing tag
    texts: Texts | None = None  # the strings, which only networks need

    @property
    def score_name(self) -> str:
        return "F1" if looks_like_spans(self.labels) else "accuracy"

    def zero_weights(self, *, averaged: bool = False, l1: bool = False) -> Weights:
        """Where learning begins."""
        encoder, labels = self.encoder, len(self.labels)
        pairs = observed_pairs(self.corpus, encoder.edge_features, labels)
        return Weights.zeros(
            encoder.features,
            labels,
            transitions=encoder.transitions,
            pairs=pairs,
            bans=self.lesson.bans,
            averaged=averaged,
            l1=l1,
        )


def prepare(
    data: Source,
    *,
    dev: Source | None = None,
    template: str | Path | None = None,
    format: str | None = None,
    label: str | int | None = None,
    columns: Sequence[str] | None = None,
    min_count: int = 1,
    conditions: Conditions = DEFAULT,
    keep_texts: bool = False,
) -> Prepared:
    """Read and encode the corpora of a run. Networks need the texts too."""
    if not isinstance(min_count, Integral) or min_count < 1:
        raise SapoError(f"min_count must be at least 1, not {min_count}")
    if not isinstance(data, str | Path):
        if not isinstance(data, Iterable):
            raise SapoError(f"training data: expected a path or sentences, found {data!r:.40}")
        listed: list[Any] = list(data)
        if listed and not isinstance(listed[0], Sentence) and _ready_made(listed):
            return _prepare_features(listed, dev, template, min_count, conditions)
        data = listed
    reading = {"format": format, "label": None if label is None else str(label), "columns": columns}
    return _prepare_texts(data, dev, template, reading, min_count, conditions, keep_texts)


def _prepare_texts(
    data: Source,
    dev: Source | None,
    template: str | Path | None,
    reading: dict[str, Any],
    min_count: int,
    conditions: Conditions,
    keep_texts: bool,
) -> Prepared:
    given = read_labelled(data, "training data", **reading)
    kept = tuple(given.blocks) if keep_texts else ()
    if template is None:
        template = default_template(given.first, conditions.marks)
    text, source = template_text(template)
    templates = parse_templates(text, given.first.columns, source)
    kernels.compile_kernels()
    table = StringTable()
    encoder, corpus = build_encoder(iter(kept) if keep_texts else given.blocks, templates, table, min_count=min_count)
    lesson = make_lesson(table.strings(), corpus, conditions)
    dev_set, dev_kept = None, tuple[Block, ...]()
    if dev is not None:
        dev_given = read_labelled(dev, "dev data", **reading)
        dev_kept = tuple(dev_given.blocks) if keep_texts else ()
        dev_set = _dev_texts(encoder, dev_kept if keep_texts else dev_given.blocks, lesson)
        refuse_missing(dev_set.labels, conditions.marks, dev_given.name)
    return Prepared(
        encoder,
        lesson.corpus,
        lesson.labels,
        _reader(data, given.first, reading),
        Path(str(template)).name,
        dev_set,
        list(dev_set.labels[len(lesson.outer) :]) if dev_set else [],
        lesson,
        conditions.missing,
        Texts(kept, dev_kept) if keep_texts else None,
    )


def _dev_texts(encoder: TemplateEncoder, blocks: Iterable[Block], lesson: Lesson) -> DevSet:
    session, labels = encoder.session(), list(lesson.outer)
    parts = [session.encode(block, label_ids(block, labels)) for block in blocks]
    return DevSet(join_encoded(parts), labels, lesson.shown_places)


def _reader(data: Source, first: Block, reading: dict[str, Any]) -> dict[str, Any]:
    """How other files are read, so that they are read alike."""
    columns = list(first.columns)
    if not isinstance(data, str | Path):
        return {"columns": columns}
    found = format_of(data, reading["format"])
    return {"columns": columns, "format": found} if found == "columns" else {"format": found, "label": reading["label"]}


def _ready_made(listed: Sequence[Any]) -> bool:
    """Features come as dictionaries or lists; words as strings or tuples."""
    tokens, _ = read_pairs(listed, "training data")
    return isinstance(tokens[0][0], (dict, list))


def _prepare_features(
    listed: list[Any], dev: Source | None, template: str | Path | None, min_count: int, conditions: Conditions
) -> Prepared:
    if template is not None:
        raise SapoError("a template makes features of words; leave it out where the features are made already")
    tokens, tags = read_pairs(listed, "training data")
    kernels.compile_kernels()
    table = StringTable()
    gold = table.add([tag for sentence in tags for tag in sentence])
    encoder, corpus = build_feature_encoder(tokens, gold, min_count=min_count)
    lesson = make_lesson(table.strings(), corpus, conditions)
    dev_set = None if dev is None else _dev_features(encoder, dev, lesson, conditions)
    return Prepared(
        encoder,
        lesson.corpus,
        lesson.labels,
        {},
        "ready-made features",
        dev_set,
        list(dev_set.labels[len(lesson.outer) :]) if dev_set else [],
        lesson,
        conditions.missing,
    )


def _dev_features(encoder: FeatureEncoder, dev: Source, lesson: Lesson, conditions: Conditions) -> DevSet:
    if isinstance(dev, (str, Path)):
        raise SapoError("dev data must be pairs of features and tags, like the training data, not a file")
    tokens, tags = read_pairs(list(dev), "dev data")
    table = StringTable(lesson.outer)
    gold = table.add([tag for sentence in tags for tag in sentence])
    refuse_missing(table.strings(len(lesson.outer)), conditions.marks, "dev data")
    return DevSet(encoder.encode(tokens, gold), table.strings(), lesson.shown_places)


def default_template(first: Block, marks: Sequence[str] = ()) -> str:
    """The best preset for these columns and tags. `marks` are no tags."""
    if not looks_like_spans(sorted(set(first.strings(LABEL)) - set(marks))):
        return "pos-best"
    if "pos" not in first.columns:
        return "ner"
    return "bioner-best" if "chunk" in first.columns else "chunking-best"
