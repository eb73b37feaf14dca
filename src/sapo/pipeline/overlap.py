"""Find the training sentences that overlap with the sentences to tag, and must be left out.

Two sentences overlap if

- they have the same text when spaces are ignored: the same sentence, perhaps with different tokens;
- or they share 8 tokens in a row;
- or they share 40 characters in a row, ignoring spaces, from the beginning of a token in each;
- or one of them has 2 to 7 tokens and is contained in the other: for example a short title, which has a header before
  it elsewhere.
"""

from collections.abc import Iterator, Sequence

RUN = 8  # this many equal tokens in a row are hardly a coincidence
CHARACTERS = 40  # about as long, however the text is divided into tokens
SHORTEST = 2  # a single token occurs in too many sentences to mean anything

Words = Sequence[str]


def overlap(one: Words, other: Words) -> bool:
    """Return whether a model that was trained on one of these sentences should not tag the other.

    >>> overlap(["IL-2", "gene", "-induced"], ["IL-2", "gene-induced"])
    True
    >>> overlap(["Globin", "genes", "."], ["TI", "-", "Globin", "genes", "."])
    True
    >>> overlap(["Globin", "genes", "."], ["Globin", "genes", "switch", "."])
    False
    """
    short = [tuple(words) for words in (one, other) if SHORTEST <= len(words) < RUN]
    return not _keys(one).isdisjoint(_keys(other)) or any(
        whole in _runs(words, len(whole)) for whole in short for words in (one, other) if len(words) > len(whole)
    )


def left_out(training: Sequence[Words], blocks: Sequence[Sequence[Words]]) -> list[tuple[int, ...]]:
    """Return for each block of sentences the indices of the training sentences that overlap with any of them.

    >>> left_out([["a", "b"], ["c", "d"], ["e"]], [[["ab"]], [["e"], ["x"]]])
    [(0,), (2,)]
    """
    # the blocks of a key are the bits of an integer, so that many blocks are joined in one step
    seen: dict[object, int] = {}  # the keys of the sentences to tag
    whole: dict[tuple[str, ...], int] = {}  # short sentences to tag
    inside: dict[tuple[str, ...], int] = {}  # short training sentences that a sentence to tag contains
    short = {tuple(words) for words in training if SHORTEST <= len(words) < RUN}
    lengths = sorted({len(words) for words in short})
    for number, block in enumerate(blocks):
        bit = 1 << number
        for words in block:
            for key in _keys(words):
                seen[key] = seen.get(key, 0) | bit
            if SHORTEST <= len(words) < RUN:
                whole[tuple(words)] = whole.get(tuple(words), 0) | bit
            for length in lengths:
                for run in _runs(words, length):
                    if run in short:
                        inside[run] = inside.get(run, 0) | bit
    lengths = sorted({len(words) for words in whole})
    found: list[list[int]] = [[] for _ in blocks]
    for number, words in enumerate(training):
        bits = inside.get(tuple(words), 0)
        for key in _keys(words):
            bits |= seen.get(key, 0)
        for length in lengths:
            for run in _runs(words, length):
                bits |= whole.get(run, 0)
        for block_number in _ones(bits):
            found[block_number].append(number)
    return [tuple(numbers) for numbers in found]


def _keys(words: Words) -> set[object]:
    """Return keys of a sentence; two sentences with a common key overlap."""
    text = "".join(words)
    keys: set[object] = {text, *_runs(words, RUN)}
    at = 0
    for word in words:
        if at + CHARACTERS > len(text):
            break
        keys.add(text[at : at + CHARACTERS])
        at += len(word)
    return keys


def _runs(words: Words, length: int) -> Iterator[tuple[str, ...]]:
    return (tuple(words[at : at + length]) for at in range(len(words) - length + 1))


def _ones(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
