"""sapo inspect: show what is in a model."""

import json
from pathlib import Path

import click


@click.command("inspect")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--top", default=5, show_default=True, help="How many of the strongest features to show for each label.")
@click.option("--label", metavar="NAME", help="Show the features of this label only.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def inspect_command(model: Path, top: int, label: str | None, as_json: bool) -> None:
    """Look into a model.

    Shows labels, templates, sizes, how it was trained, its strongest features and transitions.
    """
    from sapo.cli.tables import describe_text
    from sapo.tagger.file import load_model
    from sapo.tagger.inspect import describe

    found = describe(load_model(model), top=top, label=label)
    found = {"file": str(model), "megabytes": round(model.stat().st_size / 1e6, 2), **found}
    click.echo(json.dumps(found, indent=2, ensure_ascii=False) if as_json else describe_text(found))
