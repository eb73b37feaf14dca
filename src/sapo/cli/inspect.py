"""sapo inspect: show what is in a model, or what changed from one model to another."""

import json
from pathlib import Path

import click


@click.command("inspect")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--against", metavar="OLD", type=click.Path(path_type=Path), help="Show what changed from this model to MODEL."
)
@click.option("--top", default=5, show_default=True, help="How many of the strongest features to show for each label.")
@click.option("--label", metavar="NAME", help="Show the features of this label only.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def inspect_command(model: Path, against: Path | None, top: int, label: str | None, as_json: bool) -> None:
    """Look into a model.

    Shows labels, templates, sizes, how it was trained, its strongest features and transitions.

    With --against, shows what changed since another model: labels, features, weights, settings.
    """
    from sapo.model import load_model
    from sapo.model.diff import changes
    from sapo.model.inspect import describe
    from sapo.render.diff import changes_text
    from sapo.render.inspection import describe_text

    if against is not None:
        found = changes(load_model(against), load_model(model), top=top, label=label)
        found = {"file": str(model), "old_file": str(against), **found}
    else:
        found = describe(load_model(model), top=top, label=label)
        found = {"file": str(model), "megabytes": round(model.stat().st_size / 1e6, 2), **found}
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        click.echo(describe_text(found) if against is None else changes_text(found))
