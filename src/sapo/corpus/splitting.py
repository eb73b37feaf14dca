"""Sentences or documents in, parts of a given size out, in which each label has about the same share.

This is iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011): the rarest label first, each unit with it goes
to the part that still needs the label most. Here tokens are counted, so that parts of documents get their size, too.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from sapo.corpus.units import Unit
from sapo.errors import SapoError

NAMES = {2: ("train", "test"), 3: ("train", "dev", "test")}


def split_units(units: Sequence[Unit], shares: Sequence[float], *, seed: int = 0) -> list[list[Unit]]:
    """Return the units in as many parts as there are shares, each in the order of the file.

    Equal seeds give equal parts. Raises SapoError if there are fewer units than parts.

    >>> units = [Unit(b"", Counter("AB"[number % 2]), 1, 1) for number in range(20)]
    >>> parts = split_units(units, [0.5, 0.5])
    >>> [Counter(label for unit in part for label in unit.labels)["A"] for part in parts]
    [5, 5]
    """
    if len(units) < len(shares):
        raise SapoError(f"{len(units)} sentences or documents cannot be split into {len(shares)} parts")
    portions = np.array(shares, np.float64) / sum(shares)
    rng = np.random.default_rng(seed)
    waiting = rng.permutation(len(units)).tolist()
    totals = sum((unit.labels for unit in units), Counter[str]())
    needed = {label: portions * count for label, count in totals.items()}  # of each label in each part
    room = portions * sum(unit.tokens for unit in units)
    place = np.full(len(units), -1)

    def put(number: int, part: int) -> None:
        place[number] = part
        room[part] -= units[number].tokens
        for label, count in units[number].labels.items():
            needed[label][part] -= count

    for label in sorted(totals, key=lambda label: (totals[label], label)):
        for number in waiting:
            if place[number] < 0 and label in units[number].labels:
                fits = room >= units[number].tokens
                need = np.where(fits, needed[label], -np.inf) if fits.any() else needed[label]
                # of the parts that need the label equally, the one with the most room
                put(number, max(np.flatnonzero(need > need.max() - 0.5).tolist(), key=lambda part: room[part]))
    for number in waiting:
        if place[number] < 0:
            put(number, int(np.argmax(room)))
    for part in range(len(shares)):  # rounding must not leave a part empty
        if not (place == part).any():
            largest = int(np.argmax(np.bincount(place, minlength=len(shares))))
            put(int(np.flatnonzero(place == largest)[0]), part)
    return [
        [unit for unit, found in zip(units, place.tolist(), strict=True) if found == part]
        for part in range(len(shares))
    ]
