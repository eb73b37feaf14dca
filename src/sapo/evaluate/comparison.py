"""Compare systems on the same gold tags: scores, significance tests, and how they are shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapo.errors import DataError
from sapo.evaluate.scores import Scores, score, text_table
from sapo.evaluate.significance import Randomization, holm, randomization_test, span_counts, token_counts

Taggings = Sequence[Sequence[str]]
LEVEL = 0.05  # of significance


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems on the same sentences. The main score is F1 if the labels mark spans, else token accuracy."""

    a: Scores
    b: Scores
    differing: int  # sentences in which at least one tag is not the same
    a_wins: int  # of these, sentences in which A has more right tags
    b_wins: int
    randomization: Randomization  # of the main score

    @property
    def score_name(self) -> str:
        """The main score: F1 or accuracy."""
        return self.a.main[0]

    @property
    def difference(self) -> float:
        """The main score of A minus that of B."""
        return self.randomization.difference

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
    >>> result.randomization.p
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
        raise DataError(f"compare: needs at least 2 sentences, found {len(offsets) - 1}; an empty line ends a sentence")
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
        randomization=randomization_test(a_main, b_main, rounds=rounds, seed=seed, watch=watch),
    )


def _check_lengths(gold: Taggings, a: Taggings, b: Taggings) -> None:
    for name, tags in (("a", a), ("b", b)):
        if len(tags) != len(gold):
            raise DataError(f"compare: gold has {len(gold)} sentences, {name} has {len(tags)}; both must tag the same")
        for number, (expected, found) in enumerate(zip(gold, tags, strict=True), 1):
            if len(expected) != len(found):
                raise DataError(
                    f"compare: sentence {number} has {len(expected)} gold tags, but {len(found)} in {name}; "
                    "every token needs one tag"
                )


def comparison_text(names: Sequence[str], comparisons: Sequence[Comparison]) -> str:
    """Return the scores of all systems, the tests of the first against each other one, and what they mean.

    `names` has the names of all systems, in order.

    >>> from sapo.evaluate import compare_taggings
    >>> print(comparison_text(["new", "old"], [compare_taggings([["X"], ["Y"]], [["X"], ["Y"]], [["X"], ["X"]])]))
    2 sentences, 2 tokens
         accuracy
    new    100.00
    old     50.00
    <BLANKLINE>
    new against  difference  differ in  wins  loses       p
    old              +50.00          1     1      0  1.0000
    <BLANKLINE>
    new: no significant difference in accuracy from old
    """
    first = comparisons[0].a
    header = ["", *([] if first.overall is None else ["precision", "recall", "F1"]), "accuracy"]
    scores = [[name, *_percents(one)] for name, one in zip(names, _all_scores(comparisons), strict=True)]
    return "\n".join(
        [
            f"{first.sentences} sentences, {first.tokens} tokens",
            *text_table([header, *scores]),
            "",
            *_tests(names, comparisons),
            "",
            _conclusion(names, comparisons),
        ]
    )


def comparison_json(names: Sequence[str], comparisons: Sequence[Comparison]) -> dict[str, object]:
    """Return counts, fractions and p values under fixed keys, ready for json.dumps."""
    corrected = holm([one.randomization.p for one in comparisons])
    return {
        "systems": [
            {"name": name, **scores.as_dict()} for name, scores in zip(names, _all_scores(comparisons), strict=True)
        ],
        "comparisons": [
            {
                "a": names[0],
                "b": name,
                "score": one.score_name,
                "difference": one.difference,
                "sentences": {
                    "differing": one.differing,
                    "a_wins": one.a_wins,
                    "b_wins": one.b_wins,
                    "even": one.even,
                },
                "randomization": {
                    "p": one.randomization.p,
                    "holm": corrected_p,
                    "rounds": one.randomization.rounds,
                    "exact": one.randomization.exact,
                },
            }
            for name, one, corrected_p in zip(names[1:], comparisons, corrected, strict=True)
        ],
    }


def _tests(names: Sequence[str], comparisons: Sequence[Comparison]) -> list[str]:
    columns = [
        [f"{names[0]} against", *names[1:]],
        ["difference", *(f"{100 * one.difference:+.2f}" for one in comparisons)],
        ["differ in", *(str(one.differing) for one in comparisons)],
        ["wins", *(str(one.a_wins) for one in comparisons)],
        ["loses", *(str(one.b_wins) for one in comparisons)],
    ]
    found = [one.randomization.p for one in comparisons]
    columns.append(["p", *map(_p, found)])
    if len(comparisons) > 1:
        columns.append(["Holm", *map(_p, holm(found))])
    return text_table(list(zip(*columns, strict=True)))


def _conclusion(names: Sequence[str], comparisons: Sequence[Comparison]) -> str:
    """Return which systems the first one differs from in the main score, after Holm's correction."""
    score = comparisons[0].score_name
    outcomes: dict[str, list[str]] = {}
    for name, one, p in zip(names[1:], comparisons, holm([one.randomization.p for one in comparisons]), strict=True):
        order = "higher" if one.difference > 0 else "lower"
        outcome = f"significantly {order} {score} than" if p < LEVEL else f"no significant difference in {score} from"
        outcomes.setdefault(outcome, []).append(name)
    return f"{names[0]}: " + "; ".join(f"{outcome} {', '.join(others)}" for outcome, others in outcomes.items())


def _all_scores(comparisons: Sequence[Comparison]) -> list[Scores]:
    return [comparisons[0].a, *(one.b for one in comparisons)]


def _percents(scores: Scores) -> list[str]:
    spans = scores.overall
    of_spans = [] if spans is None else [spans.precision, spans.recall, spans.f1]
    return [f"{100 * value:.2f}" for value in (*of_spans, scores.accuracy)]


def _p(p: float) -> str:
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"
