"""Open sentences and what the model says about them in, those to look at next out."""

import zlib
from collections.abc import Mapping, Sequence

from sapo.teach.cache import Mark


def next_sentences(order: str, sentences: Sequence[int], marks: Mapping[int, Mark], count: int) -> list[int]:
    """Return some of the sentences, in an order; what was not tagged yet comes after what was."""
    if order == "least-sure":
        return sorted(sentences, key=lambda one: (marks[one].sure if one in marks else 2.0, one))[:count]
    if order in ("random", "different"):
        return sorted(sentences, key=lambda one: zlib.crc32(str(one).encode()))[:count]
    return list(sentences[:count])
