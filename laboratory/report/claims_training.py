"""The claims about training: convergence, the size of the weights, speed."""

from laboratory.report.findings import MARGIN, Finding, Significances, Verdict, listed, missing, say_percent, unknown
from laboratory.report.results import LAST_PASSES, SystemResults, TaskResults
from laboratory.report.system_names import CRF, N_BEST, NEURAL, ONE_BEST, ONE_BY_ONE, PERCEPTRON, SAPO

FEWEST_PASSES = 2 * LAST_PASSES
FLAT = 0.10  # growth of the weights from the middle pass to the last
EXPLODES = 0.50  # weights that grow with every pass as much as before would come to 1.00
SEVERAL_TIMES = 2.0
AS_FAST = 2.0


def converges(task: TaskResults, significances: Significances) -> Finding:
    """SAPO and CRF settle, the others do not."""
    if absent := missing(task, (SAPO, CRF)):
        return absent
    systems = [
        system for system in (SAPO, CRF, *ONE_BEST, *N_BEST, *NEURAL[:2], *ONE_BY_ONE[:2]) if system in task.groups
    ]
    if len(systems) == 2:
        return unknown(task, "No finished run of a system that should not converge.")
    if short := [system for system in systems if task.groups[system].passes < FEWEST_PASSES]:
        return unknown(task, f"Too few passes to tell, fewer than {FEWEST_PASSES}: {listed(short)}.")
    calm = {system: _settles(task.groups[system]) for system in systems}
    if not (calm[SAPO] and calm[CRF]) or all(calm.values()):
        verdict = Verdict.DISAGREES
    else:
        verdict = Verdict.IN_PART if sum(calm.values()) > 2 else Verdict.AGREES
    says = [
        f"{system} {'settles' if calm[system] else 'does not settle'} (best less last "
        f"{task.groups[system].fall().mean:.2f}"
        f", spread {task.groups[system].spread().mean:.2f}, limit {_limit(task.groups[system]):.2f})"
        for system in systems
    ]
    numbers = {f"{system} {what}": value for system in systems for what, value in _unrest(task.groups[system]).items()}
    return Finding(task.name, verdict, "; ".join(says) + ".", numbers)


def weights_explode(task: TaskResults, significances: Significances) -> Finding:
    """SAPO's mean |w| is flat in the second half of training, that of perceptrons and MIRAs goes on growing."""
    if absent := missing(task, (SAPO,)):
        return absent
    systems = [system for system in (SAPO, *ONE_BEST, *N_BEST) if system in task.groups]
    if len(systems) == 1:
        return unknown(task, "No finished run of a perceptron or a MIRA.")
    if short := [system for system in systems if task.groups[system].passes < FEWEST_PASSES]:
        return unknown(task, f"Too few passes to tell, fewer than {FEWEST_PASSES}: {listed(short)}.")
    growth = {system: found.mean for system in systems if (found := task.groups[system].w_growth()) is not None}
    if len(growth) < len(systems):
        return unknown(task, "The w-complexity was not measured for all systems.")
    explode = [system for system in systems[1:] if growth[system] >= EXPLODES]
    if growth[SAPO] > FLAT or not explode:
        verdict = Verdict.DISAGREES
    else:
        verdict = Verdict.AGREES if len(explode) == len(systems) - 1 else Verdict.IN_PART
    text = ", ".join(f"{system} {say_percent(growth[system])}" for system in systems)
    return Finding(task.name, verdict, f"Growth of the w-complexity: {text}.", growth)


def fast(task: TaskResults, significances: Significances) -> Finding:
    """The CRF takes several times as long as SAPO, SAPO about as long as the perceptron."""
    if absent := missing(task, (SAPO, CRF, PERCEPTRON)):
        return absent
    sapo, crf, perceptron = (task.groups[system].seconds().mean for system in (SAPO, CRF, PERCEPTRON))
    if min(sapo, perceptron) <= 0:
        return unknown(task, "A pass took no time that could be measured.")
    numbers = {"CRF / SAPO": crf / sapo, "SAPO / Perc-Naive": sapo / perceptron}
    quicker, as_quick = crf / sapo >= SEVERAL_TIMES, sapo / perceptron <= AS_FAST
    if quicker and as_quick:
        verdict = Verdict.AGREES
    else:
        verdict = Verdict.DISAGREES if crf <= sapo or not (quicker or as_quick) else Verdict.IN_PART
    text = (
        f"A pass takes {sapo:.3g} s with SAPO, {crf:.3g} s with CRF and {perceptron:.3g} s with the perceptron: "
        f"CRF / SAPO {crf / sapo:.2f}, SAPO / perceptron {sapo / perceptron:.2f}."
    )
    return Finding(task.name, verdict, text, numbers)


def _limit(group: SystemResults) -> float:
    return MARGIN * (100 - group.best().mean)


def _unrest(group: SystemResults) -> dict[str, float]:
    return {"best - last": group.fall().mean, f"spread of the last {LAST_PASSES}": group.spread().mean}


def _settles(group: SystemResults) -> bool:
    return max(_unrest(group).values()) <= _limit(group)
