"""Hold all options of a training run in one value, and check everything that can be checked without data."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from sapo.corpus.blocks import LABEL
from sapo.corpus.labeled import Source
from sapo.errors import DataError, OptionError, choice, did_you_mean
from sapo.features.clusters import Clusters
from sapo.features.names import NameList
from sapo.learn import BATCH_DEFAULTS, LEARNERS
from sapo.learn.batch_crf import CRF_LBFGS, BatchOptions
from sapo.learn.settings import AUTO, CHOSEN, Option, Settings, options_of, settle
from sapo.neural.options import LAYERS, NeuralOptions
from sapo.tagger.files import ReadingOptions
from sapo.tags.labels import LEARNABLE, MISSING

NETWORK = options_of(NeuralOptions)
OFF, ON = "off", "on"
REPETITION = (AUTO, ON, OFF)
KEEP = "keep"  # the scheme of the training data
SHARD = 1 << 17  # tokens of a shard: some 15 MB with thirty features a token
BUFFER = 1 << 20  # tokens: some 350 MB with thirty features a token, while some are hidden
MOST_TOKENS = 1 << 30
CHECKPOINT = "checkpoint"  # its name in a cache directory


ClusterSource = str | Path | Mapping[str, str] | Clusters
Names = str | Path | Sequence[str] | NameList  # a file, or the names themselves
CASE = ":case"  # after the kind of names whose capitals count


class LearningOptions(TypedDict, total=False):
    """The most common settings; see `Settings`."""

    n: int | Literal["auto"] | None
    strength: float | Literal["auto"] | None
    rate: float | Literal["auto"] | None
    epochs: int | Literal["auto"] | None
    threads: int | None
    seed: int | None


class KnowledgeOptions(TypedDict, total=False):
    """What is known about words besides the labeled data."""

    clusters: "ClusterSource | Sequence[ClusterSource] | None"  # files of clusters, or mappings of words to clusters
    unlabeled: "str | Path | Sequence[str | Path] | None"  # texts to make word clusters from
    names: "Mapping[str, Names] | None"  # lists of names by their kind
    vectors: str | Path | None  # a file of word vectors


class Options(ReadingOptions, LearningOptions, KnowledgeOptions, total=False):
    """The options of a training run that are given by keyword; `settings` has all others, and may have these, too."""

    repetition: Literal["on", "off", "auto"] | None  # tag twice, to see how words are tagged nearby
    min_count: int  # leave out features that occur less often
    stream: "str | Path | StreamOptions | None"  # a cache directory, for data that is larger than memory
    resume: bool  # go on from the checkpoint, which is in the cache directory; the data must be a stream
    constraints: bool | None  # this and the next five: see `LabelOptions`
    rules: Sequence[str] | str | Path
    scheme: str | None
    missing: str | None
    sample_weight: Sequence[float] | None
    class_weight: Mapping[str, float] | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOptions:
    """Options about the labels of a training run."""

    constraints: bool = Option(bool).field(
        True, "Taggings follow the tag scheme (IOB2, BIOES ...) of the training data."
    )
    rules: Sequence[str] | str | Path = ()  # rules, or a file with rules: see tags/constraints.py
    scheme: str | None = None  # learn the labels in this scheme; 'auto': in BIOES where that is better
    missing: str | None = None  # what is written for a missing tag; None always stands for one
    sample_weight: Sequence[float] | None = None  # one weight per sentence
    class_weight: Mapping[str, float] | str | None = None  # weights by label, or 'balanced'

    def __post_init__(self) -> None:
        settle(self)

    @property
    def marks(self) -> tuple[str, ...]:
        """The marks that stand for a missing tag."""
        return (MISSING,) if self.missing is None else (MISSING, self.missing)


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Where the shards of the training data are, and how large they and the shuffle buffer are, in tokens."""

    directory: str | Path
    shard: int = SHARD
    buffer: int = BUFFER  # that are in memory, and shuffled, at once

    def __post_init__(self) -> None:
        for name in ("shard", "buffer"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or not 1 <= int(value) <= MOST_TOKENS:
                raise OptionError(f"{name} must be a whole number of tokens from 1 to {MOST_TOKENS:,}, not {value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that a training run needs. Raises SapoError if an option is wrong.

    >>> plan = make_plan([(["no", "rain"], ["DT", "NN"])], template="pos", epochs=3)
    >>> plan.learner, plan.settings.epochs, sorted(plan.automatic)
    ('sapo', 3, ['average', 'block', 'decay', 'drop', 'hide', 'piece', 'rate', 'stop_ratio', 'strength'])
    """

    data: Source
    dev: Source | None = None
    template: str | Path | None = None  # default: the preset that suits the columns
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    clusters: tuple[ClusterSource, ...] = ()  # files of clusters, or mappings of words to clusters
    unlabeled: tuple[str | Path, ...] = ()  # texts to make word clusters from
    names: Mapping[str, Names] = field(default_factory=dict)  # lists of names by their kind
    vectors: str | Path | None = None  # a file of word vectors, for linear learners; networks have theirs in `network`
    repetition: str = OFF  # tag twice, to see how words are tagged nearby; 'auto': where that gains
    min_count: int = 1  # leave out features that occur less often
    stream: StreamOptions | None = None  # read the data into shards on disk, and learn from them
    labels: LabelOptions = field(default_factory=LabelOptions)
    learner: str = "sapo"
    settings: Settings = field(default_factory=Settings)
    automatic: frozenset[str] = frozenset()  # settings to choose from the data
    network: NeuralOptions | None = None  # for a neural learner
    batch: BatchOptions | None = None  # for crf-lbfgs
    checkpoint: str | Path | None = None  # save the state in this file after every pass
    resume: bool = False  # continue from the checkpoint, if it exists

    def __post_init__(self) -> None:
        if not isinstance(self.min_count, Integral) or self.min_count < 1:
            raise OptionError(f"min_count must be at least 1, not {self.min_count}")
        if self.repetition not in REPETITION:
            raise OptionError(f"repetition must be one of {', '.join(REPETITION)}, not {self.repetition!r:.60}")
        if self.repetition != OFF:
            if self.learner in LAYERS:
                raise OptionError(f"repetition: {self.learner} does not use it; choose a linear learner, such as sapo")
            if self.checkpoint is not None:
                raise OptionError("repetition: works without checkpoint and stream; leave it out, or leave these out")
        if self.stream is not None:
            self._check_stream()

    def _check_stream(self) -> None:
        streamed = [name for name, learner in LEARNERS.items() if not learner.all_labels]
        if self.learner not in streamed:
            raise OptionError(f"stream: {self.learner} needs all data in memory; use one of {', '.join(streamed)}")
        if self.labels.sample_weight is not None or self.labels.class_weight is not None:
            raise OptionError("stream: takes neither sample_weight nor class_weight; leave it out, or train in memory")
        if self.vectors is not None:
            raise OptionError(
                "stream: takes no vectors; leave them out, or train in memory; clusters work in both ways"
            )


def make_plan(
    data: Source,
    *,
    dev: Source | None = None,
    template: str | Path | None = None,
    learner: str = "sapo",
    settings: Settings | Mapping[str, object] | None = None,
    **options: Unpack[Options],
) -> Plan:
    """Return the plan of a training run. Raise SapoError if an option is unknown, wrong or not for this learner.

    >>> make_plan("train.txt", settings={"epoch": 3})
    Traceback (most recent call last):
    ...
    sapo.errors.OptionError: unknown setting 'epoch'; did you mean 'epochs'?
    """
    learner = known_learner(learner)
    own, defaults = _own_choice(learner)
    given: dict[str, Any] = {**defaults, **merged_settings(settings, options)}
    reading = ReadingOptions(**_take(given, ReadingOptions.__annotations__))  # type: ignore[typeddict-item]
    scheme = _known_scheme(given.get("scheme", AUTO))
    given["scheme"] = None if scheme == KEEP or (scheme == AUTO and "scheme" not in own) else scheme
    labels = LabelOptions(**_take(given, [field.name for field in dataclasses.fields(LabelOptions)]))
    linear = () if learner in LAYERS else ("vectors",)  # of a network, it is an option of its own
    features = _take(given, ("clusters", "unlabeled", "names", *linear, "repetition", "min_count", "stream", "resume"))
    if features.setdefault("repetition", OFF) is None:
        features["repetition"] = OFF
    if not isinstance(features.get("vectors"), str | Path | None):
        raise OptionError(f"vectors must be the path of a file, not {features['vectors']!r:.60}")
    network = network_options(learner, _take(given, NETWORK))
    features["clusters"], features["names"] = _listed(features.get("clusters")), check_kinds(features.get("names"))
    features["unlabeled"] = _texts(features.get("unlabeled"))
    for name in ("clusters", "unlabeled", "names"):
        if features[name] and learner in LAYERS:
            raise OptionError(f"{name}: {learner} does not use them; choose a linear learner, such as sapo")
    if isinstance(features.get("stream"), str | Path):
        features["stream"] = StreamOptions(features["stream"])
    if features.get("stream") is not None:
        features["checkpoint"] = Path(features["stream"].directory) / CHECKPOINT
    automatic = {name for name in CHOSEN if choice(given.get(name, AUTO), [AUTO]) == AUTO}
    for name in automatic:
        given.pop(name, None)
    checked = make_settings(given, others=sorted(NETWORK) if learner in LAYERS else ())
    if learner in LEARNERS and checked.n != AUTO and checked.n > LEARNERS[learner].most_n:
        raise OptionError(f"n must be at most {LEARNERS[learner].most_n} for {learner}, not {checked.n}")
    return Plan(
        data=data,
        dev=dev,
        template=template,
        reading=reading,
        **features,
        labels=labels,
        learner=learner,
        settings=checked,
        automatic=frozenset(automatic.intersection(own)),
        network=network,
    )


def _texts(unlabeled: Any) -> tuple[str | Path, ...]:
    some = (unlabeled,) if isinstance(unlabeled, str | Path) else unlabeled or ()
    if not isinstance(some, Sequence) or not all(isinstance(one, str | Path) for one in some):
        raise OptionError(f"unlabeled must be a file of text, or a list of files, not {unlabeled!r:.60}")
    return tuple(some)


def _listed(clusters: Any) -> tuple[ClusterSource, ...]:
    """Return one or several sources of clusters as a tuple."""
    if clusters is None:
        return ()
    some = (clusters,) if isinstance(clusters, str | Path | Mapping | Clusters) else clusters
    if not isinstance(some, Sequence) or not all(isinstance(one, str | Path | Mapping | Clusters) for one in some):
        raise OptionError(f"clusters must be a file, words with their clusters, or a list of these, not {some!r:.60}")
    return tuple(some)


def check_kinds(names: Any) -> dict[str, Names]:
    """Return the lists of names by their kind: the name of a column, and `CASE` if capitals count."""
    if not isinstance(names, Mapping | None):
        raise OptionError(f"names must be a dictionary of kinds and files or lists, not {names!r:.60}")
    for kind, source in (names or {}).items():
        column = kind.removesuffix(CASE) if isinstance(kind, str) else ""
        if not column.isascii() or not column.isidentifier() or column == LABEL:
            raise OptionError(
                f"names: a kind must be a word of letters, digits and _, such as person, or person{CASE} if capitals "
                f"count, not {kind!r:.60}"
            )
        if not isinstance(source, str | Path | Sequence | NameList):
            raise OptionError(f"names: {kind} must be a file or a list of names, not {source!r:.60}")
    return dict(names or {})


def merged_settings(settings: Settings | Mapping[str, object] | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with the settings that they leave open: an option that is None is not given.

    A `Settings` states every setting; in a mapping of names to values, what is missing stays open.

    >>> merged_settings({"n": 3, "decay": 0.8}, {"n": 7, "rate": None})
    {'n': 7, 'decay': 0.8}
    """
    known = {**options_of(Settings), **NETWORK, **options_of(LabelOptions)}
    if isinstance(settings, Settings):
        settings = {name: getattr(settings, name) for name in options_of(Settings)}
    if not isinstance(settings, Mapping | None):
        raise OptionError(f"settings must be a sapo.Settings or a dictionary, not {settings!r:.60}")
    for name in settings or ():
        if name not in known:
            raise OptionError(f"unknown setting '{name}'{did_you_mean(str(name), known)}")
    given = [(name, value) for part in (settings or {}, options) for name, value in part.items()]
    return {name: value for name, value in given if value is not None or name not in known}


def known_learner(name: str) -> str:
    """Return the name of a learner, linear or neural, in lower case. Raise SapoError if there is none.

    >>> known_learner("CRF")
    'crf'
    """
    known = [*LEARNERS, CRF_LBFGS, *LAYERS]
    found = choice(name, known)
    if found not in known:
        raise OptionError(f"unknown learner '{name}'{did_you_mean(str(name), known)}")
    return found


def _own_choice(learner: str) -> tuple[Collection[str], Mapping[str, Any]]:
    """Return the options that a learner chooses from the data, and its own defaults of others."""
    if learner in LEARNERS:
        return LEARNERS[learner].automatic, LEARNERS[learner].defaults
    return ("rate",), BATCH_DEFAULTS if learner == CRF_LBFGS else {}


def _known_scheme(name: Any) -> Any:
    """Return a scheme to learn labels in, in lower case. Raise SapoError if there is none of this name."""
    known, found = (*LEARNABLE, KEEP, AUTO), choice(name, (*LEARNABLE, KEEP, AUTO))
    if found is not None and found not in known:
        raise OptionError(f"scheme must be one of {', '.join(known)}, not {name}{did_you_mean(str(name), known)}")
    return found


def make_settings(values: Mapping[str, Any], *, others: Iterable[str] = ()) -> Settings:
    """Return the settings with these values.

    Raises SapoError if a name is not a setting. `others` are further names that the message may suggest.
    """
    known = [field.name for field in dataclasses.fields(Settings)]
    for name in values:
        if name not in known:
            raise OptionError(f"unknown setting '{name}'{did_you_mean(name, [*known, *others])}")
    return Settings(**values)


def network_options(learner: str, values: Mapping[str, Any]) -> NeuralOptions | None:
    """Return the options of a network, or None for a linear learner. Raise SapoError if that has such options."""
    if values and learner not in LAYERS:
        raise DataError(f"{', '.join(sorted(values))}: only for the neural learners ({', '.join(LAYERS)})")
    return NeuralOptions(**values) if learner in LAYERS else None


def _take(given: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: given.pop(name) for name in names if name in given}
