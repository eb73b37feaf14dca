"""python -m laboratory structures: compare learners on trees, edits and lists."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from sapo.cli.options import tell


@click.command("structures")
@click.option("--output", "-o", type=click.Path(path_type=Path), default=Path("structures"), metavar="DIR")
@click.option("--small", is_flag=True, help="100 training sentences, 2 passes and one seed, for trying.")
def structures_command(output: Path, small: bool) -> None:
    """Compare learners on trees, edits and given lists.

    python -m laboratory structures -o structures

    Prints a table, and writes structures.json, and the figure as SVG and PNG. SAPO_DATA must have zoo/ud-greek-gdt and
    zoo/bionlp13cg. Takes about four minutes of processor time.
    """
    from laboratory.setup import data_directory
    from laboratory.structures import PASSES, SEEDS, picture, run_all, table, tasks_of
    from sapo.cli.plots import write_plot
    from sapo.corpus.files import write_file

    tasks = tasks_of(data_directory(), tell, small=small)
    runs = run_all(tasks, 1 if small else SEEDS, 2 if small else PASSES, tell)
    output.mkdir(parents=True, exist_ok=True)
    with write_file(output / "structures.json") as stream:
        stream.write((json.dumps([asdict(run) for run in runs], indent=1) + "\n").encode())
    for ending in ("svg", "png"):
        write_plot(picture(runs), str(output / f"structures.{ending}"))
    click.echo(table(runs))
