"""The paper's claims, each with the rule that decides it."""

from laboratory.report.claims_scores import as_good_as_crf, better_than_search_based, searches_agree, small_n_is_enough
from laboratory.report.claims_training import (
    AS_FAST,
    EXPLODES,
    FEWEST_PASSES,
    FLAT,
    SEVERAL_TIMES,
    converges,
    fast,
    weights_explode,
)
from laboratory.report.findings import MARGIN, Claim, Finding, Significances, Verdict
from laboratory.report.results import LAST_PASSES, TaskResults
from laboratory.report.significance import LEVEL

_NO_DIFFERENCE = f"{100 * MARGIN:.0f} % of the errors that are left"

CLAIMS = (
    Claim(
        "crf",
        "SAPO is at least as good as CRF",
        "SAPO has better scores than CRF, Bi-LSTM and Bi-LSTM-CRF in all three tasks.",
        "Agrees where SAPO's mean score of the last pass is not below that of CRF (and of Bi-LSTM and "
        "Bi-LSTM-CRF, where "
        "they were run), whether or not the difference is significant; disagrees elsewhere. With p of at "
        f"least {LEVEL} "
        "the text says that the difference may be chance.",
        as_good_as_crf,
    ),
    Claim(
        "search-based",
        "SAPO is better than the perceptrons and MIRAs",
        "The superiority over all of them is significant, with p < 0.01 (part of speech, chunking) or p < "
        "0.05 (Bio-NER).",
        f"Agrees where SAPO's mean score of the last pass is above that of each of them and p < {LEVEL} for "
        "each; in part "
        "where it is above each, but for some the difference may be chance or p is not known; disagrees "
        "where one is as "
        "good or better.",
        better_than_search_based,
    ),
    Claim(
        "convergence",
        "SAPO and CRF converge, the others do not",
        "SAPO and CRF are convergent as the training goes on; perceptrons, MIRAs and Bi-LSTMs diverge.",
        "A system settles where both the score of its best pass less its last and the spread of its last "
        f"{LAST_PASSES} scores are at most {_NO_DIFFERENCE} at its best pass (means over seeds). Agrees where SAPO and "
        "CRF settle and none of the others does; in part where some of the others settle; disagrees where SAPO or CRF "
        "does not settle, or all do. "
        f"Told from {FEWEST_PASSES} passes on.",
        converges,
    ),
    Claim(
        "weights",
        "The weights of perceptrons and MIRAs explode, SAPO's do not",
        "SAPO's w-complexity (mean |w|) converges and is small; that of perceptrons and MIRAs grows "
        "linearly or faster.",
        f"The growth from the middle pass to the last. Agrees where SAPO's is at most {100 * FLAT:.0f} % "
        "and that of each "
        f"of the others at least {100 * EXPLODES:.0f} % (linear growth would be 100 %); in part where that "
        "holds for some "
        "of the others; disagrees where it holds for none, or SAPO's is larger. "
        f"Told from {FEWEST_PASSES} passes on.",
        weights_explode,
    ),
    Claim(
        "speed",
        "SAPO is several times faster than CRF and about as fast as the perceptron",
        "SAPO is several times faster than CRF, and almost as fast as structured perceptrons and MIRA.",
        f"By seconds a pass. Agrees where CRF takes at least {SEVERAL_TIMES:.0f} times as long as SAPO, and "
        "SAPO at most "
        f"{AS_FAST:.0f} times as long as the naive perceptron; in part where one of the two holds; disagrees where "
        "neither does or CRF is as fast as SAPO.",
        fast,
    ),
    Claim(
        "n",
        "n = 5 or n = 10 is enough",
        "It is good enough to use n = 5 or n = 10.",
        f"Agrees where n = 20 is above the better of n = 5 and n = 10 by at most {_NO_DIFFERENCE} at n = 5, "
        "and n = 1 is "
        "below n = 5; in part where n = 1 is not below; disagrees elsewhere. Mean scores of the last pass.",
        small_n_is_enough,
    ),
    Claim(
        "search",
        "Beam search does as well as A*",
        "With exact A* search and with beam search (50 wide) there is almost no difference in the results.",
        "Agrees where the mean score of the last pass with A* and with beam search is each within "
        f"{_NO_DIFFERENCE} of that with our exact search; disagrees elsewhere.",
        searches_agree,
    ),
)


def findings(claim: Claim, tasks: list[TaskResults], significances: dict[str, Significances]) -> list[Finding]:
    """Decide a claim for each task."""
    return [claim.decide(task, significances.get(task.name, {})) for task in tasks]


def summary(found: list[Finding]) -> str:
    """Sum up all tasks in a few words.

    >>> summary([Finding("a", Verdict.AGREES, "", {}), Finding("b", Verdict.UNKNOWN, "", {})])
    'agrees on 1 task, not known on 1'
    """
    counts = {verdict: sum(one.verdict == verdict for one in found) for verdict in Verdict}
    parts = [f"{verdict} on {count}" for verdict, count in counts.items() if count]
    word = "task" if parts[0].endswith(" 1") else "tasks"
    return ", ".join([f"{parts[0]} {word}", *parts[1:]])
