"""sapo eval: compare gold and predicted tags, and print the table of conlleval.

With a model, it can also judge the probabilities, or measure precision and recall for a range of biases on O.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
from sapo.errors import DataError, ModelError, OptionError

if TYPE_CHECKING:
    from sapo.evaluate.scores import SpanCounts
    from sapo.tagger.tagger import Tagger
    from sapo.training.calibration import Calibration

BIASES = tuple(step / 2 for step in range(-6, 7))
OUTSIDE = "O"


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

    model, input = _files(files)
    _check_options(model, input, exact, calibration, nbest, curve, plot)
    refuse_same_file({"the model": model, "the input": input}, {"--plot": plot})
    announce_compiling()
    source = with_encoding(input, encoding)
    measured = None
    if model is None:
        from sapo.evaluate.files import score_file

        scores = score_file(source, gold=label, predicted=predicted, format=format, strict=strict)
    else:
        from sapo.tagger.tagger import Tagger

        tagger = Tagger.load(model)
        tagger = Tagger(tagger.model.exact()) if exact else tagger
        if curve:
            _curve(tagger, source, strict, format, label, plot, as_json)
            return
        scores = tagger.evaluate(source, strict=strict, format=format, label=label)
        if calibration:
            measured = _measure(tagger, source, nbest, format, label, plot)
    if as_json:
        more = {} if measured is None else {"calibration": measured.as_json()}
        click.echo(json.dumps({**scores.as_dict(), **more}, indent=2))
    else:
        click.echo(str(scores))
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
            raise DataError(f"{files[0]}: is a model; give the labeled file after it: {forms}")
        return None, files[0]
    first, second = model_first(*files)
    if Path(first).is_file() and not is_model(first):
        raise ModelError(f"{first}: not a sapo model; {forms}")
    return first, second


def _check_options(
    model: str | None, input: str, exact: bool, calibration: bool, nbest: int, curve: bool, plot: str | None
) -> None:
    """Raise SapoError if options do not go together, or the plot cannot be drawn, before any work is done."""
    if exact and model is None:
        raise OptionError("--exact is about tagging; give a model: sapo eval MODEL FILE")
    if was_given("nbest") and not calibration:
        raise OptionError("--nbest is for --calibration; give both, or neither")
    if was_given("predicted") and model is not None:
        raise OptionError("--predicted is for a tagged file; leave it out, because the model tags FILE")
    if calibration and curve:
        raise OptionError("--calibration and --curve are different outputs; choose one")
    if calibration and model is None:
        raise OptionError("--calibration needs the probabilities of a model: sapo eval MODEL FILE")
    if calibration and input == "-":
        raise OptionError("--calibration reads the file twice; save standard input to a file first, and give that")
    if calibration and nbest < 1:
        raise OptionError(f"--nbest must be at least 1, not {nbest}")
    if curve and model is None:
        raise OptionError("--curve needs a model: sapo eval MODEL FILE")
    if plot is not None:
        if not (calibration or curve):
            raise OptionError("--plot draws what --calibration or --curve measures; give one of them")
        from sapo.cli.plots import check_plot

        check_plot(plot)


def _measure(
    tagger: "Tagger", path: str | Path, n: int, format: str | None, label: str | None, plot: str | None
) -> "Calibration":
    """Judge the probabilities of a model, and draw them if there is a plot."""
    from sapo.training.calibration import measure

    ticker = Ticker()
    measured = measure(tagger, path, n=n, watch=ticker.add, format=format, label=label)
    ticker.end()
    if plot is not None:
        from sapo.cli.plots import reliability_picture, write_plot

        write_plot(reliability_picture(measured), plot)
    return measured


def _curve(
    tagger: "Tagger",
    path: str | Path,
    strict: bool,
    format: str | None,
    label: str | None,
    plot: str | None,
    as_json: bool,
) -> None:
    points = operating_curve(tagger, path, strict=strict, format=format, label=label)
    if plot is not None:
        from sapo.cli.plots import curve_picture, write_plot

        write_plot(curve_picture(points), plot)
    listed = [
        {"bias": one.bias, "precision": one.spans.precision, "recall": one.spans.recall, "f1": one.spans.f1}
        for one in points
    ]
    click.echo(json.dumps(listed, indent=2) if as_json else curve_table(points))


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The number of spans that are found, and correct, with this bias."""

    bias: float
    spans: "SpanCounts"


def operating_curve(
    tagger: "Tagger",
    path: str | Path,
    *,
    biases: Sequence[float] = BIASES,
    strict: bool = False,
    format: str | None = None,
    label: str | None = None,
) -> list[OperatingPoint]:
    """Return the precision, recall and F1 of the spans of a labeled file, for each bias on O.

    Each bias is added to the one that the tagger has. The sentences are read and encoded once, and tagged once for each
    bias. `strict` counts only well-formed spans. Raises SapoError if the labels do not mark spans.

    >>> import sapo
    >>> from sapo.corpus.sample import COLUMNS, sample_path
    >>> tagger = sapo.train(sample_path("train"), template="ner", columns=COLUMNS, label="entity", epochs=2)
    >>> few, many = operating_curve(tagger, sample_path("test"), biases=[3, -3])
    >>> few.spans.found < many.spans.found
    True
    """
    import numpy as np

    from sapo.evaluate.scores import score
    from sapo.features.strings import label_ids
    from sapo.tagger.decoding import best_tags, encoded_blocks
    from sapo.tagger.files import check_no_missing, check_same_task, read_blocks
    from sapo.tags.schemes import looks_like_spans

    if OUTSIDE not in tagger.labels or not looks_like_spans(tagger.labels):
        raise OptionError("a curve of precision and recall needs a model of spans, with labels such as O, B-X and I-X")
    labels = list(tagger.labels)
    encoded = []
    blocks = read_blocks(tagger, path, labeled=True, format=format, label=label)
    for block, corpus in encoded_blocks(tagger.model, blocks):
        encoded.append((corpus, label_ids(block, labels)))
    check_no_missing(tagger.model, labels, path)
    if not sum(corpus.sentences for corpus, _ in encoded):
        raise DataError(f"{path}: has no sentences")
    gold = np.concatenate([ids for _, ids in encoded])
    check_same_task(tagger.model, [labels[tag] for tag in np.unique(gold).tolist()], path)
    offsets = np.cumsum(np.concatenate([[0], *(np.diff(corpus.offsets) for corpus, _ in encoded)]))
    points = []
    for bias in biases:
        biased = tagger.model.with_bias(OUTSIDE, bias)
        found = np.concatenate([best_tags(biased, corpus) for corpus, _ in encoded])
        spans = score(labels, gold, found, offsets, strict=strict).overall
        assert spans is not None  # the labels mark spans
        points.append(OperatingPoint(float(bias), spans))
    return points


def curve_table(points: Sequence[OperatingPoint]) -> str:
    """Return the points as a table in which the best F1 is marked.

    >>> from sapo.evaluate import SpanCounts
    >>> print(curve_table([OperatingPoint(0.0, SpanCounts(4, 2, 1)), OperatingPoint(0.5, SpanCounts(4, 1, 1))]))
     bias  precision  recall     F1  found
    +0.00      50.00   25.00  33.33      2
    +0.50     100.00   25.00  40.00      1  best F1
    """
    from sapo.evaluate.scores import text_table

    best = max(points, key=lambda point: point.spans.f1)
    rows = [["bias", "precision", "recall", "F1", "found", ""]]
    for point in points:
        spans = point.spans
        numbers = (f"{100 * value:.2f}" for value in (spans.precision, spans.recall, spans.f1))
        rows.append([f"{point.bias:+.2f}", *numbers, str(spans.found), "best F1" if point is best else ""])
    return "\n".join(text_table(rows, left=(5,)))
