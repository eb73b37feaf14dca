"""Force known tags on some tokens, or one of several, by forbidding all other tags of these tokens."""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from numbers import Integral

import numpy as np

from sapo.corpus.blocks import Block
from sapo.errors import DataError, OptionError, did_you_mean
from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Bools, Longs
from sapo.tagger.model import Model
from sapo.tags.constraints import impossible_sentence

OPEN = "_"  # in a column of forced tags: the tag of this token is not known
EITHER = "|"  # in such a column: between tags of which a token has one
Forced = Mapping[int, str | Collection[str]]  # the tag, or the possible ones, by the index of the token in its sentence


def force_block(corpus: EncodedCorpus, block: Block, column: str, model: Model) -> EncodedCorpus:
    """Return the encoded block with the tags of a column forced on its tokens."""
    return with_forced(corpus, forced_column(block, column, model.outer_labels), model, block.place_of)


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
        raise OptionError(
            "forced tags: give a list with a mapping (or None) for each sentence, such as [{0: 'B-NP'}, None], "
            f"not {forced!r}"
        )
    return list(forced)


def forced_column(block: Block, column: str, labels: Collection[str]) -> list[tuple[str, ...] | None]:
    """Return the possible tags of each token from a column, with None for '_'. The column is given by name or number.

    A value such as A|B means A or B, unless it is a label itself.
    """
    if column in block.columns:
        name = column
    else:
        from sapo.corpus.columns import column_index

        name = block.columns[column_index(column, None, len(block.columns), block.name)]
    return [
        None if tag == OPEN else (tag,) if tag in labels else tuple(tag.split(EITHER)) for tag in block.strings(name)
    ]


def forced_lists(forced: Sequence[Forced | None], offsets: Longs, first: int) -> list[tuple[str, ...] | None]:
    """Return the possible tags of each token, or None for any, from one mapping per sentence.

    `first` is the index of the first sentence, for messages. Raises SapoError if a token does not exist, or has no
    possible tag.
    """
    tags: list[tuple[str, ...] | None] = [None] * int(offsets[-1])
    for sentence, known in enumerate(forced):
        if known is not None and not isinstance(known, Mapping):
            raise OptionError(
                f"forced tags: those of sentence {first + sentence + 1} must be a mapping of token indices to tags, "
                f"such as {{0: 'B-NP'}}, not {known!r}"
            )
        begin, end = offsets[sentence : sentence + 2].tolist()
        for position, tag in (known or {}).items():
            if not isinstance(position, Integral) or not 0 <= position < end - begin:
                raise OptionError(
                    f"forced tags: sentence {first + sentence + 1} has no token index {position!r}; "
                    f"it has {end - begin} tokens, from 0 on"
                )
            if not isinstance(tag, str) and (not isinstance(tag, Collection) or not tag):
                raise OptionError(
                    f"forced tags: sentence {first + sentence + 1}, token index {position}: give a tag or a list of "
                    f"possible tags, not {tag!r}"
                )
            tags[begin + int(position)] = (tag,) if isinstance(tag, str) else tuple(tag)
    return tags


def token_number(corpus: EncodedCorpus, first: int, token: int) -> str:
    """Return the position of a token, for messages."""
    sentence = int(np.searchsorted(corpus.offsets, token, side="right")) - 1
    return f"sentence {first + sentence + 1}, token index {token - int(corpus.offsets[sentence])}"


def with_forced(
    corpus: EncodedCorpus, tags: Sequence[tuple[str, ...] | None], model: Model, place: Callable[[int], str]
) -> EncodedCorpus:
    """Return the corpus with these tags forced on its tokens: one of several, or any where there is None.

    `place` returns the position of a token for messages. Raises SapoError if the model does not have a tag, or its
    constraints forbid every tagging with these tags.
    """
    chosen = np.array([possible is not None for possible in tags], bool)
    if not chosen.any():
        return corpus
    names = model.outer_labels
    shown = np.array(model.shown or model.labels)
    rows: dict[tuple[str, ...], Bools] = {}  # which labels are shown by one of these names
    allowed = np.ones((len(tags), len(shown)), bool)
    for token, possible in enumerate(tags):
        if possible is None:
            continue
        if possible not in rows:
            for tag in possible:
                if tag not in names:
                    known = did_you_mean(str(tag), names)
                    raise DataError(f"{place(token)}: the model has no label '{tag}' to force{known}")
            rows[possible] = np.isin(shown, possible)
        allowed[token] = rows[possible]
    impossible = impossible_sentence(model.parameters.bans, allowed, chosen, corpus.offsets)
    if impossible is not None:
        raise DataError(
            f"{place(int(corpus.offsets[impossible]))}: no tagging of this sentence has the forced tags and keeps to "
            "the constraints of the model; change the tags, or train with `constraints=False`"
        )
    return dataclasses.replace(corpus, token_bans=np.where(allowed, 0, -np.inf).astype(np.float32))
