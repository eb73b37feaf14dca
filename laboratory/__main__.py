"""python -m laboratory: the paper's corpora, its experiments and their report."""

from importlib.util import find_spec

import click

from laboratory.commands.data import data_command
from laboratory.commands.experiment import experiment_command
from laboratory.commands.report import report_command
from laboratory.commands.structures import structures_command
from sapo.cli.main import run_commands
from sapo.errors import SapoError

LIBRARIES = ("jinja2", "matplotlib", "pooch", "scipy")  # the extra `laboratory`


@click.group("laboratory", context_settings={"help_option_names": ["-h", "--help"]})
def app() -> None:
    """Fetch the corpora of the paper, repeat its experiments, and report what they have shown."""
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        raise SapoError(f"the laboratory needs {', '.join(missing)}; in the clone: pip install -e '.[laboratory]'")


app.add_command(data_command)
app.add_command(experiment_command)
app.add_command(report_command)
app.add_command(structures_command)

if __name__ == "__main__":
    run_commands(app, "python -m laboratory")
