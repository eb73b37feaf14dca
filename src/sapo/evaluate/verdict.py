"""Comparisons in, one plain sentence of what they mean out."""

from collections.abc import Sequence

from sapo.evaluate.comparison import Comparison
from sapo.evaluate.significance import holm

LEVEL = 0.05


def conclusion(names: Sequence[str], comparisons: Sequence[Comparison]) -> str:
    """Say what the tests mean for the first system beside the others; `names` has the names of all systems."""
    return _of_one(names[0], names[1], comparisons[0]) if len(comparisons) == 1 else _of_several(names, comparisons)


def _of_one(a: str, b: str, comparison: Comparison) -> str:
    if not comparison.differing:
        return f"{a} and {b} give the same tags."
    score, drawn, paired = comparison.score_name, comparison.randomisation, comparison.t_test
    by_score = (a if comparison.difference > 0 else b) if drawn.p < LEVEL else None
    by_sentence = (a if paired.t > 0 else b) if paired.p < LEVEL else None
    if by_score is None and by_sentence is None:
        return f"At {LEVEL} neither test finds a significant difference: it may well be chance."
    if by_score == by_sentence:
        return f"At {LEVEL} {by_score} is better, by both tests: chance alone would hardly make such a difference."
    if by_sentence is None:
        return (
            f"At {LEVEL} {by_score} is better in {score}, "
            "but the accuracy of sentences shows no significant difference."
        )
    if by_score is None:
        return (
            f"At {LEVEL} {by_sentence} is better in the accuracy of sentences, "
            f"but {score} shows no significant difference."
        )
    return f"At {LEVEL} {by_score} is better in {score}, but {by_sentence} in the accuracy of sentences."


def _of_several(names: Sequence[str], comparisons: Sequence[Comparison]) -> str:
    """Say which of the others the first system is better than, by the corrected test on the main score."""
    better: list[str] = []
    worse: list[str] = []
    unclear: list[str] = []
    corrected = holm([one.randomisation.p for one in comparisons])
    for name, one, p in zip(names[1:], comparisons, corrected, strict=True):
        (unclear if p >= LEVEL else better if one.difference > 0 else worse).append(name)
    found = [
        f"{what} {', '.join(which)}"
        for what, which in (
            ("is significantly better than", better),
            ("is significantly worse than", worse),
            ("shows no significant difference from", unclear),
        )
        if which
    ]
    return (
        f"{comparisons[0].score_name}: {names[0]} {'; it '.join(found)} "
        f"(p < {LEVEL}, randomisation, Holm's correction for {len(comparisons)} comparisons)."
    )
