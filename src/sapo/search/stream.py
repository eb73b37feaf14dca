"""Lattice in, the best taggings out one by one, exactly, as many as are asked for."""

from collections.abc import Iterator

import numpy as np

from sapo.kernels import background
from sapo.kernels import stream as kernels
from sapo.kernels import viterbi as viterbi_kernels
from sapo.kernels.stream import Choices, Stream
from sapo.kernels.types import Doubles, Ints
from sapo.search.lattice import Lattice

STEPS = 20_000_000  # of a call, each a node: some hundredth of a second; in between, Ctrl-C gets a turn
PATHS = 256  # taggings that are written out at once


def best_first(lattice: Lattice) -> Iterator[tuple[Ints, float]]:
    """Yield every tagging that is not forbidden, with its score, best first.

    Only as much is searched as is asked for. Each tagging takes some 50 bytes, whatever the length of the sentence.

    >>> lattice = Lattice(np.eye(2, dtype=np.float32), np.zeros((2, 2), np.float32))
    >>> for path, score in best_first(lattice):
    ...     print(path.tolist(), score)
    ...     if score < 2:
    ...         break
    [0, 1] 2.0
    [0, 0] 1.0
    """
    if lattice.tokens == 0:
        yield np.empty(0, np.int32), 0.0
        return
    search = StreamedSearch(lattice)
    begin, wanted = 0, 1
    while search.find(wanted) > begin:
        paths, scores = search.paths(begin, search.found), search.scores(begin).tolist()
        yield from zip(paths, scores, strict=True)
        begin, wanted = search.found, search.found + min(2 * wanted, PATHS)


class StreamedSearch:
    """A search that can go on. Its taggings are found in order, and written out only when asked for."""

    def __init__(self, lattice: Lattice, *, margin: float = np.inf) -> None:
        """Prepare a search in a lattice of at least one token.

        Taggings that score less than the best one by more than `margin` are left out.
        """
        self.lattice, self.margin = lattice, margin
        T, L = lattice.node.shape
        best, row, pairs = np.empty((T, L), np.float32), np.empty(L, np.float32), T * L * L
        self.taken = float(
            background.call(viterbi_kernels.best_scores, lattice.node, lattice.steps, T, best, row, steps=pairs)
        )
        self._choices = Choices(best, lattice.steps_to, np.empty((T, L), np.int32), np.empty((T, L), np.float32))
        background.call(kernels.fill_choices, self._choices, T, steps=pairs)
        self._stream, self._path = _make_stream(1), np.empty(T, np.int32)
        kernels.start_stream(self._choices, T, self._stream, self._path)

    @property
    def found(self) -> int:
        """The number of taggings that are found."""
        return int(self._stream.counts[kernels.FOUND]) - 1  # the first row is no tagging

    def scores(self, begin: int = 0) -> Doubles:
        """Return the scores of the taggings that are found, from `begin` on."""
        scores: Doubles = self.taken + self._stream.scores[1 + begin : 1 + self.found]
        return scores

    def paths(self, begin: int, end: int) -> Ints:
        """Return the labels of taggings that are found, [end - begin, tokens]."""
        paths = np.empty((end - begin, self.lattice.tokens), np.int32)
        kernels.write_paths(1 + begin, self._choices, self.lattice.tokens, self._stream, paths)
        return self.lattice.to_labels(paths)

    def find(self, n: int) -> int:
        """Search until n taggings are found, or all are; return how many there are."""
        chunk = max(1, STEPS // max(1, self.lattice.node.size))
        while self.found < n and self._stream.counts[kernels.WAITING] > 0:
            until = 1 + min(n, self.found + chunk)
            if until > len(self._stream.scores):
                self._stream = _longer(self._stream, min(1 + n, 2 * until))
            kernels.find_more(self._choices, self.lattice.tokens, self.margin, until, self._stream, self._path)
        return self.found


def _make_stream(room: int) -> Stream:
    """Return an empty stream with this many rows.

    Kernels must not make it: numba makes a named tuple by calling Python, and a signal that is waiting then crashes it.
    """
    return Stream(
        np.empty(room, np.float64),
        np.empty((room, 3), np.int32),
        np.empty(room, np.float64),
        np.empty((room, 3), np.int32),
        np.empty(room, np.int32),
        np.zeros(2, np.int64),
    )


def _longer(stream: Stream, room: int) -> Stream:
    """Return the same stream with more rows."""
    new, used = _make_stream(room), int(stream.counts[kernels.FOUND])
    for name in ("scores", "links", "next_scores", "nexts", "heap"):
        getattr(new, name)[:used] = getattr(stream, name)[:used]
    new.counts[:] = stream.counts
    return new
