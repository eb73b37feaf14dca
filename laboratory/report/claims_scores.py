"""The claims about scores: SAPO against CRF, against perceptrons and MIRAs, by n, by search."""

from laboratory.report.findings import (
    Finding,
    Significances,
    Verdict,
    is_significant,
    listed,
    margin,
    missing,
    say_mean,
    say_p,
    say_points,
    unknown,
    worst,
)
from laboratory.report.results import TaskResults
from laboratory.report.system_names import BY_N, CRF, N_BEST, NEURAL, ONE_BEST, ONE_BY_ONE, SAPO, SEARCHES


def as_good_as_crf(task: TaskResults, significances: Significances) -> Finding:
    """SAPO's mean score of the last pass is not below the CRF's (and the Bi-LSTMs', where they were run)."""
    if absent := missing(task, (SAPO, CRF)):
        return absent
    rivals = [CRF, *(system for system in (*NEURAL[:2], *ONE_BY_ONE[:2]) if system in task.groups)]
    numbers = {system: _ahead(task, system) for system in rivals}
    says = [
        f"{_against(task, system)}, {say_p(_p(task, system, significances))}"
        + _whether_chance(_p(task, system, significances))
        for system in rivals
    ]
    verdicts = [Verdict.AGREES if ahead >= 0 else Verdict.DISAGREES for ahead in numbers.values()]
    return Finding(task.name, worst(verdicts), f"SAPO {_last(task, SAPO)}; " + "; ".join(says) + ".", numbers)


def better_than_search_based(task: TaskResults, significances: Significances) -> Finding:
    """Above each of them at the last pass, and not by chance."""
    if absent := missing(task, (SAPO,)):
        return absent
    rivals = [system for system in (*ONE_BEST, *N_BEST) if system in task.groups]
    if not rivals:
        return unknown(task, "No finished run of a perceptron or a MIRA.")
    numbers, verdicts, says = {}, [], []
    for system in rivals:
        ahead, p = _ahead(task, system), _p(task, system, significances)
        numbers[system] = ahead
        if ahead <= 0:
            verdicts.append(Verdict.DISAGREES)
        else:
            verdicts.append(Verdict.AGREES if is_significant(p) else Verdict.IN_PART)
        says.append(f"{_against(task, system)}, {say_p(p)}")
    return Finding(task.name, worst(verdicts), f"SAPO {_last(task, SAPO)}; " + "; ".join(says) + ".", numbers)


def small_n_is_enough(task: TaskResults, significances: Significances) -> Finding:
    """n = 20 is not above the better of n = 5 and n = 10 by more than the margin, and n = 1 is below n = 5."""
    if absent := missing(task, (SAPO, BY_N[1], BY_N[10], BY_N[20])):
        return absent
    score = {n: task.groups[system].last().mean for n, system in BY_N.items() if system in task.groups}
    gain, limit = score[20] - max(score[5], score[10]), margin(task, SAPO)
    over_one = score[5] - score[1]
    verdict = Verdict.AGREES if over_one > 0 else Verdict.IN_PART
    if gain > limit:
        verdict = Verdict.DISAGREES
    text = (
        f"By n: {', '.join(f'n = {n} {score[n]:.2f}' for n in sorted(score))}. n = 10 less n = 5: "
        f"{say_points(score[10] - score[5])}; n = 20 less n = 5: {say_points(score[20] - score[5])}; n = 20 less the "
        f"better of 5 and 10: {say_points(gain)} (up to {limit:.2f} is not a difference); "
        f"n = 5 less n = 1: {say_points(over_one)}."
    )
    numbers = {"n20 - best of n5, n10": gain, "n5 - n1": over_one, "limit": limit}
    return Finding(task.name, verdict, text, numbers)


def searches_agree(task: TaskResults, significances: Significances) -> Finding:
    """A* and beam each score within the margin of the exact search."""
    if absent := missing(task, (SAPO, *SEARCHES)):
        return absent
    limit = margin(task, SAPO)
    numbers = {system: -_ahead(task, system) for system in SEARCHES}
    beyond = [system for system, difference in numbers.items() if abs(difference) > limit]
    text = (
        f"SAPO {_last(task, SAPO)} with the exact search; "
        + "; ".join(f"{system} {_last(task, system)} ({say_points(numbers[system])})" for system in SEARCHES)
        + f". Up to {limit:.2f} is not a difference"
        + (f"; {listed(beyond)} differ{'s' if len(beyond) == 1 else ''} by more." if beyond else ".")
    )
    return Finding(task.name, Verdict.DISAGREES if beyond else Verdict.AGREES, text, {**numbers, "limit": limit})


def _ahead(task: TaskResults, system: str) -> float:
    return task.groups[SAPO].last().mean - task.groups[system].last().mean


def _last(task: TaskResults, system: str) -> str:
    return say_mean(task.groups[system].last())


def _against(task: TaskResults, system: str) -> str:
    return f"{system} {_last(task, system)}: SAPO {say_points(_ahead(task, system))}"


def _p(task: TaskResults, system: str, significances: Significances) -> float | None:
    return significances[system].p(task.metric) if system in significances else None


def _whether_chance(p: float | None) -> str:
    return "" if p is None or is_significant(p) else ", which may be chance"
