"""What several people said about the same sentences in, how far they agree out."""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence


def kappa(pairs: Iterable[tuple[str, str]]) -> float | None:
    """Return Cohen's kappa: how much more often two people agree than by chance. None if chance explains all.

    >>> kappa([("O", "O"), ("O", "O"), ("PER", "PER"), ("PER", "O")])
    0.5
    """
    both = Counter(pairs)
    total = both.total()
    if not total:
        return None
    first, second = Counter[str](), Counter[str]()
    for (one, other), count in both.items():
        first[one] += count
        second[other] += count
    agreed = sum(count for (one, other), count in both.items() if one == other) / total
    chance = sum(first[label] * second[label] for label in first) / total**2
    return None if chance == 1.0 else (agreed - chance) / (1.0 - chance)


def token_pairs(sentences: Iterable[Mapping[str, Sequence[str]]]) -> Iterable[tuple[str, str]]:
    """Yield the tags that each two people, in the order of their names, gave each token.

    >>> list(token_pairs([{"ben": ["O"], "anna": ["PER"]}]))
    [('PER', 'O')]
    """
    for said in sentences:
        for one, other in itertools.combinations(sorted(said), 2):
            yield from zip(said[one], said[other], strict=True)
