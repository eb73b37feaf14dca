"""Sentences in, those to look at next out, by the orders of `selection`."""

from collections.abc import Iterable, Mapping, Sequence

from sapo.teach.cache import Mark
from sapo.teach.selection import Variety, choose
from sapo.teach.sentences import TaughtSentence

UNKNOWN = -1.0  # the doubt of what was not tagged yet: it comes last


class Orders:
    """The sentences of a project, which it numbers from 0, and which of them are accepted."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._numbers: list[int] = []
        self._variety = Variety([])
        self._labelled: set[int] = set()

    def take(self, sentences: Mapping[int, TaughtSentence]) -> None:
        """Take the sentences of a project, all of them, if there are new ones."""
        if len(sentences) == len(self._numbers):
            return
        self._numbers = list(sentences)
        self._places = {number: place for place, number in enumerate(self._numbers)}
        self._variety = Variety([one.words for one in sentences.values()])
        self._labelled = set()

    def next(self, order: str, free: Sequence[int], count: int, marks: Mapping[int, Mark]) -> list[int]:
        """Return some of the free sentences, in an order."""
        places = [self._places[one] for one in free]
        doubts = [marks[one].doubt if one in marks else UNKNOWN for one in free] if order == "least-sure" else None
        return [self._numbers[place] for place in choose(order, places, count, doubts=doubts, variety=self._variety)]

    def label(self, accepted: Iterable[int]) -> None:
        """Say which sentences are accepted now."""
        now = {self._places[one] for one in accepted}
        for place in now - self._labelled:
            self._variety.label(place)
        for place in self._labelled - now:
            self._variety.unlabel(place)
        self._labelled = now
