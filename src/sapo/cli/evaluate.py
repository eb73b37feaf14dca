"""sapo eval: compare gold and predicted tags, and print the table of conlleval."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sapo.cli.options import (
    Ticker,
    announce_compiling,
    encoding_option,
    format_option,
    label_option,
    model_first,
    refuse_same_file,
    was_given,
)
from sapo.errors import SapoError

if TYPE_CHECKING:
    from sapo.evaluate.scores import Scores
    from sapo.tagger.tagger import Tagger
    from sapo.training.calibration import Calibration


@click.command("eval")
@click.argument("files", nargs=-1, required=True, metavar="[MODEL] FILE")
@click.option("--strict", is_flag=True, help="Count only spans that are well-formed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.option("--exact", is_flag=True, help="With MODEL: look at all labels, as sapo tag --exact does.")
@click.option("--calibration", is_flag=True, help="With MODEL: show how far its probabilities can be trusted.")
@click.option("--nbest", default=5, show_default=True, help="With --calibration: the n of the top-n probabilities.")
@click.option("--predicted", default="-1", metavar="COLUMN", help="Without MODEL: the column of the predicted tags.")
@click.option(
    "--curve",
    is_flag=True,
    help="With MODEL: precision, recall and F1 by the bias on O (sapo tag --bias-o).",
)
@click.option("--plot", metavar="FILE", help="With --curve or --calibration: draw it, as .svg or .png.")
@format_option
@encoding_option
@label_option
def eval_command(
    files: tuple[str, ...],
    strict: bool,
    as_json: bool,
    exact: bool,
    calibration: bool,
    nbest: int,
    predicted: str,
    curve: bool,
    plot: str | None,
    format: str | None,
    encoding: str | None,
    label: str | None,
) -> None:
    """Evaluate a model or a tagged file.

    sapo eval chunk.sapo test.txt: tag the labeled FILE with MODEL, and compare.

    sapo eval tagged.txt: compare the last two columns of FILE, gold and predicted, as sapo tag writes them.
    """
    from sapo.corpus.files import with_encoding
    from sapo.evaluate.calibration import reliability_table
    from sapo.evaluate.scores import as_json as scores_as_json
    from sapo.evaluate.scores import conlleval_table

    model, input = _files(files)
    _check_model(model, exact, calibration)
    if calibration and curve:
        raise SapoError("--calibration and --curve are different outputs; choose one")
    if calibration:
        _check_calibration(input, model, nbest, plot)
    elif plot is not None and not curve:
        raise SapoError("--plot draws what --calibration or --curve measures; give one of them")
    refuse_same_file({"the model": model, "the input": input}, {"--plot": plot})
    announce_compiling()
    source = with_encoding(input, encoding)
    if curve:
        _curve(source, model, exact, plot, as_json, strict=strict, format=format, label=label)
        return
    measured = None
    if model is not None:
        tagger, n = _load(model, exact), nbest if calibration else 0
        scores, measured = _evaluate(tagger, source, n, strict, format=format, label=label)
    else:
        from sapo.evaluate.files import score_file

        scores = score_file(source, gold=label, predicted=predicted, format=format, strict=strict)
    if plot is not None and measured is not None:
        _draw(measured, plot)
    if as_json:
        more = {} if measured is None else {"calibration": measured.as_json()}
        click.echo(json.dumps({**scores_as_json(scores), **more}, indent=2))
    else:
        click.echo(conlleval_table(scores))
        if measured is not None:
            click.echo(f"\ncalibration at temperature {measured.temperature:.4g}")
            click.echo(reliability_table(measured.rows()))


def _files(files: tuple[str, ...]) -> tuple[str | None, str]:
    """Return the model, if there is one, and the file. Raise SapoError unless these are MODEL FILE, or FILE alone."""
    from sapo.corpus.files import is_model

    forms = "sapo eval MODEL FILE, or sapo eval FILE for a file with gold and predicted tags"
    if len(files) > 2:
        raise click.UsageError(f"takes a model and a file, found {len(files)} files: {forms}")
    if len(files) == 1:
        if is_model(files[0]):
            raise SapoError(f"{files[0]}: is a model; give the labeled file after it: {forms}")
        return None, files[0]
    first, second = model_first(*files)
    if Path(first).is_file() and not is_model(first):
        raise SapoError(f"{first}: not a sapo model; {forms}")
    return first, second


def _check_model(model: str | None, exact: bool, calibration: bool) -> None:
    """Raise SapoError if an option is for the other form of the command."""
    if exact and model is None:
        raise SapoError("--exact is about tagging; give a model: sapo eval MODEL FILE")
    if was_given("nbest") and not calibration:
        raise SapoError("--nbest is for --calibration; give both, or none")
    if was_given("predicted") and model is not None:
        raise SapoError("--predicted is for a tagged file; leave it out, as the model tags FILE")


def _load(model: str, exact: bool) -> "Tagger":
    from sapo.tagger.tagger import Tagger

    tagger = Tagger.load(model)
    return Tagger(tagger.model.exact()) if exact else tagger


def _evaluate(
    tagger: "Tagger", input: str | Path, nbest: int, strict: bool, **reading: Any
) -> "tuple[Scores, Calibration | None]":
    """Tag a file with a model, and return the scores; with `nbest`, also judge its probabilities."""
    scores = tagger.evaluate(input, strict=strict, **reading)
    if not nbest:
        return scores, None
    from sapo.training.calibration import measure

    ticker = Ticker()
    measured = measure(tagger, input, n=nbest, watch=ticker.add, **reading)
    ticker.end()
    return scores, measured


def _draw(measured: "Calibration", plot: str) -> None:
    from sapo.cli.plots import draw_reliability
    from sapo.corpus.files import write_file

    with write_file(plot) as stream:
        stream.write(draw_reliability(measured, _drawing_format(plot)))


def _check_calibration(input: str, model: str | None, nbest: int, plot: str | None) -> None:
    """Raise SapoError if options do not go together, before any work is done."""
    if model is None:
        raise SapoError("--calibration needs the probabilities of a model: sapo eval MODEL FILE")
    if input == "-":
        raise SapoError("--calibration reads the file twice; save standard input to a file first, and give that")
    if nbest < 1:
        raise SapoError(f"--nbest must be at least 1, not {nbest}")
    if plot is not None:
        from sapo.cli.plots import check_matplotlib
        from sapo.corpus.files import check_writable

        _drawing_format(plot)
        check_writable(plot)
        check_matplotlib()


def _drawing_format(plot: str) -> str:
    ending = plot.lower().rpartition(".")[2]
    if ending not in ("svg", "png"):
        raise SapoError(f"{plot}: a diagram is drawn as .svg or .png; give such a name")
    return ending


def _curve(input: str | Path, model: str | None, exact: bool, plot: str | None, as_json: bool, **how: Any) -> None:
    from sapo.cli.bias_curve import curve_json, operating_curve
    from sapo.cli.plots import check_matplotlib, curve_table, draw_curve
    from sapo.corpus.files import check_writable, write_file

    if model is None:
        raise SapoError("--curve needs a model: sapo eval MODEL FILE")
    if plot is not None:
        _drawing_format(plot)
        check_matplotlib()
        check_writable(plot)
    points = operating_curve(_load(model, exact), input, **how)
    if plot is not None:
        with write_file(plot) as stream:
            stream.write(draw_curve(points, _drawing_format(plot)))
    click.echo(json.dumps(curve_json(points), indent=2) if as_json else curve_table(points))
