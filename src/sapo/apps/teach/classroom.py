"""Change a project: check, journal, learn, retag.

An accepted sentence is checked; what the model says about it is counted; it is written to the journal; the model
learns it; and the sentences on the screen are tagged again.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sapo.apps.limits import RefusedError
from sapo.apps.taggers import SPANS, check_new_labels, label_names
from sapo.apps.teach import messages
from sapo.apps.teach.predictions import Cache, Prediction, know_nothing, predict
from sapo.apps.teach.pupil import Known, Pair, Pupil
from sapo.apps.teach.retraining import Retraining
from sapo.apps.teach.state import (
    ACCEPT,
    IMPORT,
    LABEL,
    NAME,
    REDO,
    UNDO,
    Draft,
    Event,
    ProjectState,
    Seen,
    TaughtSentence,
    check_name,
    check_tags,
    count_seen,
    cut_tags,
)
from sapo.apps.teach.store import Store
from sapo.errors import SapoError, did_you_mean
from sapo.tags.spans import loose_spans

SECONDS = 60.0  # that a lock lasts unless it is renewed


class Locks:
    """Which person works on which sentence. Others cannot change it until they take it over, or the lock ends."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._held: dict[int, tuple[str, float]] = {}

    def holder(self, sentence: int) -> str | None:
        """Return who holds a sentence."""
        author, until = self._held.get(sentence, ("", 0.0))
        return author if author and until > self._now() else None

    def lock(self, sentence: int, author: str, *, take: bool = False) -> str:
        """Take or renew a lock; one that another person holds only with `take`. Return the holder."""
        holder = author if take else self.holder(sentence) or author
        if holder == author:
            self._held[sentence] = (author, self._now() + SECONDS)
        return holder

    def unlock(self, sentence: int, author: str) -> str | None:
        """Release a sentence if this person holds it; return who holds it then."""
        if self.holder(sentence) == author:
            del self._held[sentence]
        return self.holder(sentence)

    def held(self) -> dict[int, str]:
        """Return all locks that hold now."""
        return {sentence: author for sentence, (author, until) in self._held.items() if until > self._now()}

    def expire(self) -> dict[int, str]:
        """Forget the locks that have ended without a word, and return them."""
        held = self.held()
        ended = {sentence: author for sentence, (author, _) in self._held.items() if sentence not in held}
        for sentence in ended:
            del self._held[sentence]
        return ended


WINDOW = 50  # sentences
POINTS = 200  # at most


def curve(kind: str, seen: Sequence[Seen], *, window: int = WINDOW, points: int = POINTS) -> list[messages.PointView]:
    """Return F1 of spans, or accuracy of tags, over the last sentences before each point.

    >>> [(point.score, point.sure) for point in curve("tags", [Seen(1, 2, 2, 1.5, 2.0), Seen(2, 2, 2, 1.8, 2.0)])]
    [(0.5, 0.75), (0.75, 0.825)]
    """
    if not seen:
        return []
    rows = np.array([[one.right, one.said, one.gold, one.sure, one.likely] for one in seen])
    sums = np.cumsum(np.vstack([np.zeros(5), rows]), axis=0)
    ends = np.unique(np.linspace(len(seen), 1, min(points, len(seen))).round().astype(int))
    found = sums[ends] - sums[np.maximum(ends - window, 0)]
    right, said, gold, sure, likely = found.T
    if kind == SPANS:
        score, expected = _f1(right, said + gold), _f1(sure, said + likely)
    else:
        score, expected = right / np.maximum(gold, 1), sure / np.maximum(likely, 1)
    return [
        messages.PointView(accepted=int(end), score=round(float(one), 4), sure=round(float(other), 4))
        for end, one, other in zip(ends, score, expected, strict=True)
    ]


def _f1(right: np.ndarray, both: np.ndarray) -> np.ndarray:
    """Return F1, which is 1 where there is no span and none was predicted."""
    return np.where(both > 0, 2 * right / np.where(both > 0, both, 1), 1.0)


def spans_of(tags: Sequence[str], kind: str, probability: float = 1.0) -> list[messages.SpanView]:
    """Return the spans of tags, all with one probability."""
    return [
        messages.SpanView(start=span.start, end=span.end, label=span.type, probability=probability)
        for span in (loose_spans(tags) if kind == SPANS else ())
    ]


Publish = Callable[[str, int | None, str | None], None]  # what happened, to which sentence, by whom
CHUNK = 8  # sentences tagged at a time in idle time: an answer waits for them at most
POLL = 0.5  # seconds between two looks at what other processes and threads have done


class Classroom:
    """Answers requests about a project. Only one thread may use it, except for `publish`."""

    def __init__(
        self,
        store: Store,
        pupil: Pupil,
        retraining: Retraining,
        publish: Publish,
        clusters: Mapping[str, str] | None = None,
    ) -> None:
        self.store, self.pupil, self.retraining, self.publish = store, pupil, retraining, publish
        self.locks, self._clusters = Locks(), clusters
        self.cache = Cache(self._predict)
        self.problem: str | None = None
        self._seen: list[Seen] | None = None

    @property
    def state(self) -> ProjectState:
        """What people have done."""
        return self.store.state

    @property
    def kind(self) -> str:
        """What the tags mean."""
        return self.store.kind

    def __len__(self) -> int:
        return self.state.accepted_count()

    def unforgotten(self) -> set[int]:
        """Return the sentences that were taken back, and that the model still knows: it cannot say how sure it is."""
        since = self.state.since(self.pupil.forgot)
        return {event.sentence for event in since if event.kind == UNDO and event.sentence is not None}

    @property
    def known(self) -> Known:
        """What the project knows besides its labels."""
        return Known(self._clusters, self.store.names, {kind: list(names) for kind, names in self.state.names.items()})

    def pairs(self) -> list[Pair]:
        """Return the words and tags of all accepted sentences."""
        return [self._pair(event) for one in self.state.accepted() if (event := self.state.current(one))]

    def news(self, after: int | None) -> list[dict[str, int | str | None]]:
        """Return what a page hears that begins to listen: events that it missed, and who works on which sentence."""
        missed = [] if after is None else self.state.since(after)
        events = [(one.seq, _NAMES[one.kind], one.sentence, one.author) for one in missed]
        locks = [(self.state.seq, "lock", one, author) for one, author in self.locks.held().items()]
        return [dict(zip(("seq", "kind", "id", "author"), one, strict=True)) for one in (*events, *locks)]

    def changes(self, events: Iterable[Event]) -> list[Pair]:
        """Return what there is to learn from events: the sentences that they are about, as they are now."""
        about = dict.fromkeys(event.sentence for event in events if event.sentence is not None)
        return [self._pair(event) for one in about if (event := self.state.current(one))]

    def lock(self, form: messages.LockForm) -> messages.LockAnswer:
        """Lock a sentence for a person; one that another person has only with `take`. All pages hear it."""
        self.sentence(form.id)
        before = self.locks.holder(form.id)
        holder = self.locks.lock(form.id, check_name(form.author, "author"), take=form.take)
        if holder != before:
            self.publish("lock", form.id, holder)
        return messages.LockAnswer(lock=holder)

    def unlock(self, form: messages.UnlockForm) -> messages.LockAnswer:
        """Give a sentence back."""
        self.sentence(form.id)
        before, after = self.locks.holder(form.id), self.locks.unlock(form.id, form.author)
        if after != before:
            self.publish("unlock", form.id, before)
        return messages.LockAnswer(lock=after)

    def label(self, form: messages.LabelForm) -> None:
        """Add a label."""
        name = check_name(form.name, "label")
        if name in self.state.labels:
            raise SapoError(f"the label '{name}' already exists")
        check_new_labels(self.state.labels, [name])
        author = check_name(form.author, "author")
        self.store.write(lambda state: [] if name in state.labels else [Draft(LABEL, author, name=name)])
        self._catch_up()

    def name(self, form: messages.NameForm) -> None:
        """Add a name to a list."""
        name, author, there = check_name(form.name, "name"), check_name(form.author, "author"), self.store.names
        if form.list not in there:
            raise SapoError(f"there is no list '{form.list}'{did_you_mean(form.list, list(there))}")
        if not any(map(str.isalnum, name)):
            raise SapoError(f"name: '{name}' has neither a letter nor a digit")
        if name in there[form.list] or name in self.state.names[form.list]:
            raise SapoError(f"'{name}' is in the list '{form.list}' already")
        self.store.write(lambda state: [Draft(NAME, author, name=name, list=form.list)])
        self._catch_up()

    def accept(self, forms: Sequence[messages.AcceptForm]) -> list[messages.ChangeAnswer | Exception]:
        """Accept sentences of several people, and write them to the disk together."""
        cut: dict[int, TaughtSentence] = {}  # by those before, of the same sentence
        checked = [self._checked(form, cut) for form in forms]
        good = [one for one in checked if isinstance(one, Draft)]
        before = self.pupil.version
        said = self.cache.fresh([one.sentence for one in good if one.sentence], before)
        visible = {one for form in forms for one in form.visible}
        shown = self._shown(visible)
        self.store.write(lambda state: self._drafts(state, good, said))
        self._catch_up()
        self.cache.fresh(self.open_ones(visible), self.pupil.version)  # of all screens together: that is faster
        answers: list[messages.ChangeAnswer | Exception] = []
        for form, one in zip(forms, checked, strict=True):
            if isinstance(one, Exception):
                answers.append(one)
                continue
            if self.locks.holder(form.id) == one.author:
                self.locks.unlock(form.id, one.author)
                self.publish("unlock", form.id, one.author)
            answers.append(self._change(form.id, form, shown, before))
        return answers

    def undo(self, form: messages.UndoForm, kind: str = UNDO) -> messages.ChangeAnswer:
        """Take back what a person accepted last; with the kind redo, bring it back."""
        author = check_name(form.author, "author")
        before = self.pupil.version
        shown = self._shown(form.visible)
        taken: list[Event] = []

        def decide(state: ProjectState) -> Iterable[Draft]:
            event = state.to_undo(author) if kind == UNDO else state.to_redo(author)
            if event is None:
                return []
            self._check_lock(event.sentence, author)
            taken.append(event)
            return [Draft(kind, author, event.sentence)]

        self.store.write(decide)
        self._catch_up()
        return self._change(taken[0].sentence if taken else None, form, shown, before)

    def redo(self, form: messages.UndoForm) -> messages.ChangeAnswer:
        """Bring back what a person took back last."""
        return self.undo(form, REDO)

    def idle(self) -> float:
        """Do a little of what can wait; return how many seconds the rest can wait."""
        try:
            self.store.refresh()
            self._catch_up()
            for sentence, author in self.locks.expire().items():
                self.publish("unlock", sentence, author)
            if self.retraining.finish(self.pupil, self):
                self.publish("model", None, None)
            more = self.cache.refresh(self.store.sentences, self.pupil.version, CHUNK)
        except Exception as error:  # whatever it is, the thread must go on answering
            self.problem = f"in the background: {error}"
            return POLL
        return 0.0 if more else POLL

    def _drafts(self, state: ProjectState, accepts: Sequence[Draft], said: dict[int, Prediction]) -> Iterable[Draft]:
        """Return the events of accepts: new labels first, and how good the model was at open sentences."""
        labels, seen = set(state.labels), set[int]()
        drafts = []
        for draft in accepts:
            sentence = draft.sentence
            assert sentence is not None
            for name in label_names(self.kind, draft.tags):
                if name not in labels:
                    labels.add(name)
                    drafts.append(Draft(LABEL, draft.author, name=name))
            counted = None
            if self.pupil.model is not None and state.current(sentence) is None and sentence not in seen:
                one = said[sentence]
                counted = count_seen(self.kind, cut_tags(one.tags, draft.cuts), draft.tags, one.expected, one.likely)
                self.pupil.test(self.store.sentences[sentence].cut(draft.cuts).words, draft.tags)
            seen.add(sentence)
            drafts.append(replace(draft, seen=counted))
        return drafts

    def _checked(self, form: messages.AcceptForm, cut: dict[int, TaughtSentence]) -> Draft | Exception:
        try:
            sentence = cut.get(form.id) or self.sentence(form.id)
            if form.cuts and self.kind != SPANS:
                raise SapoError("cuts: only a span can begin or end inside a token, and here each token has a tag")
            cuts = sentence.find_cuts(form.cuts)
            sentence = sentence.cut(cuts)
            tags = check_tags(self.kind, form.tags, len(sentence.offsets))
            check_new_labels(self.state.labels, label_names(self.kind, tags))
            author = check_name(form.author, "author")
            self._check_lock(form.id, author)
            cut[form.id] = sentence
            return Draft(ACCEPT, author, form.id, tags, cuts=cuts)
        except (SapoError, RefusedError) as error:
            return error

    def _check_lock(self, sentence: int | None, author: str) -> None:
        """Refuse to change a sentence that another person is working on."""
        holder = None if sentence is None else self.locks.holder(sentence)
        if holder not in (None, author):
            raise RefusedError(409, f"{holder} is working on this sentence; take it over first, or come back later")

    def _catch_up(self) -> None:
        """Learn what is in the journal and not learned yet, and tell all pages."""
        state = self.state
        if state.seq == self.pupil.seq:
            return
        new = state.since(self.pupil.seq)
        taken_back = any(event.kind in (UNDO, REDO) for event in new)
        if taken_back:
            self._seen = None
        elif self._seen is not None:
            self._seen += [event.seen for event in new if event.seen is not None]
        try:
            again = taken_back or any(event.kind == NAME for event in new)
            self.pupil.learn(self.changes(new), state.seq, self, from_scratch=again)
            self.problem = None
        except SapoError as error:  # what a person did is kept, whatever the model can learn
            self.problem = str(error)
        for event in new:
            if event.sentence is not None and (event.cuts or event.kind == UNDO):
                self.cache.forget(event.sentence)
            self.publish(_NAMES[event.kind], event.sentence, event.author)
        self.retraining.start(self.pupil, self)

    def _pair(self, event: Event) -> Pair:
        assert event.sentence is not None
        return self.store.sentences[event.sentence].words, event.tags

    def _predict(self, sentences: Sequence[int]) -> list[Prediction]:
        model, unforgotten = self.pupil.model, self.unforgotten()
        words = [self.store.sentences[one].words for one in sentences]
        asked = [] if model is None else [w for one, w in zip(sentences, words, strict=True) if one not in unforgotten]
        said = iter(()) if model is None else predict(model, self.kind, asked, self.pupil.session)
        return [
            know_nothing(self.kind, len(w)) if model is None or one in unforgotten else next(said)
            for one, w in zip(sentences, words, strict=True)
        ]

    def sentence(self, number: int) -> TaughtSentence:
        """Return a sentence. Raise SapoError if there is none of this number."""
        sentence = self.store.sentences.get(number)
        if sentence is None:
            raise SapoError(f"there is no sentence {number}")
        return sentence

    def open_ones(self, sentences: Iterable[int]) -> list[int]:
        """Return those of the sentences that exist and are open."""
        known = self.store.sentences
        return [one for one in sentences if one in known and self.state.current(one) is None]

    def views_of(self, sentences: Sequence[int]) -> list[messages.SentenceView]:
        """Show sentences as they are now."""
        said = self.cache.fresh(self.open_ones(sentences), self.pupil.version)
        return [self.view(one, said.get(one)) for one in sentences]

    def view(self, number: int, said: Prediction | None = None) -> messages.SentenceView:
        """Show a sentence as a person tagged it, or, if it is open, as the model does; that is `said`."""
        event = self.state.current(number)
        if event is None:
            assert said is not None
            return self.open_view(number, said)
        spans, shares = spans_of(event.tags, self.kind), [1.0] * len(event.tags)
        return self._view(number, event.tags, spans, shares, 1.0, by=event.author)

    def open_view(self, number: int, said: Prediction) -> messages.SentenceView:
        """Show a sentence as the model tags it."""
        spans = [
            messages.SpanView(start=span.start, end=span.end, label=span.type, probability=round(span.probability, 4))
            for span in said.spans
        ]
        shares = [round(share, 4) for share in said.probabilities]
        return self._view(number, said.tags, spans, shares, round(said.sure, 4))

    def _view(
        self,
        number: int,
        tags: tuple[str, ...],
        spans: list[messages.SpanView],
        probabilities: list[float],
        sure: float,
        by: str | None = None,
    ) -> messages.SentenceView:
        sentence = self.store.sentences[number]
        return messages.SentenceView(
            id=number,
            text=sentence.text,
            tokens=sentence.offsets,
            tags=tags,
            spans=spans,
            probabilities=probabilities,
            sure=sure,
            state="open" if by is None else "accepted",
            by=by,
            lock=self.locks.holder(number),
            version=self.pupil.version,
        )

    def _shown(self, visible: Iterable[int]) -> dict[int, Prediction]:
        """Return what was said last about open sentences: a page shows it, if it has seen the last version."""
        last = {one: self.cache.last(one) for one in self.open_ones(visible)}
        return {one: prediction for one, prediction in last.items() if prediction is not None}

    def _change(
        self, number: int | None, form: messages.UndoForm, shown: dict[int, Prediction], before: int
    ) -> messages.ChangeAnswer:
        """Return what is new on a screen: all of it if the page has not seen what came before."""
        visible = self.open_ones(form.visible)
        said = self.cache.fresh(visible, self.pupil.version)
        everything = form.version is not None and form.version != before
        changed = [one for one in visible if everything or one not in shown or said[one].differs(shown[one])]
        seen = self.all_seen()
        points = curve(self.kind, seen[-WINDOW:], points=1)
        for point in points:  # at most one
            point.accepted = len(seen)
        return messages.ChangeAnswer(
            sentence=None if number is None else self.views_of([number])[0],
            changed=[self.view(one, said[one]) for one in changed if one != number],
            curve_point=points[0] if points else None,
            counts=self.counts(),
            model=self.model_view(),
            labels=self.state.labels,
            seq=self.state.seq,
        )

    def all_seen(self) -> list[Seen]:
        """Return how good the model was at each accepted sentence before it learned it."""
        if self._seen is None:
            self._seen = [event.seen for event in self.state.holding() if event.seen is not None]
        return self._seen

    def counts(self) -> messages.CountsView:
        """Return how much is done."""
        letter = "B-" if self.kind == SPANS else ""  # each span has one, or else each token
        by_label = {label: self.state.counts.get(letter + label, 0) for label in self.state.labels}
        return messages.CountsView(sentences=len(self.store.sentences), accepted=len(self), by_label=by_label)

    def model_view(self) -> messages.ModelView:
        """Describe the model."""
        return messages.ModelView(
            version=self.pupil.version,
            learned=self.pupil.learned,
            training=self.retraining.training,
            temperature=round(self.pupil.temperature, 3),
            problem=self.problem or self.retraining.problem,
        )


_NAMES = {ACCEPT: "accepted", IMPORT: "accepted", UNDO: "undone", REDO: "accepted", LABEL: "label", NAME: "label"}
