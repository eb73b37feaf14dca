"""sapo inspect: a model file in, what is in it out."""

import json
from pathlib import Path
from typing import Annotated

import typer


def inspect_command(
    model: Annotated[Path, typer.Argument(help="A model file made by sapo train.")],
    top: Annotated[int, typer.Option(help="How many of the strongest features to show for each label.")] = 5,
    label: Annotated[str | None, typer.Option(help="Show the features of this label only.", metavar="NAME")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Look into a model: labels, templates, sizes, how it was trained, its strongest features and transitions."""
    from sapo.inspecting import describe, describe_text
    from sapo.model import load_model

    description = describe(load_model(model), top=top, label=label)
    description = {"file": str(model), "megabytes": round(model.stat().st_size / 1e6, 2), **description}
    typer.echo(json.dumps(description, indent=2, ensure_ascii=False) if as_json else describe_text(description))
