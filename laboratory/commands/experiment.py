"""python -m laboratory experiment: run the paper's experiments."""

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sapo.cli.options import announce_compiling, split_names, tell
from sapo.errors import SapoError

if TYPE_CHECKING:
    from laboratory.grid import Grid
    from laboratory.setup import Setup

THEORY = "theory"


@click.command("experiment")
@click.argument("tasks", nargs=-1, required=True, metavar="TASK...")
@click.option(
    "--runs",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where the files of the runs go. Default: runs, or runs-small with --small.",
)
@click.option(
    "--systems",
    default="paper",
    show_default=True,
    metavar="A,B",
    help="Names of systems (SAPO, CRF, Perc-Avg ...), or paper, variants, all; neural, neural-b1, neural-variants.",
)
@click.option("--seeds", type=click.IntRange(1), help="Runs of each system: seeds 0, 1 ... Default: 3 (small: 1).")
@click.option("--passes", type=click.IntRange(1), help="Passes of a run. Default: 20 (small: 3).")
@click.option("--tuning-passes", type=click.IntRange(1), help="Passes of a trial of tuning. Default: 20 (small: 3).")
@click.option(
    "--jobs", type=click.IntRange(1), help="Processes at once. Default: as many as cores; 1 for honest times."
)
@click.option("--ray", metavar="ADDRESS", help="Run the jobs on a Ray cluster, or with local on all cores by Ray.")
@click.option(
    "--treebank",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Your Penn Treebank (.mrg or .pos files of the Wall Street Journal), for pos-wsj.",
)
@click.option("--small", is_flag=True, help="200 training and 100 test sentences, for trying: takes seconds.")
@click.option("--force", is_flag=True, help="Make finished runs anew.")
@click.option("--list", "listing", is_flag=True, help="Tell what would run and what is done, and stop.")
def experiment_command(
    tasks: tuple[str, ...],
    runs: Path | None,
    systems: str,
    seeds: int | None,
    passes: int | None,
    tuning_passes: int | None,
    jobs: int | None,
    ray: str | None,
    treebank: Path | None,
    small: bool,
    force: bool,
    listing: bool,
) -> None:
    """Run the paper's experiments.

    python -m laboratory experiment chunking

    TASK is chunking, chunking-np, bioner, pos-xpos, pos-upos or pos-wsj; pos is the last three, all is all of these;
    theory measures what the paper's analysis speaks of (only --runs, --small, --force and --list count). The
    environment variable SAPO_DATA names the directory of the corpora. Stopped with Ctrl-C, the same command goes on:
    finished runs are not made again.
    """
    from laboratory.setup import (
        PASSES,
        SEEDS,
        SMALL_PASSES,
        SMALL_SEEDS,
        TUNING_PASSES,
        Setup,
        data_directory,
    )
    from laboratory.systems import find_systems
    from laboratory.tasks import find_tasks

    others = [name for name in tasks if name != THEORY]
    chosen = find_tasks(others)
    wanted = find_systems(split_names(systems) or [])
    if treebank is not None and all(task.name != "pos-wsj" for task in chosen):
        raise SapoError("--treebank is for the task pos-wsj, which is not among those to run")
    setup = Setup(
        data=data_directory(needed=treebank is None or len(chosen) > 1 or THEORY in tasks),
        runs=runs or Path("runs-small" if small else "runs"),
        passes=passes or (SMALL_PASSES if small else PASSES),
        tuning_passes=tuning_passes or (SMALL_PASSES if small else TUNING_PASSES),
        small=small,
        treebank=treebank,
    )
    from laboratory.grid import Grid

    if others:
        grid = Grid(chosen, wanted, seeds or (SMALL_SEEDS if small else SEEDS), setup)
        if listing:
            print(grid.listing())
        else:
            grid.check(tell)
            if force:
                grid.forget()
            _run(grid, jobs or os.cpu_count() or 1, ray)
            print(grid.table())
    if THEORY in tasks:
        _theory(setup, force=force, listing=listing)


def _theory(setup: "Setup", *, force: bool, listing: bool) -> None:
    from laboratory.theory import PARTS, forget, left, make_parts

    if listing:
        waiting = left(setup)
        print("theory: " + ", ".join(f"{name} {'to do' if name in waiting else 'done'}" for name in PARTS))
        return
    if force:
        forget(setup)
    if not left(setup):
        tell("all parts of the theory are done; --force makes them anew")
    announce_compiling()
    try:
        for path in make_parts(setup, tell):
            print(path)
    except KeyboardInterrupt:
        tell(f"sapo: interrupted; go on with: {_same_command()}")
        sys.exit(130)


def _same_command() -> str:
    return shlex.join(["python", "-m", "laboratory", *(word for word in sys.argv[1:] if word != "--force")])


def _run(grid: "Grid", jobs: int, ray: str | None) -> None:
    from laboratory.compiling import compile_first
    from laboratory.display import make_display
    from laboratory.workers import work_off

    schedule = grid.schedule()
    if not schedule.waiting:
        tell("all runs are done; --force makes them anew")
        return
    of = len(list(grid.runs()))
    left = len(grid.left())
    display = make_display(
        done=of - left,
        of=of,
        jobs=jobs,
        passes=grid.setup.passes,
        waiting=lambda: schedule.waiting,
        live=sys.stderr.isatty(),
    )
    display.say(f"{of - left} of {of} runs are done; files in {grid.setup.runs}")
    announce_compiling()
    try:
        compile_first(list(grid.systems))
        with display.running():
            work_off(schedule, grid.setup, jobs=jobs, display=display, ray=ray)
    except KeyboardInterrupt:
        tell(f"sapo: interrupted; {display.done} of {of} runs are done; go on with: {_same_command()}")
        sys.exit(130)
