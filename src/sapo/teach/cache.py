"""What the model said about each sentence at last: whole predictions of some, a few numbers of all."""

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from sapo.teach.predictions import Prediction
from sapo.teach.selection import doubt

KEPT = 5000  # whole predictions
LOOKED = 1000  # sentences at a time that may turn out to be tagged already
POOL = 1000  # sentences that are tagged anew, in idle time, after each change of the model


@dataclass(frozen=True, slots=True)
class Mark:
    """What is kept of a prediction: how sure the model was, and the tags as a number that tells them apart."""

    sure: float
    doubt: float
    version: int  # of the model
    tags: int


class Cache:
    """Predictions by sentence. `predict` makes new ones."""

    def __init__(self, predict: Callable[[Sequence[int]], Sequence[Prediction]]) -> None:
        self._predict = predict
        self._whole: OrderedDict[int, tuple[int, Prediction]] = OrderedDict()  # the version and the prediction
        self.marks: dict[int, Mark] = {}
        self._queue: deque[int] = deque()  # all sentences: those without a prediction, then the oldest first
        self._version, self._left = -1, 0  # of those that have a prediction, how many to look at for this version

    def last(self, sentence: int) -> Prediction | None:
        """Return the last prediction that is still known, of whatever version."""
        found = self._whole.get(sentence)
        return None if found is None else found[1]

    def fresh(self, sentences: Iterable[int], version: int) -> dict[int, Prediction]:
        """Return predictions of this version of the model; what is missing is made."""
        wanted = list(dict.fromkeys(sentences))
        missing = [one for one in wanted if self._whole.get(one, (-1,))[0] != version]
        for one, prediction in zip(missing, self._predict(missing), strict=True):
            self._whole[one] = (version, prediction)
            self.marks[one] = Mark(prediction.sure, doubt(prediction.probabilities), version, hash(prediction.tags))
        found = {one: self._whole[one][1] for one in wanted}
        for one in wanted:
            self._whole.move_to_end(one)
        while len(self._whole) > max(KEPT, len(wanted)):
            self._whole.popitem(last=False)
        return found

    def refresh(self, sentences: Collection[int], version: int, count: int) -> bool:
        """Make a few predictions that are missing or old; return whether there are more to make.

        All sentences get a first prediction; of those that have one, the oldest are made again. `sentences` only grow.
        """
        if len(sentences) > len(self._queue):
            self._queue.extendleft(reversed(list(islice(sentences, len(self._queue), None))))
        if self._version != version:
            self._version, self._left = version, min(POOL, len(self._queue))
        taken: list[int] = []
        for _ in range(min(LOOKED, len(self._queue))):
            if len(taken) == count or not self._more():
                break
            one = self._queue[0]
            self._queue.rotate(-1)
            self._left -= one in self.marks
            if one not in self.marks or self.marks[one].version != version:
                taken.append(one)
        self.fresh(taken, version)
        return self._more()

    def _more(self) -> bool:
        return bool(self._queue) and (self._left > 0 or self._queue[0] not in self.marks)
