"""The results of the zoo: runs in, a Markdown table and a picture out."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PEERS = ("L-BFGS 0.1", "L-BFGS", "ap")  # settings of python-crfsuite
BEST = "the best setting"
TITLES = {"sapo": "Equal features", "presets": "Presets of sapo, on the file itself"}

Results = Mapping[str, Mapping[str, Any]]  # a run by its key


def run_key(corpus: str, system: str, seed: int) -> str:
    """
    >>> run_key("wnut17", "sapo", 2)
    'wnut17/sapo/2'
    """
    return f"{corpus}/{system}/{seed}"


@dataclass(frozen=True, slots=True)
class Row:
    """One corpus: scores in percent and seconds of training, sapo's as means over the seeds."""

    corpus: str
    measure: str  # F1 or accuracy
    labels: int
    score: float
    deviation: float
    peers: Mapping[str, float]  # settings that were run
    seconds: Mapping[str, float]  # of sapo, too

    @property
    def to_best(self) -> float | None:
        """The difference to the best setting of python-crfsuite on this very part, which favors python-crfsuite."""
        return self.score - max(self.peers.values()) if self.peers else None

    @property
    def to_lbfgs(self) -> float | None:
        return self.score - self.peers[PEERS[0]] if PEERS[0] in self.peers else None


def make_rows(results: Results, corpora: Iterable[str], system: str, part: str, seeds: Sequence[int]) -> list[Row]:
    """Return a row for each corpus that `system` was run on."""
    rows = []
    for corpus in corpora:
        ours = [results[key] for seed in seeds if (key := run_key(corpus, system, seed)) in results]
        if not ours:
            continue
        theirs = {peer: results[key] for peer in PEERS if (key := run_key(corpus, peer, 0)) in results}
        scores = [run["scores"][part] for run in ours]
        rows.append(
            Row(
                corpus,
                ours[0]["measure"],
                ours[0]["labels"],
                statistics.mean(scores),
                statistics.stdev(scores) if len(scores) > 1 else 0.0,
                {peer: run["scores"][part] for peer, run in theirs.items()},
                {
                    "sapo": statistics.mean(run["seconds"] for run in ours),
                    **{peer: run["seconds"] for peer, run in theirs.items()},
                },
            )
        )
    return rows


def table(rows: Sequence[Row]) -> str:
    """Return a Markdown table, and below it how often sapo is better."""
    head = ["corpus", "score", "labels", "sapo", *PEERS, "to best", f"to {PEERS[0]}"]
    head += [f"s, {system}" for system in ("sapo", *PEERS)]
    lines = [_line(head), _line(["---"] * 2 + ["--:"] * (len(head) - 2))]
    for row in rows:
        lines.append(
            _line(
                [row.corpus, row.measure, str(row.labels), f"{row.score:.2f} ± {row.deviation:.2f}"]
                + [_number(row.peers.get(peer), ".2f") for peer in PEERS]
                + [_number(difference, "+.2f") for difference in (row.to_best, row.to_lbfgs)]
                + [_number(row.seconds.get(system), ".1f") for system in ("sapo", *PEERS)]
            )
        )
    best = _summary(BEST, [row.to_best for row in rows])
    return "\n".join(lines) + f"\n\n{best}; {_summary(PEERS[0], [row.to_lbfgs for row in rows])}."


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _summary(other: str, differences: Iterable[float | None]) -> str:
    known = [difference for difference in differences if difference is not None]
    if not known:
        return f"beside {other}: nothing to compare"
    above = sum(difference > 0 for difference in known)
    return f"above {other} on {above} of {len(known)} corpora, {statistics.mean(known):+.2f} on average"


def draw(panels: Mapping[str, Sequence[Row]], path: Path) -> None:
    """Draw a panel of differences for each system, a line for each corpus."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "sapo"
    from matplotlib import pyplot

    from sapo.cli.plots import BLUE, VERMILLION

    names = list(dict.fromkeys(row.corpus for rows in panels.values() for row in rows))
    figure, all_axes = pyplot.subplots(
        1, len(panels), figsize=(1.6 + 4 * len(panels), 1.4 + 0.24 * len(names)), sharey=True, squeeze=False
    )
    for axes, (system, rows) in zip(all_axes[0], panels.items(), strict=True):
        for label, color, marker, shift in ((BEST, VERMILLION, "o", -0.15), (PEERS[0], BLUE, "s", 0.15)):
            points = [(row, row.to_best if label == BEST else row.to_lbfgs) for row in rows]
            known = [(row, difference) for row, difference in points if difference is not None]
            axes.errorbar(
                [difference for _, difference in known],
                [names.index(row.corpus) + shift for row, _ in known],
                xerr=[row.deviation for row, _ in known],
                fmt=marker,
                color=color,
                markersize=4,
                elinewidth=1,
                label=f"sapo minus {label}",
            )
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_title(TITLES[system], fontsize=10)
        axes.set_xlabel("points of score")
        axes.grid(axis="y", linewidth=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    first = all_axes[0][0]
    first.set_yticks(range(len(names)), names)
    first.set_ylim(len(names) - 0.5, -0.5)
    handles, labels = first.get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="lower center", ncols=2)
    figure.tight_layout(rect=(0, 0.3 / figure.get_figheight(), 1, 1))
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
