"""Check labeled data from the user: a file, a table, sentences, or pairs of tokens and tags."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.blocks import (
    LABEL,
    Block,
    Sentence,
    block_from_sentences,
    check_labels,
    is_table,
    plain_sentence,
    sentence_block,
)
from sapo.corpus.conllu import check_predictable
from sapo.corpus.exchange.documents import Cut
from sapo.corpus.files import show_path
from sapo.corpus.formats import format_of, read_blocks
from sapo.corpus.tables import table_blocks
from sapo.errors import DataError, OptionError
from sapo.jit.arrays import Bools
from sapo.tags.labels import MISSING
from sapo.text.learning import Evidence

Pairs = Iterable[tuple[Sequence[Any], Sequence[str]]]
Source = str | Path | Iterable[Sentence] | Pairs


@dataclass(frozen=True, slots=True)
class Labeled:
    """Sentences with tags: at least one sentence, and none without tokens."""

    name: str  # for messages
    first: Block
    blocks: Iterator[Block]  # all of them, the first one too


def read_labeled(data: Source, what: str, *, counted: Bools | None = None, **reading: Any) -> Labeled:
    """Read and check labeled data. `what` it is, for messages: 'training data'; `reading` as of `read`.

    `counted` says for each sentence whether it counts; the others are left out, as if they were not there.

    >>> read_labeled([(["a", "dog"], ["DT", "NN"])], "training data").first.columns
    ('word', 'label')
    """
    blocks, name = _blocks(data, what, **reading)
    first, blocks = first_and_all(blocks if counted is None else _counted(blocks, counted), name)
    return Labeled(name, first, blocks)


def read_pairs(listed: Sequence[Any], what: str, counted: Bools | None = None) -> tuple[list[Any], list[Sequence[str]]]:
    """Return the tokens and the tags of pairs; raise SapoError unless each pair has as many tokens as tags.

    Sentences of (word, tag) tuples become such pairs. A tag that is None is missing. `what` the data is, for messages.
    Pairs that are not `counted` are left out.

    >>> read_pairs([(["a", "dog"], ["DT", "NN"])], "training data")
    ([['a', 'dog']], [['DT', 'NN']])
    """
    pairs = []
    for number, pair in enumerate(_as_pairs(listed), 1):
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
            raise DataError(f"{what}: sentence {number} must be a pair of tokens and tags, found {pair!r:.60}")
        tokens = plain_sentence(pair[0], f"{what}: sentence {number}")
        tags = plain_sentence(pair[1], f"{what}: sentence {number}: tags")
        if len(tokens) != len(tags):
            raise DataError(f"{what}: sentence {number} has {len(tokens)} tokens but {len(tags)} tags")
        if not len(tokens):
            raise DataError(f"{what}: sentence {number} has no tokens; leave it out")
        for tag in tags:
            if tag is not None and not isinstance(tag, str):
                raise DataError(f"{what}: sentence {number} has the tag {tag!r}; tags are strings, or None if missing")
        check_labels([tag for tag in tags if tag is not None], f"{what}: sentence {number}")
        pairs.append((tokens, tags))
    if counted is not None:
        _check_count(len(counted), len(pairs))
        pairs = [pair for pair, wanted in zip(pairs, counted.tolist(), strict=True) if wanted]
    return [tokens for tokens, _ in pairs], [[MISSING if tag is None else tag for tag in tags] for _, tags in pairs]


def _as_pairs(listed: Sequence[Any]) -> Sequence[Any]:
    """Return sentences of (word, tag) tuples, as NLTK has them, as pairs of tokens and tags; others as they are.

    With more columns the tag is the last. A sentence with more or fewer than two tokens cannot be a pair, and decides.

    >>> _as_pairs([[("no", "DT"), ("rain", "NN"), (".", ".")]])
    [(['no', 'rain', '.'], ['DT', 'NN', '.'])]
    """
    if not all(isinstance(one, list | tuple) for one in listed) or all(len(one) == 2 for one in listed):
        return listed
    widths = {len(token) if isinstance(token, tuple) else 0 for one in listed for token in one}
    if len(widths) != 1 or min(widths) < 2:
        return listed
    single = widths == {2}
    return [([token[0] if single else token[:-1] for token in one], [token[-1] for token in one]) for one in listed]


def _blocks(data: Source, what: str, **reading: Any) -> tuple[Iterator[Block], str]:
    if isinstance(data, (str, Path)):
        if reading.get("label") is not None and format_of(data, reading.get("format")) == "conllu":
            check_predictable(reading["label"], show_path(data))
        return _without_empty(read_blocks(data, **reading)), str(data)
    if not isinstance(data, list | tuple) and is_table(data):
        blocks = table_blocks(data, name=what, label=reading.get("label"), columns=reading.get("columns"))
        return _without_empty(blocks), what
    listed: list[Any] = list(data)
    if not listed:
        raise DataError(f"{what}: has no sentences")
    if isinstance(listed[0], Sentence):
        for number, sentence in enumerate(listed, 1):
            if not isinstance(sentence, Sentence):
                raise DataError(f"{what}: sentence {number} is not a Sentence as those before it: {sentence!r:.40}")
        block = block_from_sentences(listed, what)
    else:
        tokens, tags = read_pairs(listed, what)
        token = tokens[0][0]
        if not (isinstance(token, str) or (isinstance(token, tuple) and token)):
            raise DataError(
                f"{what}: sentence 1, token 1: expected a string or a tuple of strings, found {token!r:.40}"
            )
        width = 1 if isinstance(token, str) else len(token)
        names = reading.get("columns") or [*("word", "pos", "chunk")[:width], *(f"c{i}" for i in range(3, width))]
        block = sentence_block(tokens, names, tags)
    if LABEL not in block.columns:
        raise DataError(f"{what}: has no tags")
    return _without_empty(iter([block])), what


def _without_empty(blocks: Iterator[Block]) -> Iterator[Block]:
    for block in blocks:
        for sentence in np.flatnonzero(np.diff(block.offsets) == 0).tolist():
            raise DataError(f"{block.place_of_sentence(sentence)} has no tokens; leave it out")
        yield block


def _counted(blocks: Iterator[Block], counted: Bools) -> Iterator[Block]:
    read = 0
    for block in blocks:
        sentences = len(block.offsets) - 1
        wanted = counted[read : read + sentences]
        read += sentences
        if len(wanted) == sentences:  # else too few are given; go on, to tell how many are needed
            yield block if wanted.all() else block.only(wanted)
    _check_count(len(counted), read)


def _check_count(weights: int, sentences: int) -> None:
    if weights != sentences:
        raise OptionError(f"sample_weight has {weights} weights for {sentences} sentences; give one for each")


def with_evidence(blocks: Iterable[Block], evidence: Evidence) -> Iterator[Block]:
    """Yield the blocks, and count on the way how text is cut into such tokens."""
    for block in blocks:
        for words, text in () if evidence.enough else block.running_texts():
            evidence.add(words, text)
        for cut in () if evidence.enough or block.origin is None else block.origin.cuts() or ():
            evidence.borders += borders_of(cut)
        yield block


def borders_of(cut: Cut | None) -> list[tuple[str, int, str]]:
    """Return where the spans of a document split text that usual rules leave whole: see `Evidence.borders`."""
    return [] if cut is None else [(split.chunk, split.border, split.message) for split in cut.splits]


def first_and_all(blocks: Iterator[Block], name: str) -> tuple[Block, Iterator[Block]]:
    """Return the first block that holds a sentence, and all blocks from it on; raise SapoError if there is none."""
    for block in blocks:
        if len(block.offsets) > 1:
            return block, itertools.chain([block], blocks)
    raise DataError(f"{name}: has no sentences")
