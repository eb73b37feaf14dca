"""Compare the tags of two systems: their scores, and whether the difference may be chance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapo.errors import SapoError
from sapo.evaluate.scores import Scores, score
from sapo.evaluate.sentences import span_counts, token_counts
from sapo.evaluate.significance import Randomisation, randomisation_test

Taggings = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems on the same sentences. The main score is F1 if the labels mark spans, else token accuracy."""

    a: Scores
    b: Scores
    differing: int  # sentences in which at least one tag is not the same
    a_wins: int  # of these, sentences in which A has more right tags
    b_wins: int
    randomisation: Randomisation  # of the main score

    @property
    def score_name(self) -> str:
        """The main score: F1 or accuracy."""
        return self.a.main[0]

    @property
    def difference(self) -> float:
        """The main score of A minus that of B."""
        return self.randomisation.difference

    @property
    def even(self) -> int:
        """The number of sentences in which the tags differ, but equally many are right."""
        return self.differing - self.a_wins - self.b_wins


def compare_taggings(gold: Taggings, a: Taggings, b: Taggings, *, rounds: int = 10_000, seed: int = 0) -> Comparison:
    """Compare the tags of two systems, sentence by sentence.

    >>> gold = [["B-NP", "I-NP", "O"], ["O", "B-NP"], ["B-NP"]]
    >>> a = [["B-NP", "I-NP", "O"], ["O", "B-NP"], ["O"]]
    >>> b = [["B-NP", "B-NP", "O"], ["O", "O"], ["B-NP"]]
    >>> result = compare_taggings(gold, a, b)
    >>> result.score_name, round(result.difference, 4), result.a_wins, result.b_wins
    ('F1', 0.4667, 2, 1)
    >>> result.randomisation.p
    0.75
    """
    _check_lengths(gold, a, b)
    ids: dict[str, int] = {}

    def numbers(tags: Taggings) -> NDArray[np.int32]:
        return np.array([ids.setdefault(tag, len(ids)) for sentence in tags for tag in sentence], dtype=np.int32)

    gold_ids, a_ids, b_ids = numbers(gold), numbers(a), numbers(b)
    offsets = np.cumsum([0, *map(len, gold)], dtype=np.int64)
    return compare(list(ids), gold_ids, a_ids, b_ids, offsets, rounds=rounds, seed=seed)


def compare(
    labels: Sequence[str],
    gold: NDArray[np.int32],
    a: NDArray[np.int32],
    b: NDArray[np.int32],
    offsets: NDArray[np.int64],
    *,
    rounds: int = 10_000,
    seed: int = 0,
    watch: Callable[[int], None] | None = None,
) -> Comparison:
    """Compare two systems as `compare_taggings` does, for tags that are places in `labels`, as for `score`.

    `watch` is called now and then with the number of rounds done.
    """
    a_scores, b_scores = score(labels, gold, a, offsets), score(labels, gold, b, offsets)
    offsets = np.unique(offsets)  # an empty sentence has nothing to swap
    if len(offsets) < 3:
        raise SapoError(f"compare: needs at least 2 sentences, found {len(offsets) - 1}; an empty line ends a sentence")
    a_tokens, b_tokens = token_counts(gold, a, offsets), token_counts(gold, b, offsets)
    a_main, b_main = a_tokens, b_tokens
    if a_scores.overall is not None:
        a_main, b_main = span_counts(labels, gold, a, offsets), span_counts(labels, gold, b, offsets)
    return Comparison(
        a=a_scores,
        b=b_scores,
        differing=int(np.count_nonzero(token_counts(a, b, offsets).correct < a_tokens.gold)),
        a_wins=int(np.count_nonzero(a_tokens.correct > b_tokens.correct)),
        b_wins=int(np.count_nonzero(b_tokens.correct > a_tokens.correct)),
        randomisation=randomisation_test(a_main, b_main, rounds=rounds, seed=seed, watch=watch),
    )


def _check_lengths(gold: Taggings, a: Taggings, b: Taggings) -> None:
    for name, tags in (("a", a), ("b", b)):
        if len(tags) != len(gold):
            raise SapoError(f"compare: gold has {len(gold)} sentences, {name} has {len(tags)}; both must tag the same")
        for number, (expected, found) in enumerate(zip(gold, tags, strict=True), 1):
            if len(expected) != len(found):
                raise SapoError(
                    f"compare: sentence {number} has {len(expected)} gold tags, but {len(found)} in {name}; "
                    "every token needs one tag"
                )
