"""The results of the simulated person: runs in, Markdown tables and a picture out."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ORDERS = ("least sure", "most different", "random")
GOALS = (0.90, 0.95)  # of the score of a model that was trained on the whole pool
WAYS = {  # how keys are counted: the order, and the field of a checkpoint
    "least sure": ("least sure", "keys"),
    "most different": ("most different", "keys"),
    "random": ("random", "keys"),
    "random, a fixed model": ("random", "keys_fixed"),
    "random, no model": ("random", "keys_alone"),
}

Results = Mapping[str, Mapping[str, Any]]  # a run by its key


def run_key(corpus: str, part: str, order: str, seed: int) -> str:
    """
    >>> run_key("wnut17", "test", "least sure", 2)
    'wnut17/test/least sure/2'
    """
    return f"{corpus}/{part}/{order}/{seed}"


def reached(run: Mapping[str, Any], goal: float) -> dict[str, float] | None:
    """Return the work that was needed for this share of the full score, or None if it was not reached.

    It is reached at the first checkpoint that has it, as the next one does, if there is a next: scores of small test
    sets jump. The work is interpolated between this checkpoint and the one before.

    >>> points = [{"score": score, "sentences": size} for score, size in ((0.4, 10), (0.8, 20), (0.9, 30))]
    >>> reached({"full": 1.0, "points": points}, 0.6)
    {'sentences': 15.0}
    """
    wanted, points = goal * run["full"], run["points"]
    for place in range(len(points)):
        if all(one["score"] >= wanted for one in points[place : place + 2]):
            break
    else:
        return None
    point, before = points[place], points[max(0, place - 1)]
    rise = point["score"] - before["score"]
    share = min(1.0, max(0.0, (wanted - before["score"]) / rise)) if rise > 0 else 1.0
    names = [name for name in point if "score" not in name]
    return {name: before[name] + share * (point[name] - before[name]) for name in names}


def table(results: Results, corpora: Sequence[str], part: str, seeds: Sequence[int]) -> str:
    """Return tables of sentences, tokens and keystrokes, as geometric means over the seeds."""
    parts = []
    for goal in GOALS:
        counts = {field: {order: (order, field) for order in ORDERS} for field in ("sentences", "tokens")}
        for title, ways in {**counts, "keystrokes": WAYS}.items():
            head = ["corpus", "full score", *ways, "least sure : random"]
            lines = [_line(head), _line(["---", *["--:"] * (len(head) - 1)])]
            for corpus in corpora:
                runs = {order: _runs(results, corpus, part, order, seeds) for order in ORDERS}
                if not all(runs.values()):
                    continue
                full = statistics.mean(run["full"] for run in runs["random"])
                found = {way: _mean(runs[order], goal, field) for way, (order, field) in ways.items()}
                ratio = _ratio(found["least sure"], found["random"])
                cells = [_number(value, ",.0f") for value in found.values()]
                lines.append(_line([corpus, f"{100 * full:.1f}", *cells, ratio]))
            parts.append(f"{title.capitalize()} for {goal:.0%} of the full score, on {part}:\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _runs(results: Results, corpus: str, part: str, order: str, seeds: Iterable[int]) -> list[Mapping[str, Any]]:
    return [results[key] for seed in seeds if (key := run_key(corpus, part, order, seed)) in results]


def _mean(runs: Iterable[Mapping[str, Any]], goal: float, field: str) -> float | None:
    found = [reached(run, goal) for run in runs]
    known = [one[field] for one in found if one is not None]
    return statistics.geometric_mean(known) if known and len(known) == len(found) else None


def _ratio(one: float | None, other: float | None) -> str:
    return "-" if one is None or other is None else f"{one / other:.0%}"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def draw(results: Results, corpora: Sequence[str], part: str, seeds: Sequence[int], path: Path) -> None:
    """Draw the score beside the sentences, a panel for each corpus."""
    from sapo.cli.plots import BLUE, GREY, ORANGE, VERMILLION, Panel, Picture, save

    styles = dict(zip(ORDERS, ((VERMILLION, "-"), (BLUE, "--"), (ORANGE, ":")), strict=True))

    def panel(corpus: str) -> Callable[[Any], None]:
        def draw_curves(axes: Any) -> None:
            for order, (color, style) in styles.items():
                for run in _runs(results, corpus, part, order, seeds):
                    sizes = [point["sentences"] for point in run["points"]]
                    shares = [100 * point["score"] / run["full"] for point in run["points"]]
                    axes.plot(sizes, shares, color=color, linestyle=style)
            for goal in GOALS:
                axes.axhline(100 * goal, color=GREY, linewidth=0.8)
            axes.set_xscale("log")
            axes.set_ylim(40, 102)
            axes.set_xlabel("sentences")
            axes.set_ylabel("% of the full score")

        return draw_curves

    picture = Picture(
        "teaching",
        "Sentences and score",
        "",
        tuple(Panel(corpus, panel(corpus)) for corpus in corpora),
        columns=2,
        legend=tuple((order, {"color": color, "linestyle": style}) for order, (color, style) in styles.items()),
    )
    path.write_bytes(save(picture, math.ceil(math.sqrt(len(corpora))), "svg"))
