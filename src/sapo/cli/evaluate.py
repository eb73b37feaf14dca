"""sapo eval: gold and predicted tags in, the familiar table out."""

import json

import click

from sapo.cli.options import announce_compiling, format_option, label_option


@click.command("eval")
@click.argument("input")
@click.option("--model", "-m", metavar="FILE", help="Tag the file with this model first.")
@click.option("--strict", is_flag=True, help="Count only spans that are well-formed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.option("--predicted", default="-1", metavar="COLUMN", help="Without --model: the column of the predicted tags.")
@format_option
@label_option
def eval_command(
    input: str,
    model: str | None,
    strict: bool,
    as_json: bool,
    predicted: str,
    format: str | None,
    label: str | None,
) -> None:
    """Evaluate a model or a tagged file.

    sapo eval test.txt --model chunk.sapo, or sapo eval tagged.txt

    INPUT is a labelled file; without --model its last two columns are gold and predicted.
    """
    from sapo.evaluate import as_json as scores_as_json
    from sapo.evaluate import conlleval_table

    announce_compiling()
    if model is not None:
        from sapo.tagger import Tagger

        scores = Tagger.load(model).evaluate(input, strict=strict, format=format, label=label)
    else:
        from sapo.comparing import score_file

        scores = score_file(input, gold=label, predicted=predicted, format=format, strict=strict)
    click.echo(json.dumps(scores_as_json(scores), indent=2) if as_json else conlleval_table(scores))
