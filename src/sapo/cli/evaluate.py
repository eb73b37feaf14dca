"""sapo eval: gold and predicted tags in, the familiar table out."""

import json
from typing import Annotated

import typer

from sapo.cli.options import FormatOption, LabelOption, announce_compiling


def eval_command(
    input: Annotated[
        str, typer.Argument(help="A labelled file; without --model its last two columns are gold and predicted.")
    ],
    model: Annotated[str | None, typer.Option("--model", "-m", help="Tag the file with this model first.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Count only spans that are well-formed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    predicted: Annotated[
        str, typer.Option(help="Without --model: the column of the predicted tags.", metavar="COLUMN")
    ] = "-1",
    format: FormatOption = None,
    label: LabelOption = None,
) -> None:
    """Evaluate: sapo eval test.txt --model chunk.sapo, or sapo eval tagged.txt"""
    from sapo.evaluate import as_json as scores_as_json
    from sapo.evaluate import conlleval_table

    announce_compiling()
    if model is not None:
        from sapo.tagger import Tagger

        scores = Tagger.load(model).evaluate(input, strict=strict, format=format, label=label)
    else:
        from sapo.comparing import score_file

        scores = score_file(input, gold=label, predicted=predicted, format=format, strict=strict)
    typer.echo(json.dumps(scores_as_json(scores), indent=2) if as_json else conlleval_table(scores))
