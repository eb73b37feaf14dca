"""python -m laboratory report: write a page with figures, tables and findings about runs."""

from pathlib import Path

import click

from sapo.cli.options import quiet_option, tell


@click.command("report")
@click.argument("runs", type=click.Path(path_type=Path))
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), metavar="DIR", help="Where to write it. Default: RUNS/report."
)
@click.option(
    "--times",
    type=click.Path(path_type=Path),
    metavar="RUNS",
    help="Take the seconds of passes from these runs, made one at a time (python -m laboratory experiment --jobs 1).",
)
@quiet_option
def report_command(runs: Path, output: Path | None, times: Path | None, quiet: bool) -> None:
    """Report what runs have shown.

    python -m laboratory report runs -o report

    RUNS is a directory that `python -m laboratory experiment` has made. DIR gets report.html (one page that needs
    nothing else), report.md, numbers.json, and the figures as SVG and PNG.
    """
    from laboratory.report import write_report

    def say(message: str) -> None:
        if not quiet:
            tell(f"sapo: {message}")

    where = runs / "report" if output is None else output
    reading = write_report(runs, where, times=times, say=say).reading
    left_out = f", {len(reading.skipped)} files left out (the report names them)" if reading.skipped else ""
    say(f"{len(reading.runs)} runs{left_out}")
    click.echo(where / "report.html")
