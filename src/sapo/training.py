"""A corpus in, a tagger out: read, encode, learn."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from sapo import kernels
from sapo.conditions import Conditions, Lesson, make_lesson
from sapo.corpus import LABEL, Block, Sentence, block_from_sentences, first_and_all, format_of, read_blocks
from sapo.corpus.tokens import check_sentence, sentence_block
from sapo.encode.building import build_encoder
from sapo.encode.encoded import EncodedCorpus, join_encoded
from sapo.encode.encoder import TemplateEncoder
from sapo.encode.pairs import observed_pairs
from sapo.encode.partial import MISSING, refuse_missing
from sapo.encode.presets import template_text
from sapo.encode.ready import build_feature_encoder
from sapo.encode.strings import StringTable, label_ids
from sapo.encode.template import did_you_mean, parse_templates
from sapo.errors import SapoError
from sapo.evaluate import looks_like_spans
from sapo.lattice import Parameters
from sapo.learn import (
    LEARNERS,
    DevSet,
    Groups,
    Learner,
    Observer,
    PassRecord,
    Settings,
    State,
    Weights,
    calibrate,
    final_weights,
    learn,
)
from sapo.learn.settings import AUTO
from sapo.model import Model, fingerprint, load_checkpoint, save_checkpoint
from sapo.model.model import Encoder
from sapo.neural.options import LAYERS, OPTION_NAMES, RATE, NeuralOptions, is_neural
from sapo.neural_training import Texts, run_network
from sapo.tagger import Tagger

Pairs = Iterable[tuple[Sequence[Any], Sequence[str]]]
DEFAULT = Conditions()
Source = str | Path | Iterable[Sentence] | Pairs


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of training, and why it stopped."""

    tagger: Tagger
    reason: str
    history: list[PassRecord]
    best_epoch: int  # the pass whose weights were kept


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


def train(
    data: Source,
    *,
    dev: Source | None = None,
    template: str | Path | None = None,
    format: str | None = None,
    label: str | int | None = None,
    columns: Sequence[str] | None = None,
    min_count: int = 1,
    learner: str = "sapo",
    observers: Sequence[Observer] = (),
    constraints: bool = True,
    rules: Sequence[str] | str | Path = (),
    scheme: str | None = None,
    missing: str | None = None,
    sample_weight: Sequence[float] | None = None,
    class_weight: Mapping[str, float] | str | None = None,
    **settings: Any,
) -> Tagger:
    """Train a tagger.

    `data` and `dev` are the path of a file, or sentences in Python: pairs of tokens and tags, where a token is a
    string, a tuple of strings (word, pos, ...), or its features as a list or dictionary. `template` is a preset
    (chunking-best, pos-best, ner ...) or the path of a template file; by default the preset that suits the columns.
    `settings` are those of `sapo.Settings`: n, strength, rate ...; where no rate is given it is calibrated on the data.
    For the neural learners (bilstm, bilstm-crf, bilstm-sapo, bilstm-perceptron) they are also those of
    `sapo.neural.options.NeuralOptions`: vectors, chars, features, batch ...

    Taggings keep to the tag scheme of the data (`constraints`) and to `rules`, such as "forbid B-NP B-VP", or a file of
    them. `scheme` learns the labels in another scheme (bioes). A tag that is None, or `missing`, may be any tag.
    `sample_weight` has a weight for each sentence, `class_weight` for each label, or is "balanced".

    >>> tagger = train([(["no", "rain"], ["DT", "NN"])], template="pos", epochs=3)
    >>> tagger.labels
    ('DT', 'NN')
    """
    check_learner(learner)
    options = neural_options(learner, {name: settings.pop(name) for name in OPTION_NAMES & settings.keys()})
    auto = settings.get("rate", AUTO) == AUTO
    chosen = make_settings({key: value for key, value in settings.items() if not (auto and key == "rate")})
    conditions = Conditions(
        constraints=constraints,
        rules=rules,
        scheme=scheme,
        missing=missing,
        sample_weight=sample_weight,
        class_weight=class_weight,
    )
    reading: dict[str, Any] = {"format": format, "label": label, "columns": columns}
    prepared = prepare(
        data,
        dev=dev,
        template=template,
        min_count=min_count,
        conditions=conditions,
        keep_texts=is_neural(learner),
        **reading,
    )
    if auto:
        chosen = with_calibrated_rate(prepared, chosen, learner)
    return run(prepared, chosen, learner=learner, options=options, observers=observers).tagger


def neural_options(learner: str, values: dict[str, Any]) -> NeuralOptions:
    """The options of a network; for another learner there must be none."""
    if values and not is_neural(learner):
        raise SapoError(f"{', '.join(sorted(values))}: only for the neural learners ({', '.join(LAYERS)})")
    return NeuralOptions(**values)


def make_settings(values: dict[str, Any]) -> Settings:
    known = [field.name for field in dataclasses.fields(Settings)]
    for name in values:
        if name not in known:
            raise SapoError(f"unknown setting '{name}'{did_you_mean(name, known)}")
    return Settings(**values)


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
    label = None if label is None else str(label)
    reading = {"format": format, "label": label, "columns": columns}
    blocks, name = _blocks(data, "training data", **reading)
    first, blocks = first_and_all(blocks, name)
    kept = tuple(blocks) if keep_texts else ()
    blocks = iter(kept) if keep_texts else blocks
    if template is None:
        template = default_template(first, conditions.marks)
    text, source = template_text(template)
    templates = parse_templates(text, first.columns, source)
    kernels.compile_kernels()
    table = StringTable()
    encoder, corpus = build_encoder(blocks, templates, table, min_count=min_count)
    lesson = make_lesson(table.strings(), corpus, conditions)
    dev_labels = list(lesson.outer)
    dev_set = None
    dev_kept: tuple[Block, ...] = ()
    if dev is not None:
        dev_blocks, dev_name = _blocks(dev, "dev data", **{**reading, "columns": columns})
        dev_blocks = first_and_all(dev_blocks, dev_name)[1]
        dev_kept = tuple(dev_blocks) if keep_texts else ()
        dev_corpus = _encode_dev(encoder, dev_kept if keep_texts else dev_blocks, dev_labels)
        refuse_missing(dev_labels, conditions.marks, dev_name)
        dev_set = DevSet(dev_corpus, dev_labels, lesson.shown_places)
    reader: dict[str, Any] = {"columns": list(first.columns)}
    if isinstance(data, (str, Path)):
        reader["format"] = format_of(data, format)
        if reader["format"] != "columns":
            reader = {"format": reader["format"], "label": label}
    return Prepared(
        encoder,
        lesson.corpus,
        lesson.labels,
        reader,
        Path(str(template)).name,
        dev_set,
        dev_labels[len(lesson.outer) :],
        lesson,
        conditions.missing,
        Texts(kept, dev_kept) if keep_texts else None,
    )


def run(
    prepared: Prepared,
    settings: Settings,
    *,
    learner: str = "sapo",
    options: NeuralOptions | None = None,
    observers: Sequence[Observer] = (),
    checkpoint: str | Path | None = None,
    resume: bool = False,
    groups: Groups | None = None,
) -> Outcome:
    """Learn. With `checkpoint` the state is saved after every pass; `resume` goes on from there.

    `groups` shrinks the weights after each run of samples, beside the regulariser of the settings.
    """
    if is_neural(learner):
        return _run_neural(
            prepared, settings, options or NeuralOptions(), learner, observers, checkpoint=checkpoint, resume=resume
        )
    chosen = find_learner(learner)
    if not chosen.regularised:
        settings = dataclasses.replace(settings, regulariser="none", strength=0.0)
    if settings.n == AUTO and not chosen.n_best:
        settings = dataclasses.replace(settings, n=Settings().n)  # nobody looks at it
    encoder, corpus = prepared.encoder, prepared.corpus
    labels = len(prepared.labels)
    l1 = settings.regulariser == "l1"
    weights = prepared.zero_weights(averaged=chosen.averaged, l1=l1)
    state = State(weights)
    if settings.regulariser == "group-lasso":
        groups = Groups(encoder.groups(), labels, encoder.edge_groups()[weights.pairs.owners])
    watching = list(observers)
    if checkpoint is not None:
        data = fingerprint(
            corpus,
            prepared.dev.corpus if prepared.dev else None,
            [learner, f"transitions {encoder.transitions}", *prepared.labels, str(prepared.lesson.constraints)],
        )
        if resume and Path(checkpoint).exists():
            load_checkpoint(checkpoint, state, settings, data)
        watching.append(_Checkpoint(checkpoint, settings, data))
    reason = learn(chosen.run, corpus, settings, state, dev=prepared.dev, groups=groups, observers=watching)
    parameters = final_weights(state)
    return _outcome(prepared, settings, learner, reason, state, encoder, parameters)


def _run_neural(
    prepared: Prepared,
    settings: Settings,
    options: NeuralOptions,
    learner: str,
    observers: Sequence[Observer],
    **saving: Any,
) -> Outcome:
    if prepared.texts is None or not isinstance(prepared.encoder, TemplateEncoder):
        raise SapoError(f"{learner} reads words and learns features itself; give it words, not ready-made features")
    _check_for_network(prepared, learner)
    settings = dataclasses.replace(settings, regulariser="none", strength=0.0)
    trained = run_network(
        prepared.texts,
        prepared.corpus,
        prepared.dev,
        prepared.encoder,
        len(prepared.labels),
        settings,
        options,
        learner=learner,
        names=[*prepared.labels, str(prepared.lesson.constraints)],
        bans=prepared.lesson.bans,
        observers=observers,
        **saving,
    )
    return _outcome(prepared, settings, learner, trained.reason, trained.state, trained.encoder, trained.parameters)


def _check_for_network(prepared: Prepared, learner: str) -> None:
    """Raise where something is asked for that only the linear learners can do."""
    if (prepared.corpus.gold < 0).any():
        raise SapoError(f"{learner} needs every tag of the training data; leave out sentences where one is missing")
    if len(prepared.corpus.importance):
        raise SapoError(f"{learner} takes all tokens alike; leave out the weights of sentences and classes")


def _outcome(
    prepared: Prepared,
    settings: Settings,
    learner: str,
    reason: str,
    state: State,
    encoder: Encoder,
    parameters: Parameters,
) -> Outcome:
    corpus = prepared.corpus
    kept = state.best_epoch or state.epoch
    record = {
        "learner": learner,
        "settings": settings.as_json(),
        "template": prepared.template,
        "sentences": corpus.sentences,
        "tokens": corpus.tokens,
        "passes": state.epoch,
        "kept_pass": kept,
        "stopped": reason,
        "score_name": prepared.score_name,
        "history": [_without_time(entry) for entry in state.history],
    }
    if prepared.missing is not None:
        record["missing"] = prepared.missing
    lesson = prepared.lesson
    model = Model(
        tuple(prepared.labels),
        encoder,
        parameters,
        prepared.reader,
        record,
        constraints=lesson.constraints,
        shown=lesson.shown,
    )
    return Outcome(Tagger(model), reason, state.history, kept)


def check_learner(name: str) -> None:
    """Raise where there is no learner of this name, neither a linear nor a neural one."""
    if not is_neural(name):
        find_learner(name)


def find_learner(name: str) -> Learner:
    """A linear learner."""
    if name not in LEARNERS:
        raise SapoError(f"unknown learner '{name}'{did_you_mean(str(name), [*LEARNERS, *LAYERS])}")
    return LEARNERS[name]


def with_calibrated_rate(prepared: Prepared, settings: Settings, learner: str) -> Settings:
    """The settings with a start rate that suits the data, for learners that have a rate; that of networks is fixed."""
    if is_neural(learner):
        return dataclasses.replace(settings, rate=RATE)
    if not find_learner(learner).regularised:
        return settings
    return dataclasses.replace(settings, rate=calibrate(prepared.corpus, prepared.zero_weights(), settings.seed))


class _Checkpoint:
    def __init__(self, path: str | Path, settings: Settings, data: str) -> None:
        self.path, self.settings, self.data = path, settings, data

    def samples(self, epoch: int, done: int, of: int) -> None:
        pass

    def passed(self, record: PassRecord, state: State) -> None:
        save_checkpoint(self.path, state, self.settings, self.data)


def _without_time(entry: PassRecord) -> dict[str, Any]:
    """Times differ from run to run, and equal runs must give equal files."""
    return {
        key: value for key, value in dataclasses.asdict(entry).items() if key not in ("seconds", "tokens_per_second")
    }


def training_blocks(data: Source, **reading: Any) -> Iterator[Block]:
    """Labelled sentences, at least one of them."""
    blocks, name = _blocks(data, "new data", **reading)
    return first_and_all(blocks, name)[1]


def _blocks(data: Source, what: str, **reading: Any) -> tuple[Iterator[Block], str]:
    if isinstance(data, (str, Path)):
        return _without_empty(read_blocks(data, **reading)), str(data)
    listed: list[Any] = list(data)
    if not listed:
        raise SapoError(f"{what}: holds no sentence")
    if isinstance(listed[0], Sentence):
        for number, sentence in enumerate(listed):
            if not isinstance(sentence, Sentence):
                raise SapoError(f"{what}: sentence {number} is no Sentence, unlike those before it: {sentence!r:.40}")
        block = block_from_sentences(listed, what)
    else:
        tokens, tags = read_pairs(listed, what)
        token = tokens[0][0]
        if not (isinstance(token, str) or (isinstance(token, tuple) and token)):
            raise SapoError(
                f"{what}: sentence 0, token 0: expected a string or a tuple of strings, found {token!r:.40}"
            )
        width = 1 if isinstance(token, str) else len(token)
        names = reading.get("columns") or [*("word", "pos", "chunk")[:width], *(f"c{i}" for i in range(3, width))]
        block = sentence_block(tokens, names, tags)
    if LABEL not in block.columns:
        raise SapoError(f"{what}: has no tags")
    return _without_empty(iter([block])), what


def _without_empty(blocks: Iterator[Block]) -> Iterator[Block]:
    for block in blocks:
        for sentence in np.flatnonzero(np.diff(block.offsets) == 0).tolist():
            lines = block.extra.get("lines")  # of JSONL, where a sentence is a line
            place = f"{block.name}:{lines[sentence]}: this sentence" if lines else f"{block.name}: sentence {sentence}"
            raise SapoError(f"{place} has no tokens; leave it out")
        yield block


def read_pairs(listed: Sequence[Any], what: str) -> tuple[list[Any], list[Sequence[str]]]:
    """Check that these are pairs of as many tokens as tags, and none is empty. A tag that is None is missing."""
    for number, pair in enumerate(listed):
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
            raise SapoError(f"{what}: sentence {number} must be a pair of tokens and tags, found {pair!r:.60}")
        tokens, tags = pair
        check_sentence(tokens, f"{what}: sentence {number}")
        check_sentence(tags, f"{what}: sentence {number}: tags")
        if len(tokens) != len(tags):
            raise SapoError(f"{what}: sentence {number} has {len(tokens)} tokens but {len(tags)} tags")
        if not len(tokens):
            raise SapoError(f"{what}: sentence {number} has no tokens; leave it out")
        for tag in tags:
            if tag is not None and not isinstance(tag, str):
                raise SapoError(f"{what}: sentence {number} has the tag {tag!r}; tags are strings, or None if missing")
    return [tokens for tokens, _ in listed], [[MISSING if tag is None else tag for tag in tags] for _, tags in listed]


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
    dev_set = None
    unseen: list[str] = []
    if dev is not None:
        if isinstance(dev, (str, Path)):
            raise SapoError("dev data must be pairs of features and tags, like the training data, not a file")
        dev_tokens, dev_tags = read_pairs(list(dev), "dev data")
        dev_table = StringTable(lesson.outer)
        dev_gold = dev_table.add([tag for sentence in dev_tags for tag in sentence])
        unseen = dev_table.strings(len(lesson.outer))
        refuse_missing(unseen, conditions.marks, "dev data")
        dev_set = DevSet(encoder.encode(dev_tokens, dev_gold), dev_table.strings(), lesson.shown_places)
    return Prepared(
        encoder,
        lesson.corpus,
        lesson.labels,
        {},
        "ready-made features",
        dev_set,
        unseen,
        lesson,
        conditions.missing,
    )


def _encode_dev(encoder: TemplateEncoder, blocks: Iterable[Block], labels: list[str]) -> EncodedCorpus:
    session = encoder.session()
    parts = [session.encode(block, label_ids(block, labels)) for block in blocks]
    return join_encoded(parts)


def default_template(first: Block, marks: Sequence[str] = ()) -> str:
    """The best preset for these columns and tags. `marks` are no tags."""
    if not looks_like_spans(sorted(set(first.strings(LABEL)) - set(marks))):
        return "pos-best"
    if "pos" not in first.columns:
        return "ner"
    return "bioner-best" if "chunk" in first.columns else "chunking-best"
