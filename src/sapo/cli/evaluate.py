"""sapo eval: gold and predicted tags in, the familiar table out."""

import json
from typing import Any

import click

from sapo.cli.options import announce_compiling, format_option, label_option, refuse_same_file
from sapo.errors import SapoError


@click.command("eval")
@click.argument("input")
@click.option("--model", "-m", metavar="FILE", help="Tag the file with this model first.")
@click.option("--strict", is_flag=True, help="Count only spans that are well-formed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.option("--predicted", default="-1", metavar="COLUMN", help="Without --model: the column of the predicted tags.")
@click.option(
    "--curve",
    is_flag=True,
    help="With --model: precision, recall and F1 by the bias on O (sapo tag --bias-o).",
)
@click.option("--plot", metavar="FILE", help="With --curve: draw it, as SVG.")
@format_option
@label_option
def eval_command(
    input: str,
    model: str | None,
    strict: bool,
    as_json: bool,
    predicted: str,
    curve: bool,
    plot: str | None,
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
    if curve or plot is not None:
        _curve(input, model, plot, as_json, strict=strict, format=format, label=label)
        return
    if model is not None:
        from sapo.tagger import Tagger

        scores = Tagger.load(model).evaluate(input, strict=strict, format=format, label=label)
    else:
        from sapo.comparing import score_file

        scores = score_file(input, gold=label, predicted=predicted, format=format, strict=strict)
    click.echo(json.dumps(scores_as_json(scores), indent=2) if as_json else conlleval_table(scores))


def _curve(input: str, model: str | None, plot: str | None, as_json: bool, **how: Any) -> None:
    from sapo.corpus.files import check_writable, write_file
    from sapo.operating import curve_json, curve_table, operating_curve
    from sapo.report.operating import check_matplotlib, draw_curve
    from sapo.tagger import Tagger

    if model is None:
        raise SapoError("--curve and --plot need --model FILE")
    if plot is not None:
        check_matplotlib()
        check_writable(plot)
        refuse_same_file({"the model": model, "the input": input, "--plot": plot})
    points = operating_curve(Tagger.load(model), input, **how)
    if plot is not None:
        with write_file(plot) as stream:
            stream.write(draw_curve(points))
    click.echo(json.dumps(curve_json(points), indent=2) if as_json else curve_table(points))
