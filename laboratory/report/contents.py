"""Put the report together, as blocks."""

from dataclasses import dataclass

from laboratory.report.blocks import Block, Bullets, Code, FigureBlock, Heading, Judged, Table, Text
from laboratory.report.claims import CLAIMS, findings, summary
from laboratory.report.drawing import Drawn
from laboratory.report.findings import Significances, Verdict
from laboratory.report.results import TaskResults
from laboratory.report.run_records import Reading
from laboratory.report.significance import LEVEL
from laboratory.report.tables import data_table, feature_table, score_table, significance_table, tuning_table
from laboratory.report.theory_files import TheoryPart

TITLE = "SAPO beside the systems of its paper"
INTRODUCTION = (
    "What Sun et al. report in “Towards Easier and Faster Sequence Labeling for Natural Language Processing: A "
    "Search-based Probabilistic Online Learning Framework (SAPO)”, measured again with this package. Every number of "
    "ours is computed from the files of the runs."
)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a report is made from."""

    reading: Reading
    tasks: list[TaskResults]
    significances: dict[str, Significances]
    figures: list[Drawn]
    theory: list[TheoryPart]
    theory_figures: list[Drawn | None]  # one for each part
    timed: bool = False  # whether the times come from runs that were made for that


def report_blocks(contents: Contents) -> list[Block]:
    """Return the whole report, from the title to the commands that make it again."""
    return [
        Heading(1, TITLE),
        Text(INTRODUCTION),
        *_in_short(contents),
        *_what_was_run(contents),
        *_figures(contents),
        *_tables(contents),
        *_claims(contents),
        *_theory(contents),
        *_again(contents),
    ]


def _in_short(contents: Contents) -> list[Block]:
    rows = []
    for claim in CLAIMS:
        found = findings(claim, contents.tasks, contents.significances)
        rows.append((claim.title, summary(found)))
    return [
        Heading(2, "In short"),
        Table(("the paper's claim", "our runs"), tuple(rows), words=2, wrapped=(0, 1)),
        Text("The rules and the numbers are below, claim by claim."),
    ]


def _what_was_run(contents: Contents) -> list[Block]:
    runs = contents.reading.runs
    seeds = sorted({run.seed for run in runs})
    versions = sorted({run.version for run in runs})
    found: list[Block] = [
        Heading(2, "What was run"),
        Text(
            f"{len(runs)} runs of {len({run.system for run in runs})} systems on {len(contents.tasks)} "
            f"{'task' if len(contents.tasks) == 1 else 'tasks'}; {'seed' if len(seeds) == 1 else 'seeds'} "
            f"{', '.join(map(str, seeds))}; sapo {', '.join(versions)}. The commands are at the end. "
            "A task with fewer training sentences than the paper's repeats its method, not its experiment."
        ),
        data_table(contents.tasks),
    ]
    if contents.timed:
        found.append(Text("Seconds a pass come from runs that were made to be timed, one process at a time."))
    for tuning in contents.reading.tunings:
        found += [
            Text(f"The strengths tried for {tuning.task}, and the one chosen by {tuning.how}:"),
            tuning_table(tuning),
        ]
    if contents.reading.skipped:
        found += [
            Text("Files that are left out, and why:"),
            Bullets(tuple(f"`{one.path}`: {one.why}" for one in contents.reading.skipped)),
        ]
    return found


def _commands(contents: Contents) -> list[str]:
    runs = [run.command for run in sorted(contents.reading.runs, key=lambda run: run.path)]
    return list(dict.fromkeys([*runs, *(part.command for part in contents.theory if part.command is not None)]))


def _figures(contents: Contents) -> list[Block]:
    if not contents.figures:
        return []
    return [Heading(2, "Figures"), *map(_figure, contents.figures)]


def _figure(drawn: Drawn) -> FigureBlock:
    picture = drawn.picture
    return FigureBlock(picture.name, picture.title, picture.caption, drawn.svg, drawn.narrow_svg)


def _tables(contents: Contents) -> list[Block]:
    found: list[Block] = [
        Heading(2, "Scores"),
        Text(
            "On the test set, in per cent: means over seeds, ± the deviation of one seed. The best pass, one for all "
            "seeds, is that with the best mean. It is chosen on the test set itself: it shows the shape of training "
            "and is not a fair score. Seconds are of the median pass, w-complexity is the mean absolute weight after "
            "the last pass."
        ),
    ]
    for task in contents.tasks:
        found += [Heading(3, task.title), score_table(task)]
        if contents.significances.get(task.name):
            found += [
                Text(
                    "SAPO against each system, seed 0: paired t-test on the accuracy of sentences, as in the paper, "
                    "and approximate randomization on the score."
                ),
                significance_table(task, contents.significances[task.name]),
            ]
    if not any(contents.significances.values()):
        found.append(Text("Significance is not known: no task has the tags of SAPO, seed 0, and of another system."))
    return [*found, Heading(3, "Raw features"), feature_table(contents.tasks)]


def _claims(contents: Contents) -> list[Block]:
    found: list[Block] = [
        Heading(2, "The paper's claims"),
        Text(
            "Each by a rule that stands with it. The paper gives no thresholds: they are ours, and were chosen when "
            "earlier results of this package on CoNLL-2000 chunking were known, so judge by the numbers too. Where "
            f"significance counts, p is that of seed 0, below {LEVEL}: of the randomization test where the score is "
            "F1, of the t-test where it is accuracy."
        ),
    ]
    titles = {task.name: task.title for task in contents.tasks}
    for claim in CLAIMS:
        found += [
            Heading(3, claim.title),
            Text(f"The paper: {claim.paper}"),
            Text(f"Rule: {claim.rule}"),
            *(
                Judged(one.verdict, titles[one.task], one.text)
                for one in findings(claim, contents.tasks, contents.significances)
            ),
        ]
    return found


def _theory(contents: Contents) -> list[Block]:
    found: list[Block] = [Heading(2, "Theory")] if contents.theory else []
    for part, drawn in zip(contents.theory, contents.theory_figures, strict=True):
        found += [Heading(3, part.title), *(Text(text) for text in part.text.split("\n\n"))]
        if part.table is not None:
            found.append(part.table)
        if drawn is not None:
            found.append(_figure(drawn))
    return found


def _again(contents: Contents) -> list[Block]:
    return [
        Heading(2, "How to make it again"),
        Text(
            "Run these commands in a clone, with `SAPO_DATA` set to the directory of the corpora, then write "
            "the report from the directory of runs. The same runs give the same report; times differ from machine "
            "to machine."
        ),
        Code("\n".join(_commands(contents))),
        Code("pip install -e '.[laboratory]'\npython -m laboratory report RUNS -o report"),
        Text("`numbers.json` beside this page has every number of the tables, `figures/` the figures as SVG and PNG."),
    ]


def verdicts(contents: Contents) -> dict[str, dict[str, dict[str, object]]]:
    """Return the findings for programs, by claim and task."""
    return {
        claim.name: {
            one.task: {"verdict": Verdict(one.verdict).value, "numbers": one.numbers, "text": one.text}
            for one in findings(claim, contents.tasks, contents.significances)
        }
        for claim in CLAIMS
    }
