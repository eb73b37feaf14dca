"""Force known tags on some tokens, by forbidding all other tags of these tokens."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from numbers import Integral

import numpy as np

from sapo.corpus import Block
from sapo.corpus.columns import column_index
from sapo.encode.encoded import EncodedCorpus
from sapo.errors import SapoError, did_you_mean
from sapo.kernels.types import Longs
from sapo.model import Model
from sapo.tags import impossible_sentence

OPEN = "_"  # in a column of forced tags: the tag of this token is not known
Forced = Mapping[int, str]  # tags by the index of the token in its sentence


def force_block(corpus: EncodedCorpus, block: Block, column: str, model: Model) -> EncodedCorpus:
    """Return the encoded block with the tags of a column forced on its tokens."""
    return with_forced(corpus, forced_column(block, column), model, block.place_of)


def force_sentences(
    corpus: EncodedCorpus, forced: Sequence[Forced | None], model: Model, *, first: int = 0
) -> EncodedCorpus:
    """Return encoded sentences with forced tags, given as a mapping for each sentence.

    `first` is the index of the first sentence, for messages.
    """
    tags = forced_lists(forced, corpus.offsets, first)
    return with_forced(corpus, tags, model, partial(token_number, corpus, first))


def forced_of_each(forced: Iterable[Forced | None]) -> list[Forced | None]:
    """Return the mappings of several sentences as a list. Raise SapoError if it is a single mapping."""
    if isinstance(forced, Mapping | str) or not isinstance(forced, Iterable):
        raise SapoError(
            "forced tags: give a list with a mapping (or None) for each sentence, such as [{0: 'B-NP'}, None], "
            f"not {forced!r}"
        )
    return list(forced)


def forced_column(block: Block, column: str) -> list[str | None]:
    """Return the tags of a column, with None for '_'. The column is given by name or number."""
    if column in block.columns:
        name = column
    else:
        name = block.columns[column_index(column, None, len(block.columns), block.name)]
    return [None if tag == OPEN else tag for tag in block.strings(name)]


def forced_lists(forced: Sequence[Forced | None], offsets: Longs, first: int) -> list[str | None]:
    """Return the forced tag of each token, or None, from one mapping per sentence.

    `first` is the index of the first sentence, for messages. Raises SapoError if a token does not exist.
    """
    tags: list[str | None] = [None] * int(offsets[-1])
    for sentence, known in enumerate(forced):
        if known is not None and not isinstance(known, Mapping):
            raise SapoError(
                f"forced tags: those of sentence {first + sentence + 1} must be a mapping of token indices to tags, "
                f"such as {{0: 'B-NP'}}, not {known!r}"
            )
        begin, end = offsets[sentence : sentence + 2].tolist()
        for position, tag in (known or {}).items():
            if not isinstance(position, Integral) or not 0 <= position < end - begin:
                raise SapoError(
                    f"forced tags: sentence {first + sentence + 1} has no token index {position!r}; "
                    f"it has {end - begin} tokens, from 0 on"
                )
            tags[begin + int(position)] = tag
    return tags


def token_number(corpus: EncodedCorpus, first: int, token: int) -> str:
    """Return the position of a token, for messages."""
    sentence = int(np.searchsorted(corpus.offsets, token, side="right")) - 1
    return f"sentence {first + sentence + 1}, token index {token - int(corpus.offsets[sentence])}"


def with_forced(
    corpus: EncodedCorpus, tags: Sequence[str | None], model: Model, place: Callable[[int], str]
) -> EncodedCorpus:
    """Return the corpus with these tags forced on its tokens; None leaves a token free.

    `place` returns the position of a token for messages. Raises SapoError if the model does not have a tag, or its
    constraints forbid every tagging with these tags.
    """
    if all(tag is None for tag in tags):
        return corpus
    names, shown = model.outer_labels, model.shown or model.labels
    wanted = np.full(len(tags), -1, np.int32)
    for token, tag in enumerate(tags):
        if tag is not None and tag not in names:
            raise SapoError(f"{place(token)}: the model has no label '{tag}' to force{did_you_mean(str(tag), names)}")
        if tag is not None:
            wanted[token] = names.index(tag)
    # fits[name + 1, label]: whether the label is shown by this name; the first row is for tokens without a forced tag
    fits = np.array([[True] * len(shown), *([name == other for other in shown] for name in names)])
    allowed = fits[wanted + 1]
    impossible = impossible_sentence(model.parameters.bans, allowed, wanted >= 0, corpus.offsets)
    if impossible is not None:
        raise SapoError(
            f"{place(int(corpus.offsets[impossible]))}: no tagging of this sentence has the forced tags and keeps to "
            "the constraints of the model; change the tags, or train with --no-constraints"
        )
    return dataclasses.replace(corpus, token_bans=np.where(allowed, 0, -np.inf).astype(np.float32))
