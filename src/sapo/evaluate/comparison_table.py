"""Render comparisons of one system with others: a text for people, or a dictionary for programs."""

from collections.abc import Sequence

from sapo.evaluate.comparison import Comparison
from sapo.evaluate.scores import Scores
from sapo.evaluate.significance import holm
from sapo.evaluate.table import as_json

LEVEL = 0.05  # of significance


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
            *_aligned([header, *scores]),
            "",
            *_tests(names, comparisons),
            "",
            _conclusion(names, comparisons),
        ]
    )


def comparison_json(names: Sequence[str], comparisons: Sequence[Comparison]) -> dict[str, object]:
    """Return counts, fractions and p values under fixed keys, ready for json.dumps."""
    corrected = holm([one.randomisation.p for one in comparisons])
    return {
        "systems": [
            {"name": name, **as_json(scores)} for name, scores in zip(names, _all_scores(comparisons), strict=True)
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
                "randomisation": {
                    "p": one.randomisation.p,
                    "holm": corrected_p,
                    "rounds": one.randomisation.rounds,
                    "exact": one.randomisation.exact,
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
    found = [one.randomisation.p for one in comparisons]
    columns.append(["p", *map(_p, found)])
    if len(comparisons) > 1:
        columns.append(["Holm", *map(_p, holm(found))])
    return _aligned(list(zip(*columns, strict=True)))


def _conclusion(names: Sequence[str], comparisons: Sequence[Comparison]) -> str:
    """Say which systems the first one differs from in the main score, after Holm's correction."""
    score = comparisons[0].score_name
    outcomes: dict[str, list[str]] = {}
    for name, one, p in zip(names[1:], comparisons, holm([one.randomisation.p for one in comparisons]), strict=True):
        order = "higher" if one.difference > 0 else "lower"
        outcome = f"significantly {order} {score} than" if p < LEVEL else f"no significant difference in {score} from"
        outcomes.setdefault(outcome, []).append(name)
    return f"{names[0]}: " + "; ".join(f"{outcome} {', '.join(others)}" for outcome, others in outcomes.items())


def _all_scores(comparisons: Sequence[Comparison]) -> list[Scores]:
    return [comparisons[0].a, *(one.b for one in comparisons)]


def _percents(scores: Scores) -> list[str]:
    spans = scores.overall
    of_spans = [] if spans is None else [spans.precision, spans.recall, spans.f1]
    return [f"{100 * value:.2f}" for value in (*of_spans, scores.token_accuracy)]


def _p(p: float) -> str:
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align the first column to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
