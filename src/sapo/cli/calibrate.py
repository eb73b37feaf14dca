"""sapo calibrate: fit the temperature of a model on a labeled file."""

import click

from sapo.cli.options import (
    Ticker,
    announce_compiling,
    encoding_option,
    format_option,
    label_option,
    model_first,
    quiet_option,
    refuse_other_file,
    refuse_same_file,
    tell,
)
from sapo.errors import OptionError


@click.command("calibrate")
@click.argument("model")
@click.argument("dev")
@click.option("--output", "-o", metavar="FILE", help="Where to save the model. Default: replace MODEL.")
@click.option(
    "--by",
    type=click.Choice(["spans", "tokens", "sentences"], case_sensitive=False),
    help="Which answers to count. Default: spans if the labels mark them, else tokens.",
)
@format_option
@encoding_option
@label_option
@quiet_option
def calibrate_command(
    model: str,
    dev: str,
    output: str | None,
    by: str | None,
    format: str | None,
    encoding: str | None,
    label: str | None,
    quiet: bool,
) -> None:
    """Make the probabilities of a model trustworthy.

    sapo calibrate chunk.sapo dev.txt

    DEV is a labeled file that the model was not trained on. sapo counts the errors of the model in it, and finds the
    temperature at which the model expects as many. It is stored in the model: all probabilities change, the tags do
    not. sapo train has done this already, on its dev set or on sentences that it held out. sapo eval --calibration
    shows how good the probabilities are.
    """
    from sapo.corpus.files import check_writable
    from sapo.tagger.tagger import Tagger
    from sapo.training.calibration import calibrate

    model, dev = model_first(model, dev)
    target = output or model
    if target == "-":
        raise OptionError("a model cannot go to standard output; give the name of a file with -o")
    refuse_same_file({"the labeled data": dev}, {"-o": target})
    check_writable(target)
    refuse_other_file(target)
    announce_compiling(quiet)
    tagger = Tagger.load(model)
    tried: list[tuple[float, float]] = []
    notes: list[str] = []
    ticker = Ticker(quiet)

    def watch(temperature: float, share: float) -> None:
        tried.append((temperature, share))
        ticker.tell(f"temperature {temperature:.4g}, expected errors {100 * share:.2f} %")

    calibrated = calibrate(
        tagger, dev, by=by, watch=watch, say=notes.append, format=format, encoding=encoding, label=label
    )
    ticker.end()
    calibrated.save(target)
    if not quiet:
        (before, expected_before), (_, expected) = tried[0], tried[-1]
        tell(f"temperature {before:.4g} -> {calibrated.model.temperature:.4g}")
        tell(f"expected errors {100 * expected_before:.2f} % -> {100 * expected:.2f} %")
        for note in notes:
            tell(note)
        tell(f"saved {target}")
