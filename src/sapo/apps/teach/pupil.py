"""Keep the model of a project, which learns from each sentence as soon as it is accepted.

The sentences of a project are the best test there is: each one is tagged before it is learned. The temperature that
makes what people accepted most likely is fitted to the last of them, by the rule of `sapo.training.calibration`.
"""

import dataclasses
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from sapo.apps.taggers import SPANS, TAGS, for_model, scheme_of
from sapo.apps.teach.state import Event, ProjectState, as_iob2
from sapo.tagger.file import model_bytes, model_from_bytes
from sapo.tagger.model import Model
from sapo.tagger.tagger import Tagger
from sapo.tagger.text import check_words_only
from sapo.tags.schemes import as_prefixed
from sapo.tags.spans import loose_spans
from sapo.training.calibration import HeldOut, best_temperature
from sapo.training.data import name_list, with_names
from sapo.training.plan import CASE
from sapo.training.run import train
from sapo.training.update import Trainer


class Known(NamedTuple):
    """What a project knows besides its labels."""

    clusters: Mapping[str, str] | None  # of its words
    names: Mapping[str, Sequence[str]]  # that it began with, by their kind
    added: Mapping[str, Sequence[str]]  # to these lists, by people

    def lists(self, without: Collection[str] = ()) -> dict[str, Any]:
        """Return the lists of names, without some of those that people added."""
        return {
            kind.removesuffix(CASE): name_list(
                [*names, *(one for one in self.added.get(kind, ()) if folded(one) not in without)],
                any_case=not kind.endswith(CASE),
            )
            for kind, names in self.names.items()
        }


NOTHING = Known(None, {}, {})
WINDOW = 60  # sentences that the temperature is fitted to
FEWEST = 15
WIDEST = 8.0  # temperatures from an eighth to eight: more is chance
SMALL = 10  # so few sentences are learned from scratch each time: it takes no longer, and is better
TEMPLATES = {SPANS: "ner", TAGS: "pos-best"}  # both need nothing but words
Pair = tuple[Sequence[str], Sequence[str]]


def fit(tests: Sequence[HeldOut]) -> float | None:
    """Return the temperature that makes the accepted tags most likely, or None if none is best."""
    found = best_temperature(tests)
    return None if found is None else min(max(found, 1 / WIDEST), WIDEST)


def train_on_all(kind: str, pairs: Sequence[Pair], base: Tagger | None = None, known: Known = NOTHING) -> Tagger:
    """Train on all sentences; with a base, let it learn all of them, and keep what it knew.

    A name that people added is mostly from the sentence in which they marked it. A model that finds each span of the
    training data in a list trusts the list alone. So a name that was marked in one sentence only is not in the lists
    while the model is trained, but in those with which it tags.
    """
    if base is None:  # the temperature is fitted to the sentences of the project
        lists = known.lists(without=marked_once(pairs) if kind == SPANS else ())
        tagger = train(pairs, template=TEMPLATES[kind], clusters=known.clusters, names=lists, calibrate=False)
        return with_names(tagger, known.lists()) if known.added else tagger
    if not pairs:
        return base
    trainer = Trainer(base)
    scheme = scheme_of(base.labels) if kind == SPANS else None
    trainer.update([(words, for_model(tags, scheme) if scheme else tags) for words, tags in pairs], new_labels=True)
    return trainer.snapshot()


def folded(name: str) -> str:
    """Return a name without capitals and blanks."""
    return "".join(name.split()).lower()


def marked_once(pairs: Iterable[Pair]) -> set[str]:
    """Return the names that are marked in one sentence only, folded.

    >>> marked_once([(["in", "New", "York"], ["O", "B-LOC", "I-LOC"])])
    {'newyork'}
    """
    seen = Counter(
        name
        for words, tags in pairs
        for name in {folded("".join(words[span.start : span.end])) for span in loose_spans(tags)}
    )
    return {name for name, count in seen.items() if count == 1}


class Lesson(Protocol):
    """All sentences that are accepted, and what changed."""

    def __len__(self) -> int: ...

    @property
    def state(self) -> ProjectState:
        """What people have done."""

    @property
    def known(self) -> Known:
        """What the project knows besides its labels; a project with a base goes without."""

    def pairs(self) -> list[Pair]:
        """Return the words and tags of all accepted sentences."""

    def changes(self, events: Iterable[Event]) -> list[Pair]:
        """Return what there is to learn from events."""


class Pupil:
    """Learns and tags. Only one thread may use it.

    `seq` is the last event of the journal that it has learned, `version` changes with everything that it learns. What
    was taken back up to the event `forgot` is forgotten.
    """

    def __init__(self, kind: str, base: bytes | None = None) -> None:
        self.kind = kind
        self.base = base  # a model that knows more than the sentences of this project
        self.seq = 0
        self.forgot = 0
        self.version = 0
        self.learned = 0  # sentences
        self.temperature = 1.0
        self._tests: deque[HeldOut] = deque(maxlen=WINDOW)  # the last accepted sentences, as they were before learning
        self._new_tests = 0  # since the last fit
        self._trainer: Trainer | None = None
        self._session: tuple[Any, Any] = (None, None)  # an encoder, and a session of it

    @property
    def session(self) -> Any:
        """A session of the model's encoder, which remembers new words; None if there is no model."""
        encoder = None if self._trainer is None else self._trainer.tagger.model.encoder
        if self._session[0] is not encoder:
            self._session = (encoder, None if encoder is None else encoder.session())
        return self._session[1]

    @property
    def model(self) -> Model | None:
        """The model as it is now, or None before the first sentence. It does not outlive the next `learn`."""
        if self._trainer is None:
            return None
        model = self._trainer.tagger.model
        return dataclasses.replace(model, temperature=self.temperature)

    @property
    def tagger(self) -> Tagger | None:
        """The model in use."""
        model = self.model
        return None if model is None else Tagger(model)

    def take(self, tagger: Tagger, seq: int) -> None:
        """Go on with another model, which has learned all events up to `seq`."""
        check_pupil(tagger.model, self.kind)
        self._trainer, self.seq, self.forgot = Trainer(tagger), seq, seq
        self.version += 1
        if tagger.model.temperature != 1.0:
            self.temperature = tagger.model.temperature

    def replace_by(self, other: "Pupil") -> None:
        """Go on with the model of another pupil; the temperature stays, and so do the tests that it comes from."""
        self._trainer, self.seq, self.forgot = other._trainer, other.seq, other.forgot
        self.version += 1

    def learn(self, pairs: Sequence[Pair], seq: int, accepted: Lesson, *, from_scratch: bool = False) -> None:
        """Learn sentences, up to an event of the journal; `accepted` are all of them.

        With `from_scratch`, what was taken back is forgotten, and new names are known, at once while there are few
        sentences. Otherwise that has to wait until the model is trained from scratch (retraining.py). Raises SapoError
        if the model cannot learn the sentences, because it forbids such tags: it is then as before.
        """
        self.seq = seq
        small = len(accepted) <= SMALL
        if not pairs and not (small and from_scratch):
            return
        self.learned += len(pairs)
        self.version += 1
        if self._trainer is None or (small and (from_scratch or self.base is None)):
            everything = accepted.pairs()
            base = None if self.base is None else load_pupil(self.base, "base")
            self._trainer = None
            if everything or base:
                self._trainer = Trainer(train_on_all(self.kind, everything, base, accepted.known))
            self.forgot = seq
        else:
            self._trainer.update([(words, self._as_shown(tags)) for words, tags in pairs], new_labels=True)

    def as_kept(self, tags: Sequence[str]) -> tuple[str, ...]:
        """Return tags of the model as the project keeps them."""
        if self.kind != SPANS:
            return tuple(tags)
        labels = [] if self._trainer is None else list(self._trainer.tagger.labels)
        names = dict(zip(labels, as_prefixed(labels), strict=True))
        return as_iob2(self.kind, [names.get(tag, tag) for tag in tags])

    def set_temperature(self, temperature: float) -> None:
        """Take another temperature: the tags stay, and the probabilities change."""
        self.temperature = temperature
        self.version += 1

    def test(self, words: Sequence[str], tags: Sequence[str]) -> None:
        """Keep a sentence that is about to be learned, to fit the temperature to."""
        model = self.model
        if model is not None:
            self._tests.append(HeldOut.of(model, words, self._as_shown(tags), self.session))
            self._new_tests += 1

    def take_tests(self) -> list[HeldOut]:
        """Return the sentences to fit a temperature to; none while too few of them are new."""
        if self._new_tests < FEWEST:
            return []
        self._new_tests = 0
        return list(self._tests)

    def snapshot(self) -> bytes | None:
        """Return the model as bytes, or None if there is none."""
        if self._trainer is None:
            return None
        model = self._trainer.snapshot().model
        return model_bytes(dataclasses.replace(model, temperature=self.temperature))

    def _as_shown(self, tags: Sequence[str]) -> Sequence[str]:
        if self.kind != SPANS or self._trainer is None:
            return tags
        return for_model(tags, scheme_of(self._trainer.tagger.labels))


def check_pupil(model: Model, kind: str) -> None:
    """Raise SapoError unless a model can go on learning from words and tags of this kind."""
    model.linear_encoder("it cannot learn a sentence at a time; begin with a model of another learner")
    check_words_only(model)
    if kind == SPANS:
        scheme_of(model.outer_labels)


def load_pupil(data: bytes, name: str) -> Tagger:
    """Return the tagger of a snapshot."""
    return Tagger(model_from_bytes(data, name=name))
