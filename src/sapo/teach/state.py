"""The journal of a project in, its state out: which sentences are accepted, with which tags, by whom.

The state is a fold of the journal and nothing else, so that it is the same after a crash. Each person has a stack of
what they accepted, and one of what they took back:

    accept   goes on the first stack, and empties the second
    undo     moves the top of the first stack to the second
    redo     moves it back

What lies on the first stacks holds. Of several people who accepted a sentence, the last one decides its tags.
"""

from bisect import bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Iterable

from sapo.teach.events import ACCEPT, IMPORT, LABEL, REDO, UNDO, Event


class State:
    """The state after some events. Only `apply` changes it."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.seq = 0  # of the last event
        self.labels: list[str] = []
        self.people: list[str] = []  # who have accepted sentences
        self.log: list[Event] = []
        self.counts: Counter[str] = Counter()  # tags of all accepted sentences
        self._accepts: dict[int, Event] = {}  # by seq
        self._holds: dict[int, list[int]] = {}  # by sentence: the accepts that hold, in order
        self._done: defaultdict[str, list[int]] = defaultdict(list)
        self._undone: defaultdict[str, list[int]] = defaultdict(list)
        for event in events:
            self.apply(event)

    def apply(self, event: Event) -> None:
        """Go on by one event. An undo or redo without anything to take changes nothing."""
        self.seq = event.seq
        self.log.append(event)
        author = event.author
        if author not in self.people and event.kind in (ACCEPT, IMPORT):
            self.people.append(author)
        if event.kind == LABEL and event.name not in self.labels:
            self.labels.append(event.name)
        elif event.kind in (ACCEPT, IMPORT):
            self._accepts[event.seq] = event
            self._set(event, holds=True)
            if event.kind == ACCEPT:
                self._done[author].append(event.seq)
                self._undone[author].clear()
        elif event.kind == UNDO and self._done[author]:
            self._undone[author].append(self._done[author].pop())
            self._set(self._accepts[self._undone[author][-1]], holds=False)
        elif event.kind == REDO and self._undone[author]:
            self._done[author].append(self._undone[author].pop())
            self._set(self._accepts[self._done[author][-1]], holds=True)

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
        return self._accepts[holds[-1]] if holds else None

    def by_person(self, sentence: int) -> dict[str, tuple[str, ...]]:
        """Return the tags that each person gave a sentence at last."""
        return {self._accepts[seq].author: self._accepts[seq].tags for seq in self._holds.get(sentence, ())}

    def to_undo(self, author: str) -> Event | None:
        """Return what an undo of this person would take back."""
        done = self._done.get(author)
        return self._accepts[done[-1]] if done else None

    def to_redo(self, author: str) -> Event | None:
        """Return what a redo of this person would bring back."""
        undone = self._undone.get(author)
        return self._accepts[undone[-1]] if undone else None

    def holding(self) -> list[Event]:
        """Return all accepts that hold, in order."""
        return [self._accepts[seq] for seq in sorted(seq for held in self._holds.values() for seq in held)]

    def _set(self, accept: Event, *, holds: bool) -> None:
        sentence = accept.sentence
        assert sentence is not None
        before = self.current(sentence)
        held = self._holds.setdefault(sentence, [])
        if holds:
            insort(held, accept.seq)
        else:
            held.remove(accept.seq)
        if not held:
            del self._holds[sentence]
        after = self.current(sentence)
        if before is not after:
            self.counts.subtract(before.tags if before else ())
            self.counts.update(after.tags if after else ())
