"""Read and encode the data of a training run, and warn if it looks wrong."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from sapo import jit
from sapo.check.doctor import quick_findings
from sapo.check.findings import Finding
from sapo.check.sentences import NEARLY_ALL, same_data
from sapo.corpus.blocks import LABEL, Block, Sentence, is_table
from sapo.corpus.files import show_path
from sapo.corpus.formats import format_of, read_blocks
from sapo.corpus.labeled import Labeled, Source, read_labeled, read_pairs, with_evidence
from sapo.errors import DataError, DataWarning, OptionError
from sapo.features.building import build_encoder
from sapo.features.clusters import Clusters
from sapo.features.encoded import EncodedCorpus, join_encoded, observed_pairs
from sapo.features.encoder import Encoder, TemplateEncoder
from sapo.features.knowledge import NOTHING, Knowledge
from sapo.features.names import B, I, NameList, read_names
from sapo.features.ready import FeatureEncoder, build_feature_encoder, build_from_batches
from sapo.features.strings import StringTable, label_ids
from sapo.features.template import TemplateSet, parse_templates, template_text
from sapo.features.vectors import WordVectors
from sapo.jit.arrays import Bools, Floats, Ints
from sapo.learn import LEARNERS
from sapo.learn.batch_crf import CRF_LBFGS
from sapo.learn.records import DevSet
from sapo.learn.samples import Corpus, counted_samples, scaled, scales_of
from sapo.learn.weights import Weights
from sapo.neural.options import Texts
from sapo.tagger.files import ReadingOptions
from sapo.tagger.tagger import Tagger
from sapo.tags.labels import refuse_missing
from sapo.tags.schemes import Notation, label_kinds, looks_like_spans, notation_of
from sapo.tags.spans import read_spans
from sapo.text.learning import Evidence, rules_of, unlearned
from sapo.text.tokens import Rules
from sapo.training.gold import Gold, make_gold
from sapo.training.plan import CASE, ClusterSource, Names, Plan
from sapo.training.shards.corpus import ShardedCorpus

# The share of words outside spans is below this for phrases: 0.03 in CoNLL-2000, and 0.39 if only its noun phrases are
# kept. It is 0.49 for the slots of SNIPS, and 0.74 to 0.99 for the entities of six corpora.
PHRASES_OUTSIDE = 0.44


@dataclass(frozen=True, slots=True)
class TrainingData:
    """The encoded data of a training run."""

    encoder: Encoder
    gold: Gold
    reader: dict[str, Any]  # how the training file was read; other files are read in the same way
    template: str
    dev: DevSet | None
    missing: str | None = None  # what is written for a missing tag
    texts: Texts | None = None  # the words themselves; only networks need them
    scales: Floats = field(default_factory=lambda: np.empty(0, np.float32))  # of numeric features, if they are scaled
    text_rules: Rules = field(default_factory=Rules)  # how text is cut into such tokens
    not_split: Sequence[str] = ()  # spans that begin or end where these rules do not split a token
    shards: ShardedCorpus | None = None  # the training sentences, if they are not in memory

    @property
    def corpus(self) -> EncodedCorpus:
        """The training sentences; where they are in shards, only the first ones."""
        return self.gold.corpus

    @property
    def source(self) -> Corpus:
        """All training sentences, as the passes take them."""
        return self.corpus if self.shards is None else self.shards

    @property
    def labels(self) -> list[str]:
        """The labels, as they are learned."""
        return self.gold.labels

    @property
    def label_counts(self) -> dict[str, int]:
        """How often each label of the data occurs in the training sentences."""
        gold, shown = self.corpus.gold, self.gold.shown_places
        known = gold[gold >= 0]
        counts = np.bincount(known if shown is None else shown[known], minlength=len(self.gold.outer))
        return dict(zip(self.gold.outer, counts.tolist(), strict=True))

    @property
    def unseen(self) -> list[str]:
        """The labels that occur only in the dev set."""
        return list(self.dev.labels[len(self.gold.outer) :]) if self.dev else []

    @property
    def spans(self) -> bool:
        """Whether the labels mark spans."""
        return looks_like_spans(self.labels)

    @property
    def score_name(self) -> str:
        """The name of the score that the dev set is evaluated with."""
        return "F1" if self.spans else "accuracy"

    def with_corpus(self, corpus: EncodedCorpus) -> "TrainingData":
        """Return the same data with other training sentences."""
        return replace(self, gold=replace(self.gold, corpus=corpus))

    def zero_weights(self, *, averaged: bool = False, l1: bool = False, features: int | None = None) -> Weights:
        """Return the weights of a linear learner before training, all zero; of all features or of this many."""
        encoder, labels = self.encoder, len(self.labels)
        if self.shards is None:
            pairs = observed_pairs(self.corpus, encoder.edge_features, labels)
        else:
            pairs = self.shards.pairs(encoder.edge_features, labels)
        return Weights.zeros(
            encoder.features if features is None else features,
            labels,
            transitions=encoder.transitions,
            pairs=pairs,
            bans=self.gold.bans,
            averaged=averaged,
            l1=l1,
        )


Pick = Callable[[Block, Sequence[str]], str]  # chooses a template for the first block, given the marks of missing tags


def encode_data(plan: Plan, *, keep_texts: bool = False, pick: Pick | None = None) -> TrainingData:
    """Read and encode the data of a plan. With `keep_texts` the words are kept as well; networks need them.

    `pick` chooses the template if the plan has none, instead of `default_template`.
    """
    data, counted = plan.data, None
    if plan.labels.sample_weight is not None:
        weights, counted = counted_samples(plan.labels.sample_weight)
        plan = replace(plan, labels=replace(plan.labels, sample_weight=weights))
    if isinstance(data, str | Path) or (not isinstance(data, list | tuple) and is_table(data)):
        return _encode_texts(plan, data, counted, keep_texts, pick or default_template)
    if not isinstance(data, Iterable):
        raise DataError(f"training data: expected a path or sentences, found {data!r:.40}")
    listed: list[Any] = list(data)
    if listed and not isinstance(listed[0], Sentence) and _ready_made(listed):
        return _encode_features(plan, listed, counted)
    return _encode_texts(plan, listed, counted, keep_texts, pick or default_template)


def _encode_texts(plan: Plan, data: Source, counted: Bools | None, keep_texts: bool, pick: Pick) -> TrainingData:
    marks = plan.labels.marks
    reading = reading_of(plan.reading)
    given = read_labeled(data, "training data", counted=counted, **reading)
    if given.first.features is not None:
        words = set(given.first.columns) - {LABEL}
        if not words or (plan.template is None and not keep_texts):
            return _encode_feature_blocks(plan, data, given, reading)
    kept = tuple(given.blocks) if keep_texts else ()
    template = pick(given.first, marks) if plan.template is None else plan.template
    jit.compile_kernels()
    templates = templates_with_knowledge(plan, template, given.first)
    table = StringTable()
    evidence = Evidence()
    blocks = with_evidence(iter(kept) if keep_texts else given.blocks, evidence)
    encoder, corpus = build_encoder(blocks, templates, table, min_count=plan.min_count)
    gold = make_gold(table.strings(), corpus, plan.labels)
    dev_set, dev_kept = None, tuple[Block, ...]()
    if plan.dev is not None:
        dev_given = read_labeled(plan.dev, "dev data", **reading)
        dev_kept = tuple(dev_given.blocks) if keep_texts else ()
        dev_set = encoded_dev_set(encoder, dev_kept if keep_texts else dev_given.blocks, gold)
        refuse_missing(dev_set.labels, marks, dev_given.name)
    return TrainingData(
        encoder,
        gold,
        reader_of(data, given.first, reading),
        Path(str(template)).name,
        dev_set,
        plan.labels.missing,
        Texts(kept, dev_kept) if keep_texts else None,
        text_rules=(rules := rules_of(evidence)),
        not_split=unlearned(evidence, rules),
    )


def templates_with_knowledge(plan: Plan, template: str | Path, first: Block) -> TemplateSet:
    """Return the templates of a run, for data with this first block, and the knowledge that they use."""
    text, source = template_text(template)
    sources: dict[str, Clusters | NameList] = {}
    for given in plan.clusters:
        name = next(name for name in map(_column_name, count(1)) if name not in (*first.columns, *sources))
        sources[name] = _clusters(given)
    for key, names in plan.names.items():
        kind = key.removesuffix(CASE)
        if kind in (*first.columns, *sources):
            raise OptionError(f"names: there is a column '{kind}' already; choose another kind, such as {kind}_names")
        sources[kind] = found = name_list(names, any_case=kind == key)
        if found is not names:
            _refuse_harvested(kind, found, plan, first)
    vectors = None if plan.vectors is None else WordVectors.read(plan.vectors)
    knowledge = Knowledge(word_column(first), sources, vectors) if sources or vectors is not None else NOTHING
    return parse_templates(knowledge.complete(text), first.columns, source, knowledge)


def _clusters(given: ClusterSource) -> Clusters:
    if isinstance(given, Clusters):
        return given
    return Clusters(given) if isinstance(given, Mapping) else Clusters.read(given)


def name_list(names: Names, *, any_case: bool) -> NameList:
    """Return the names of a file or a sequence as a list; one that is ready stays as it is."""
    if isinstance(names, NameList):
        return names
    if isinstance(names, str | Path):
        return NameList.read(names, any_case=any_case)
    return NameList.of(names, any_case=any_case)


def names_in(path: str | Path) -> list[str]:
    """Return the names of a file as they are written there; raise SapoError if it cannot be a list of names."""
    NameList.read(path)
    return [name for _, name in read_names(path)]


def with_names(tagger: Tagger, lists: Mapping[str, NameList]) -> Tagger:
    """Return a tagger that finds the names of other lists, of the kinds that it knows. It learns nothing."""
    encoder = tagger.model.encoder
    assert isinstance(encoder, TemplateEncoder)
    known = encoder.templates.knowledge
    templates = replace(encoder.templates, knowledge=replace(known, columns={**known.columns, **lists}))
    encoder = TemplateEncoder(templates, encoder.strings, encoder.views, encoder.tables)
    return Tagger(replace(tagger.model, encoder=encoder))


HARVESTED = 0.9  # share of the spans of the training data that no list from elsewhere has
FEWEST_SPANS = 30  # to tell


def _refuse_harvested(kind: str, names: NameList, plan: Plan, first: Block) -> None:
    """Raise SapoError if a list was made from the training data, unless it has the names of the dev data as well.

    All names of the training data are in such a list, so a model learns to trust it alone, and finds no others.
    """
    share = _share_in_list(names, first)
    if share < HARVESTED:
        return
    if plan.dev is not None:
        dev = read_labeled(plan.dev, "dev data", **reading_of(plan.reading)).first
        if _share_in_list(names, dev) >= HARVESTED:
            return
    raise OptionError(
        f"names: {100 * share:.0f} % of the spans of the training data are in the list '{kind}', so it seems to be "
        "made from them; a model would trust it alone, and miss all other names; take a list from elsewhere"
    )


def _share_in_list(names: NameList, block: Block) -> float:
    """Return the share of the spans of a block that are names of the list; 0 if there are too few spans to tell."""
    table = StringTable()
    tags = table.add_fields(*block.column(LABEL))
    labels = table.strings()
    if not looks_like_spans(labels):
        return 0.0
    spans = read_spans(label_kinds(labels), tags, block.offsets)
    if len(spans.starts) < FEWEST_SPANS:
        return 0.0
    _, found, _ = names.fields(*block.column(word_column(block)), block.offsets)  # places in BIO
    begins = np.append(found == B, True)
    inside = np.append(0, np.cumsum(found == I))
    whole = inside[spans.ends] - inside[spans.starts] == spans.ends - spans.starts - 1
    ends = np.append(found != I, True)[spans.ends]
    return float(np.mean(begins[spans.starts] & whole & ends))


def _column_name(number: int) -> str:
    return "cluster" if number == 1 else f"cluster{number}"


def encoded_dev_set(encoder: TemplateEncoder | FeatureEncoder, blocks: Iterable[Block], gold: Gold) -> DevSet:
    """Return labeled sentences as a dev set, encoded with the features of the training data."""
    session, labels = encoder.session(), list(gold.outer)
    parts = [session.encode(block, label_ids(block, labels)) for block in blocks]
    return DevSet(join_encoded(parts), labels, gold.shown_places)


def reading_of(given: ReadingOptions) -> dict[str, Any]:
    """Return how to read files, as the readers take it."""
    label = given.get("label")
    return {
        "format": given.get("format"),
        "label": None if label is None else str(label),
        "columns": given.get("columns"),
        "encoding": given.get("encoding"),
    }


def reader_of(data: Source, first: Block, reading: dict[str, Any]) -> dict[str, Any]:
    """Return how to read other files in the same way as the training data."""
    columns = list(first.columns)
    if not isinstance(data, str | Path):
        return {"columns": columns}
    found = format_of(data, reading["format"])
    if found == "columns":
        return {"columns": columns, "format": found}
    given = {"columns": list(reading["columns"])} if reading["columns"] else {}  # of a table
    return {"format": found, "label": reading["label"], **given}


def _ready_made(listed: Sequence[Any]) -> bool:
    """Return whether tokens are ready-made features (dictionaries or lists), not words (strings or tuples)."""
    tokens, _ = read_pairs(listed, "training data")
    return isinstance(tokens[0][0], (dict, list))


def _encode_features(plan: Plan, listed: list[Any], counted: Bools | None) -> TrainingData:
    if plan.template is not None:
        raise DataError(
            "a template makes features from words; leave it out, because these tokens already have features"
        )
    _refuse_knowledge(plan, "training data")
    tokens, tags = read_pairs(listed, "training data", counted)
    jit.compile_kernels()
    table = StringTable()
    ids = table.add([tag for sentence in tags for tag in sentence])
    encoder, corpus = build_feature_encoder(tokens, ids, min_count=plan.min_count)
    scales = _scales(plan, corpus, encoder)
    gold = make_gold(table.strings(), scaled(corpus, scales), plan.labels)
    dev = None if plan.dev is None else _feature_dev_set(encoder, plan.dev, gold, plan.labels.marks)
    if dev is not None:
        dev = replace(dev, corpus=scaled(dev.corpus, scales))
    return TrainingData(encoder, gold, {}, "ready-made features", dev, plan.labels.missing, scales=scales)


def _refuse_knowledge(plan: Plan, name: str) -> None:
    for what, given in (("clusters", plan.clusters), ("names", plan.names), ("vectors", plan.vectors)):
        if given:
            raise DataError(f"{name}: has ready-made features and no words to look up in {what}; leave the {what} out")


def _scales(plan: Plan, corpus: EncodedCorpus, encoder: FeatureEncoder) -> Floats:
    # a batch learner finds the same optimum in any case, and its regularizer means the values as they are
    as_given = plan.learner in LEARNERS and not LEARNERS[plan.learner].scaled
    return scales_of(corpus, 0 if as_given or plan.learner == CRF_LBFGS else encoder.features)


def _encode_feature_blocks(plan: Plan, data: Source, given: Labeled, reading: dict[str, Any]) -> TrainingData:
    """Encode the ready-made features of a file. A template, if given, would need words."""
    if plan.template is not None:
        raise DataError(f"{given.name}: has ready-made features and no words; leave the template out")
    _refuse_knowledge(plan, given.name)
    jit.compile_kernels()
    table = StringTable()
    numbers = [np.empty(0, np.int32)]
    encoder, corpus = build_from_batches(_numbered(given.blocks, table, numbers), min_count=plan.min_count)
    scales = _scales(plan, corpus, encoder)
    gold = make_gold(table.strings(), scaled(replace(corpus, gold=np.concatenate(numbers)), scales), plan.labels)
    dev_set = None
    if plan.dev is not None:
        dev_given = read_labeled(plan.dev, "dev data", **reading)
        dev_set = encoded_dev_set(encoder, dev_given.blocks, gold)
        refuse_missing(dev_set.labels, plan.labels.marks, dev_given.name)
        dev_set = replace(dev_set, corpus=scaled(dev_set.corpus, scales))
    reader = reader_of(data, given.first, reading)
    return TrainingData(encoder, gold, reader, "ready-made features", dev_set, plan.labels.missing, scales=scales)


def _numbered(blocks: Iterable[Block], table: StringTable, numbers: list[Ints]) -> Iterator[Block]:
    """Yield the blocks, and append the numbers of their labels."""
    for block in blocks:
        numbers.append(table.add_fields(*block.column(LABEL)))
        yield block


def _feature_dev_set(encoder: FeatureEncoder, dev: Source, gold: Gold, marks: Sequence[str]) -> DevSet:
    if isinstance(dev, (str, Path)):
        raise DataError("dev data must be pairs of features and tags, like the training data, not a file")
    tokens, tags = read_pairs(list(dev), "dev data")
    table = StringTable(gold.outer)
    ids = table.add([tag for sentence in tags for tag in sentence])
    refuse_missing(table.strings(len(gold.outer)), marks, "dev data")
    return DevSet(encoder.encode(tokens, ids), table.strings(), gold.shown_places)


RUNS = 20  # of sentences, every other of which is held out: neighbors are often of one document
FEWEST_SENTENCES = 40  # fewer are too few to tell anything
PRIOR = 5.0  # tokens that the frequencies of tags count for, where the tags of a value are counted
TELLING = 0.01  # share of what is uncertain about the tags


def input_columns(first: Block) -> dict[str, str]:
    """Return the columns besides the words that the tags may depend on, by their names in templates.

    These are the columns before the label, as in CRF++. What comes after it will often not be there when a text is
    tagged, and the columns of CoNLL-U are annotations, too.
    """
    if {"head", "deprel"} <= set(first.columns):
        return {}
    words, before = word_column(first), first.columns[: first.columns.index(LABEL)]
    return {
        name if name.isascii() and name.isidentifier() else f"c{at}": name
        for at, name in enumerate(before)
        if name != words
    }


def word_column(first: Block) -> str:
    """Return the name of the column of the words."""
    return "word" if "word" in first.columns else first.columns[0]


def default_template(first: Block, marks: Sequence[str] = ()) -> str:
    """Return the template that suits the tags and columns of the first block. `marks` stand for missing tags.

    It is a preset, with lines for the other columns (`ner+pos`), but for those that tell nothing about the tags.

    A column of parts of speech comes with phrases and with entities, which need different features. Their tags differ:
    phrases cover most words, while entities are few and short, so that most words are outside (O). Punctuation does
    not count, because phrases leave it outside, too. Unlike capitals inside spans, this also holds for text without
    case and for biomedical names. A file that already has a column of chunks is not about phrases.
    """
    tags = first.strings(LABEL)
    labels = set(tags) - set(marks)
    columns = [written for written, name in input_columns(first).items() if tells(first, name, marks)]
    # words of a text without blanks are spans, too, but not like phrases or names (docs/reference/templates.md)
    if not looks_like_spans(labels) or (notation_of(labels) is Notation.BARE and "O" not in labels):
        return "+".join(["pos-best", *columns])
    known = zip(first.strings(word_column(first)), tags, strict=True)
    outside = [tag == "O" for token, tag in known if tag in labels and any(map(str.isalnum, token))]
    phrases = "chunk" not in columns and sum(outside) < PHRASES_OUTSIDE * len(outside)
    if phrases and "pos" in columns:
        return "+".join(["chunking-best", *(name for name in columns if name != "pos")])
    return "+".join(["ner", *columns])


def held_out(first: Block) -> Bools:
    """Return which sentences to judge by, if the others are learned: every other of twenty runs of sentences."""
    sentences = len(first.offsets) - 1
    odd: Bools = np.arange(sentences) * RUNS // max(1, sentences) % 2 == 1
    return odd


def tells(first: Block, column: str, marks: Sequence[str] = ()) -> bool:
    """Return whether the values of a column tell something about the tags of sentences that were held out.

    A value predicts the tags that it had in the other sentences; one that they did not have predicts nothing new. With
    few sentences, every column is said to tell something.
    """
    judged = held_out(first)
    if len(judged) < FEWEST_SENTENCES:
        return True
    table = StringTable()
    tags, values = table.add_fields(*first.column(LABEL)), StringTable().add_fields(*first.column(column))
    labels = table.strings()
    known = ~np.isin(tags, [number for number, label in enumerate(labels) if label in marks])
    unseen = np.repeat(judged, np.diff(first.offsets)) & known
    learned = known & ~unseen
    if not unseen.any() or not learned.any():
        return True
    prior = (np.bincount(tags[learned], minlength=len(labels)) + 1) / (learned.sum() + len(labels))
    times = np.bincount(values[learned], minlength=int(values.max()) + 1)
    pairs, counts = np.unique(values[learned].astype(np.int64) * len(labels) + tags[learned], return_counts=True)
    wanted = values[unseen].astype(np.int64) * len(labels) + tags[unseen]
    places = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
    together = np.where(pairs[places] == wanted, counts[places], 0)
    usual = prior[tags[unseen]]
    gain = np.log((together / usual + PRIOR) / (times[values[unseen]] + PRIOR)).mean()
    return bool(gain > TELLING * -np.log(usual).mean())


SHOWN = 3  # findings
NAMED = 5  # labels, in a warning about many


def _warn(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=7)  # the caller of `sapo.train`


def warn_of(plan: Plan, data: TrainingData, *, warn: Callable[[str], None] = _warn) -> None:
    """Call `warn` with what is gravely wrong with the data."""
    name, read = "training data", None
    if isinstance(plan.data, str | Path):
        name = show_path(plan.data)
        if data.shards is None and Path(plan.data).is_file():  # shards: too large to be read for this
            read = partial(read_blocks, plan.data, **reading_of(plan.reading))
    found = quick_findings(data.label_counts, data.corpus.tokens, data.corpus.sentences, name, read)
    if isinstance(plan.dev, str | Path) and data.dev and data.shards is None:
        found += _same_sentences(data.corpus, data.dev.corpus, name, show_path(plan.dev))
    for finding in found[:SHOWN]:
        warn(f"{finding.place}: {finding.message}")
    if len(found) > SHOWN:
        file = plan.data if isinstance(plan.data, str | Path) else "FILE"
        warn(f"{len(found) - SHOWN} more like these; see sapo check {file}")
    for message in data.not_split[:SHOWN]:
        warn(f"{message}, which is too rare to learn: in raw text, the model cannot find this span")
    if len(data.not_split) > SHOWN:
        warn(f"{len(data.not_split) - SHOWN:,} more spans like these; see sapo check")
    if data.unseen:
        warn(f"{_unseen_labels(data.unseen)} in the training data")


def _same_sentences(train: EncodedCorpus, dev: EncodedCorpus, name: str, dev_name: str) -> Iterator[Finding]:
    """Yield a finding if nearly all dev sentences have the features of the training sentence in the same place."""
    if not np.array_equal(train.offsets, dev.offsets) or len(train.values):  # with values, the features say too little
        return
    pairs = zip(_features_of_sentences(train), _features_of_sentences(dev), strict=True)
    count = sum(len(rows) > 0 and np.array_equal(rows, others) for rows, others in pairs)
    if count >= NEARLY_ALL * train.sentences:
        share = "" if count == train.sentences else f"{count:,} of {train.sentences:,}"
        yield same_data(name, dev_name, share)


def _features_of_sentences(corpus: EncodedCorpus) -> list[Ints]:
    return np.split(corpus.rows, corpus.row_offsets[corpus.offsets[1:-1]])


def _unseen_labels(names: list[str]) -> str:
    """Return the beginning of the warning about labels of the dev data; it names the first few.

    >>> _unseen_labels(["A", "B"])
    "the labels 'A', 'B' of the dev data never occur"
    >>> _unseen_labels([str(number) for number in range(100)])
    "100 labels of the dev data ('0', '1', '2', '3', '4', ...) never occur"
    """
    if len(names) == 1:
        return f"the label '{names[0]}' of the dev data never occurs"
    listed = ", ".join(f"'{name}'" for name in names[:NAMED])
    if len(names) > NAMED:
        return f"{len(names):,} labels of the dev data ({listed}, ...) never occur"
    return f"the labels {listed} of the dev data never occur"
