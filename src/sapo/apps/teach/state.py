"""Represent what people did to a project as events, and its state after them.

The state is a fold of the journal and nothing else, so that it is the same after a crash. Each person has a stack of
what they accepted, and one of what they took back:

    accept   goes on the first stack, and empties the second
    undo     moves the top of the first stack to the second
    redo     moves it back

What lies on the first stacks holds. Of several people who accepted a sentence, the last one decides its tags.

A person who marks a part of a token cuts the token. A cut stays even if the accept that made it is taken back. What
others said about the token then holds for both parts.
"""

import json
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from sapo.apps.taggers import SCHEME, SPANS, TAGS
from sapo.corpus.blocks import Sentence
from sapo.errors import SapoError
from sapo.tagger.file import is_count, is_number
from sapo.tags.spans import loose_spans, spans_to_tags, tags_to_spans

ACCEPT, IMPORT, UNDO, REDO, LABEL, NAME = "accept", "import", "undo", "redo", "label", "name"
KINDS = (ACCEPT, IMPORT, UNDO, REDO, LABEL, NAME)
FROM_SCRATCH = (UNDO, NAME)  # a model can neither unlearn a sentence nor take a name without being trained again
NOTHING = "_"  # the tag of a token that has none yet, where each token must get one
LONGEST_NAME = 100  # characters of a label, or of the name of a person
Cuts = tuple[tuple[int, int], ...]  # a token as it was before, and the character of the text where it is cut; in order


@dataclass(frozen=True, slots=True)
class Seen:
    """What the model said about a sentence before it learned from it, counted in spans, or in tokens.

    `sure` and `likely` are what the model itself expected of `right` and of `gold`.
    """

    right: int
    said: int
    gold: int
    sure: float
    likely: float


@dataclass(frozen=True, slots=True)
class Draft:
    """An event before it is written."""

    kind: str
    author: str
    sentence: int | None = None
    tags: tuple[str, ...] = ()
    name: str = ""  # a new label, or a name for a list
    seen: Seen | None = None
    cuts: Cuts = ()  # of tokens, before the tags hold
    list: str = ""  # the kind of a name

    def value(self) -> str:
        """Return what the journal keeps besides kind, author and sentence, as JSON."""
        value: dict[str, Any] = {}
        if self.tags:
            value["tags"] = self.tags
        if self.cuts:
            value["cuts"] = self.cuts
        if self.name:
            value["name"] = self.name
        if self.list:
            value["list"] = self.list
        if self.seen is not None:
            seen = self.seen
            value["seen"] = [seen.right, seen.said, seen.gold, round(seen.sure, 4), round(seen.likely, 4)]
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Event(Draft):
    """An event of the journal; `seq` counts from 1."""

    seq: int = 0
    time: float = 0.0  # seconds since 1970


def read_event(row: tuple[Any, ...]) -> Event:
    """Return an event from a row of the journal. Raise SapoError if it cannot have been written by us."""
    seq, time, author, kind, sentence, text = row
    try:
        value = json.loads(text)
        tags, name, seen, kept = value.get("tags", []), value.get("name", ""), value.get("seen"), value.get("list", "")
        good = isinstance(tags, list) and all(isinstance(one, str) for one in (*tags, name, kept))
        if (
            not good
            or not isinstance(author, str)
            or not is_number(time)
            or kind not in KINDS
            or (kind in (LABEL, NAME)) != (sentence is None)
            or (sentence is None and check_name(name, kind) != name)
            or (kind == NAME) != (kept != "")
        ):
            raise ValueError
        " ".join([*tags, name, kept]).encode()  # half of a surrogate pair cannot be written
        counted = None
        if seen is not None:
            right, said, gold, sure, likely = seen
            if not (all(map(is_count, (right, said, gold))) and is_number(sure) and is_number(likely)):
                raise ValueError
            counted = Seen(right, said, gold, float(sure), float(likely))
        cuts = tuple((token, place) for token, place in value.get("cuts", ()))
        if not all(is_count(one) for cut in cuts for one in cut):
            raise ValueError
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise SapoError(f"event {seq} of the journal") from None
    return Event(kind, author, sentence, tuple(tags), name, counted, cuts, kept, seq, time)


def check_name(name: str, what: str) -> str:
    """Return the name of a person or a label without blanks around it. Raise SapoError unless it can be one.

    >>> check_name(" anna ", "author")
    'anna'
    """
    name = name.strip()
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise SapoError(f"{what}: expected a name of 1 to {LONGEST_NAME} printable characters, not {name!r:.40}")
    return name


@dataclass(frozen=True, slots=True)
class TaughtSentence:
    """A sentence that people tag. Its words are `text[start:end]` of each offset."""

    text: str
    offsets: tuple[tuple[int, int], ...]
    source: str = ""  # the file it came from
    document: str = ""  # the name that the file gives its document

    @property
    def words(self) -> list[str]:
        """The tokens as strings."""
        return [self.text[start:end] for start, end in self.offsets]

    def find_cuts(self, places: Iterable[int]) -> Cuts:
        """Return cuts at characters of the text. Raise SapoError if one is not inside a token.

        >>> TaughtSentence("a #12", ((0, 1), (2, 5))).find_cuts([3])
        ((1, 3),)
        """
        found = []
        for place in sorted(set(places)):
            token = bisect_right(self.offsets, place, key=lambda offset: offset[0]) - 1
            if token < 0 or not self.offsets[token][0] < place < self.offsets[token][1]:
                raise SapoError(f"cuts: character {place} is not inside a token")
            found.append((token, place))
        return tuple(found)

    def cut(self, cuts: Cuts) -> "TaughtSentence":
        """Return the sentence with its tokens cut.

        >>> TaughtSentence("a #12", ((0, 1), (2, 5))).cut(((1, 3),)).words
        ['a', '#', '12']
        """
        if self.find_cuts(place for _, place in cuts) != cuts:
            raise SapoError("cuts: a token does not fit its character")
        borders = sorted({place for offset in self.offsets for place in offset} | {place for _, place in cuts})
        inside = {place for _, place in cuts} | {start for start, _ in self.offsets}
        ends = dict(pairwise(borders))
        return replace(self, offsets=tuple((start, ends[start]) for start in sorted(inside)))

    def with_tags(self, tags: Sequence[str]) -> Sentence:
        """Return the sentence in the form that files are written from."""
        words = {"word": tuple(self.words)}
        return Sentence(words, tuple(tags), self.text, self.offsets, document=self.document or None)


def check_sentence(text: object, offsets: object) -> TaughtSentence:
    """Return the sentence that a project file has. Raise SapoError unless its tokens lie in the text, in order.

    >>> check_sentence("a dog", [[0, 1], [2, 5]]).words
    ['a', 'dog']
    """
    made = []
    last = 0
    try:
        if not isinstance(text, str) or not isinstance(offsets, list) or not offsets:
            raise ValueError
        for start, end in offsets:
            if type(start) is not int or type(end) is not int or not last <= start < end <= len(text):
                raise ValueError
            made.append((start, end))
            last = end
    except (ValueError, TypeError):
        raise SapoError("its tokens are not in its text") from None
    return TaughtSentence(text, tuple(made))


def as_iob2(kind: str, tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags of a sentence as a project keeps them; spans may be in any scheme, valid or not.

    >>> as_iob2("spans", ["S-PER", "O", "I-LOC"])
    ('B-PER', 'O', 'B-LOC')
    """
    if kind == TAGS:
        return tuple(tags)
    return tuple(spans_to_tags(loose_spans(tags), len(tags), SCHEME))


def check_tags(kind: str, tags: Sequence[str], tokens: int) -> tuple[str, ...]:
    """Return tags that a person gave. Raise SapoError unless they fit the sentence and the kind of the project.

    >>> check_tags("spans", ["B-PER", "O"], 2)
    ('B-PER', 'O')
    """
    if len(tags) != tokens:
        raise SapoError(f"there are {len(tags)} tags for {tokens} tokens; give one for each token")
    if kind == SPANS:
        tags_to_spans(tags, SCHEME)
    for tag in dict.fromkeys(tags):
        if kind == TAGS and tag == NOTHING:
            raise SapoError("some tokens have no tag yet; give each token one")
        check_name(tag, "tag")
    return tuple(tags)


def count_seen(kind: str, said: Sequence[str], gold: Sequence[str], sure: float, likely: float) -> Seen:
    """Compare what a model said with what a person then accepted.

    >>> count_seen("spans", ["B-PER", "O"], ["B-PER", "B-LOC"], 0.9, 1.2)
    Seen(right=1, said=1, gold=2, sure=0.9, likely=1.2)
    """
    if kind == TAGS:
        right = sum(one == other for one, other in zip(said, gold, strict=True))
        return Seen(right, len(said), len(gold), sure, likely)
    mine, theirs = Counter(loose_spans(said)), Counter(loose_spans(gold))
    return Seen((mine & theirs).total(), mine.total(), theirs.total(), sure, likely)


def cut_tags(tags: Sequence[str], cuts: Cuts) -> tuple[str, ...]:
    """Return IOB2 tags after tokens were cut: both parts of a token have its label.

    >>> cut_tags(["O", "B-ID"], ((0, 1), (1, 3)))
    ('O', 'O', 'B-ID', 'I-ID')
    """
    parts = Counter(token for token, _ in cuts)
    return tuple(
        f"I-{tag[2:]}" if part and tag.startswith("B-") else tag
        for token, tag in enumerate(tags)
        for part in range(1 + parts[token])
    )


class ProjectState:
    """The state after some events. Only `apply` changes it."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.seq = 0  # of the last event
        self._labels: dict[str, None] = {}
        self.names: defaultdict[str, dict[str, None]] = defaultdict(
            dict
        )  # that people added, by the kind of their list
        self._people: dict[str, None] = {}
        self.log: list[Event] = []
        self._counts: Counter[str] = Counter()
        self._uncounted: dict[int, Event | None] = {}  # by sentence: the accept that was counted
        self._accepts: dict[int, tuple[Event, int]] = {}  # by seq, with the number of cuts that its tags fit
        self._cuts: defaultdict[int, list[Cuts]] = defaultdict(list)  # by sentence
        self._holds: dict[int, list[int]] = {}  # by sentence: the accepts that hold, in order
        self._done: defaultdict[str, list[int]] = defaultdict(list)
        self._undone: defaultdict[str, list[int]] = defaultdict(list)
        for event in events:
            self.apply(event)

    def apply(self, event: Event) -> None:
        """Apply one event. An undo or redo without anything to take changes nothing."""
        self.seq = event.seq
        self.log.append(event)
        author = event.author
        if event.kind in (ACCEPT, IMPORT):
            self._people[author] = None
        if event.kind == LABEL:
            self._labels[event.name] = None
        elif event.kind == NAME:
            self.names[event.list][event.name] = None
        elif event.kind in (ACCEPT, IMPORT):
            assert event.sentence is not None
            if event.cuts:
                self._count_later(event.sentence)
                self._cuts[event.sentence].append(event.cuts)
            self._accepts[event.seq] = event, len(self._cuts[event.sentence])
            self._set(event, holds=True)
            if event.kind == ACCEPT:
                self._done[author].append(event.seq)
                self._undone[author].clear()
        elif event.kind == UNDO and self._done[author]:
            self._undone[author].append(self._done[author].pop())
            self._set(self._accepts[self._undone[author][-1]][0], holds=False)
        elif event.kind == REDO and self._undone[author]:
            self._done[author].append(self._undone[author].pop())
            self._set(self._accepts[self._done[author][-1]][0], holds=True)

    @property
    def labels(self) -> list[str]:
        """All labels, in the order in which they came."""
        return list(self._labels)

    @property
    def people(self) -> list[str]:
        """Who have accepted sentences."""
        return list(self._people)

    @property
    def counts(self) -> Counter[str]:
        """The tags of all accepted sentences."""
        for sentence, before in self._uncounted.items():
            after = self.current(sentence)
            self._counts.subtract(before.tags if before else ())
            self._counts.update(after.tags if after else ())
        self._uncounted.clear()
        return self._counts

    def since(self, seq: int) -> list[Event]:
        """Return the events after this one."""
        return self.log[bisect_right(self.log, seq, key=lambda event: event.seq) :]

    def accepted(self) -> list[int]:
        """Return the accepted sentences."""
        return list(self._holds)

    def accepted_count(self) -> int:
        """Return how many sentences are accepted."""
        return len(self._holds)

    def current(self, sentence: int) -> Event | None:
        """Return the accept that decides the tags of a sentence, or None if it is open."""
        holds = self._holds.get(sentence)
        return self._accept(holds[-1]) if holds else None

    def by_person(self, sentence: int) -> dict[str, tuple[str, ...]]:
        """Return the tags that each person gave a sentence at last."""
        last = {self._accepts[seq][0].author: seq for seq in self._holds.get(sentence, ())}
        return {author: self._accept(seq).tags for author, seq in last.items()}

    def to_undo(self, author: str) -> Event | None:
        """Return what an undo of this person would take back."""
        done = self._done.get(author)
        return self._accept(done[-1]) if done else None

    def to_redo(self, author: str) -> Event | None:
        """Return what a redo of this person would bring back."""
        undone = self._undone.get(author)
        return self._accept(undone[-1]) if undone else None

    def holding(self) -> list[Event]:
        """Return all accepts that hold, in order."""
        return [self._accept(seq) for seq in sorted(seq for held in self._holds.values() for seq in held)]

    def _accept(self, seq: int) -> Event:
        """Return an accept with tags that fit the tokens as they are now."""
        event, fitted = self._accepts[seq]
        cuts = self._cuts[event.sentence or 0]
        if fitted < len(cuts):
            tags = event.tags
            for one in cuts[fitted:]:
                tags = cut_tags(tags, one)
            event = replace(event, tags=tags)
            self._accepts[seq] = event, len(cuts)
        return event

    def _count_later(self, sentence: int) -> None:
        """Keep what is counted of a sentence that changes: a journal may change it as often as it likes."""
        if sentence not in self._uncounted:
            self._uncounted[sentence] = self.current(sentence)

    def _set(self, accept: Event, *, holds: bool) -> None:
        sentence = accept.sentence
        assert sentence is not None
        self._count_later(sentence)
        held = self._holds.setdefault(sentence, [])
        if holds:
            insort(held, accept.seq)
        else:
            del held[bisect_left(held, accept.seq)]
        if not held:
            del self._holds[sentence]
