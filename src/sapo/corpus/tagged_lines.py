"""Write tags into the lines of a block, and leave all other bytes as they are."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from sapo.corpus.blocks import Block
from sapo.corpus.origins import ScannedOrigin
from sapo.corpus.predictions import Taggings, with_notes
from sapo.corpus.scanner import sentence_regions
from sapo.kernels import scan
from sapo.kernels.types import Bytes, Ints


def splice_tags(data: Bytes, cut_starts: Ints, cut_ends: Ints, pieces: Sequence[str], piece: Ints) -> bytes:
    """Return the data with `pieces[piece[t]]` in place of the bytes cut_starts[t] to cut_ends[t], for each token t."""
    if len(piece) != len(cut_starts):
        raise ValueError(f"{len(cut_starts)} tokens but {len(piece)} tags")
    encoded = [text.encode("utf-8", "surrogatepass") for text in pieces]
    sizes = np.array([len(text) for text in encoded], np.int64)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]).astype(np.int32)
    out = np.empty(len(data) + int(sizes[piece].sum()), np.uint8)
    written = scan.splice(
        data,
        np.ascontiguousarray(cut_starts),
        np.ascontiguousarray(cut_ends),
        np.frombuffer(b"".join(encoded), np.uint8),
        offsets,
        piece,
        out,
    )
    return out[:written].tobytes()


def number_tags(tags: Iterable[str]) -> tuple[list[str], Ints]:
    """Return the distinct tags in the order they come, and for each tag its number among them.

    >>> labels, numbers = number_tags(["O", "B-X", "O"])
    >>> labels, numbers.tolist()
    (['O', 'B-X'], [0, 1, 0])
    """
    labels: dict[str, int] = {}
    numbers = [labels.setdefault(tag, len(labels)) for tag in tags]
    return list(labels), np.array(numbers, np.int32)


def one_sentence(block: Block, sentence: int, region: tuple[int, int]) -> Block:
    """Return a block of one sentence, with the comments and other lines in its region."""
    origin = block.origin_as(ScannedOrigin)
    scanned = origin.scanned
    first, last = block.offsets[sentence : sentence + 2].tolist()
    begin, end = region
    part = dataclasses.replace(
        scanned,
        data=scanned.data[begin:end],
        starts=scanned.starts[first:last] - begin,
        ends=scanned.ends[first:last] - begin,
        line_starts=scanned.line_starts[first:last] - begin,
        line_ends=scanned.line_ends[first:last] - begin,
        offsets=np.array([0, last - first]),
    )
    return dataclasses.replace(
        block,
        data=part.data,
        starts=part.starts,
        ends=part.ends,
        offsets=part.offsets,
        origin=dataclasses.replace(origin, scanned=part),
    )


def nbest_lines(
    block: Block,
    taggings: Iterable[Taggings],
    labels: Sequence[str],
    tagged: Callable[[Block, Ints, Sequence[str]], bytes],
) -> Iterator[bytes]:
    """Yield every sentence once for each of its taggings, with rank and probabilities as comments.

    `tagged` is how the format writes one tagging of a block.
    """
    regions = sentence_regions(block.origin_as(ScannedOrigin).scanned)
    for sentence, ranked in enumerate(taggings):
        alone = one_sentence(block, sentence, regions[sentence])
        for notes, tagging in with_notes(ranked):
            yield notes.encode() + tagged(alone, tagging.tags, labels) + b"\n\n"
