"""Comparisons of one system with others in, text for people or a dictionary for programs out."""

import math
from collections.abc import Sequence

from sapo.evaluate.comparison import Comparison
from sapo.evaluate.scores import Scores
from sapo.evaluate.significance import holm
from sapo.evaluate.table import as_json
from sapo.evaluate.verdict import conclusion


def comparison_text(names: Sequence[str], comparisons: Sequence[Comparison]) -> str:
    """Return a report of the first system beside each of the others; `names` has the names of all, in order.

    >>> from sapo.evaluate import compare_taggings
    >>> print(comparison_text(["new", "old"], [compare_taggings([["X"], ["Y"]], [["X"], ["Y"]], [["X"], ["X"]])]))
    2 sentences, 2 tokens; the tags differ in 1 sentence
                accuracy
    new           100.00
    old            50.00
    difference    +50.00
    new has more right tags in 1 sentence, old in 0, as many in 0
    randomisation test on accuracy: p = 1.0000 (exact)
    paired t-test on the accuracy of each sentence: p = 0.5000 (t = 1.000, degrees of freedom: 1)
    At 0.05 neither test finds a significant difference: it may well be chance.
    """
    first = comparisons[0]
    size = f"{first.a.sentences} sentences, {first.a.tokens} tokens"
    scores = [[name, *_percents(one)] for name, one in zip(names, _all_scores(comparisons), strict=True)]
    header = ["", *([] if first.a.overall is None else ["precision", "recall", "F1"]), "accuracy"]
    if len(comparisons) > 1:
        return "\n".join(
            [
                size,
                *_aligned([header, *scores]),
                "",
                *_rows(names, comparisons),
                conclusion(names, comparisons),
            ]
        )
    change = [f"{a - b:+.2f}" for a, b in zip(_values(first.a), _values(first.b), strict=True)]
    drawn, paired = first.randomisation, first.t_test
    wins = f"{_sentences(first.a_wins)}, {names[1]} in {first.b_wins}"
    how = "exact" if drawn.exact else f"{drawn.rounds} rounds"
    value = f"t = {paired.t:.3f}, degrees of freedom: {paired.degrees}"
    return "\n".join(
        [
            f"{size}; the tags differ in {_sentences(first.differing)}",
            *_aligned([header, *scores, ["difference", *change]]),
            f"{names[0]} has more right tags in {wins}, as many in {first.even}",
            f"randomisation test on {first.score_name}: p {_equals(drawn.p)} ({how})",
            f"paired t-test on the accuracy of each sentence: p {_equals(paired.p)} ({value})",
            conclusion(names, comparisons),
        ]
    )


def comparison_json(names: Sequence[str], comparisons: Sequence[Comparison]) -> dict[str, object]:
    """Return counts, fractions and p values under fixed keys, ready for json.dumps. An infinite t is None."""
    drawn, paired = _corrected(comparisons)
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
                    "holm": holm_drawn,
                    "rounds": one.randomisation.rounds,
                    "exact": one.randomisation.exact,
                },
                "t_test": {
                    "t": one.t_test.t if math.isfinite(one.t_test.t) else None,
                    "degrees": one.t_test.degrees,
                    "p": one.t_test.p,
                    "holm": holm_paired,
                },
            }
            for name, one, holm_drawn, holm_paired in zip(names[1:], comparisons, drawn, paired, strict=True)
        ],
        "verdict": conclusion(names, comparisons),
    }


def _rows(names: Sequence[str], comparisons: Sequence[Comparison]) -> list[str]:
    header = [f"{names[0]} against", "difference", "differ in", "wins", "loses", "p random", "Holm", "p t-test", "Holm"]
    drawn, paired = _corrected(comparisons)
    return _aligned(
        [
            header,
            *(
                [
                    name,
                    f"{100 * one.difference:+.2f}",
                    *map(str, (one.differing, one.a_wins, one.b_wins)),
                    *map(_p, (one.randomisation.p, holm_drawn, one.t_test.p, holm_paired)),
                ]
                for name, one, holm_drawn, holm_paired in zip(names[1:], comparisons, drawn, paired, strict=True)
            ),
        ]
    )


def _corrected(comparisons: Sequence[Comparison]) -> tuple[list[float], list[float]]:
    return holm([one.randomisation.p for one in comparisons]), holm([one.t_test.p for one in comparisons])


def _all_scores(comparisons: Sequence[Comparison]) -> list[Scores]:
    return [comparisons[0].a, *(one.b for one in comparisons)]


def _values(scores: Scores) -> list[float]:
    spans = scores.overall
    of_spans = [] if spans is None else [spans.precision, spans.recall, spans.f1]
    return [100 * value for value in (*of_spans, scores.token_accuracy)]


def _percents(scores: Scores) -> list[str]:
    return [f"{value:.2f}" for value in _values(scores)]


def _equals(p: float) -> str:
    return _p(p).replace("<", "< ") if p < 0.0001 else f"= {_p(p)}"


def _p(p: float) -> str:
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def _sentences(count: int) -> str:
    return f"{count} sentence{'s' * (count != 1)}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align the first column to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
