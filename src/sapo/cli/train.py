"""sapo train: a labelled file in, a model file out."""

import dataclasses
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sapo.cli.options import (
    ColumnsOption,
    FormatOption,
    LabelOption,
    QuietOption,
    announce_compiling,
    refuse_same_file,
    split_names,
    tell,
)
from sapo.errors import SapoError

if TYPE_CHECKING:
    from sapo.cli.progress import Quiet
    from sapo.tagger import Tagger


def train_command(
    train: Annotated[str, typer.Argument(help="Labelled sentences: a file, zipped or not, or - for standard input.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.")],
    dev: Annotated[
        str | None,
        typer.Option(help="Labelled sentences to watch: the best pass on them is kept, and training stops early."),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            "--template",
            "-t",
            help="chunking, pos, ner, or a template file (CRF++ files too). Default: by the columns.",
        ),
    ] = None,
    format: FormatOption = None,
    label: LabelOption = None,
    columns: ColumnsOption = None,
    min_count: Annotated[int, typer.Option(help="Leave out features that occur less often.")] = 1,
    learner: Annotated[
        str,
        typer.Option(
            "--learner",
            "-l",
            help="sapo, crf, perceptron, mira or mira-nbest; each with -avg for weights averaged over all steps.",
        ),
    ] = "sapo",
    n: Annotated[int, typer.Option("--n", "-n", help="Taggings to search for at each step.")] = 5,
    strength: Annotated[float, typer.Option(help="Strength of the regulariser (lambda).")] = 1.0,
    rate: Annotated[
        str, typer.Option(help="Learning rate of the first pass; auto calibrates it on the data.", metavar="NUMBER")
    ] = "auto",
    schedule: Annotated[
        str, typer.Option(help="How the rate falls: exponential (by --decay a pass), inverse (time) or fixed.")
    ] = "exponential",
    decay: Annotated[float, typer.Option(help="How fast the rate falls.")] = 0.9,
    regulariser: Annotated[str, typer.Option(help="l2, l1 (sparse), group-lasso (by template) or none.")] = "l2",
    search: Annotated[str, typer.Option(help="How to search: topn, astar (both exact) or beam.")] = "topn",
    width: Annotated[int, typer.Option(help="Width of the beam.")] = 50,
    order: Annotated[
        str, typer.Option(help="shuffle the sentences before each pass, or draw with replacement.")
    ] = "shuffle",
    stop_ratio: Annotated[
        float, typer.Option(help="Leave out taggings this many times less probable than the best.")
    ] = float("inf"),
    epochs: Annotated[int, typer.Option("--epochs", "-e", help="Passes over the training data, at most.")] = 20,
    patience: Annotated[int, typer.Option(help="Passes without a better dev score before stopping.")] = 5,
    tolerance: Annotated[float, typer.Option(help="Stop when the objective changes relatively less than this.")] = 1e-3,
    threads: Annotated[
        int, typer.Option(help="Learn in several threads at once: faster, and not the same from run to run.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="Fixes everything that is random.")] = 0,
    checkpoint: Annotated[Path | None, typer.Option(help="Save the state of training here after each pass.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint, if it is there.")] = False,
    log: Annotated[Path | None, typer.Option(help="Write a line of JSON for each pass here.")] = None,
    continued: Annotated[
        Path | None,
        typer.Option("--continue", help="Go on from this model with new sentences: it learns them and keeps the rest."),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Train a model: sapo train train.txt --dev dev.txt --template chunking -o chunk.sapo"""
    from sapo.cli.progress import JsonLog, make_progress
    from sapo.corpus.files import check_writable
    from sapo.learn import Observer, Settings
    from sapo.online import PASSES
    from sapo.training import find_learner, prepare, run, with_calibrated_rate

    settings = Settings(
        n=n,
        strength=strength,
        **({} if rate == "auto" else {"rate": _number(rate)}),
        decay=decay,
        schedule=schedule,
        regulariser=regulariser,
        search=search,
        width=width,
        order=order,
        threads=threads,
        stop_ratio=stop_ratio,
        epochs=epochs,
        patience=patience,
        tolerance=tolerance,
        seed=seed,
    )
    for path in (output, checkpoint, log):
        if path is not None:
            check_writable(path)
    find_learner(learner)
    if str(output) == "-":
        raise SapoError("a model cannot go to standard output; give the name of a file with -o")
    if resume and checkpoint is None:
        raise SapoError("--resume needs --checkpoint FILE to tell where to go on from")
    inputs = {"the training data": train, "the dev data": dev, "the template": template}
    refuse_same_file({**inputs, "-o": output, "--checkpoint": checkpoint, "--log": log})
    announce_compiling(quiet)
    if continued is not None:
        if dev or template or checkpoint or log:
            raise SapoError("--continue takes neither --dev, --template, --checkpoint nor --log")
        progress = make_progress(dataclasses.replace(settings, epochs=PASSES), quiet=quiet)
        _continue(continued, train, output, progress, format=format, label=label, columns=split_names(columns))
        return
    progress = make_progress(settings, quiet=quiet)
    progress.say(f"reading {train}")
    prepared = prepare(
        train, dev=dev, template=template, format=format, label=label, columns=split_names(columns), min_count=min_count
    )
    corpus = prepared.corpus
    progress.say(
        f"{corpus.sentences:,} sentences, {corpus.tokens:,} tokens, {len(prepared.labels):,} labels, "
        f"{prepared.encoder.features:,} features (template {prepared.template})"
    )
    for unseen in prepared.unseen:
        tell(f"sapo: warning: the label '{unseen}' of the dev data never occurs in the training data")
    if rate == "auto":
        settings = with_calibrated_rate(prepared, settings, learner)
        progress.say(f"start rate {settings.rate} (calibrated)")
    observers: list[Observer] = [progress]
    if log is not None:
        observers.append(JsonLog(log, settings, prepared, append=resume))
    with progress.running(prepared.score_name if dev else None, corpus.tokens):
        outcome = run(
            prepared,
            settings,
            learner=learner,
            observers=observers,
            checkpoint=checkpoint,
            resume=resume,
        )
    progress.say(f"{outcome.reason}; kept pass {outcome.best_epoch}")
    _save(outcome.tagger, output)
    progress.say(f"saved {output} ({output.stat().st_size / 1e6:.1f} MB)")
    if outcome.reason == "interrupted":
        raise typer.Exit(130)


def _continue(model: Path, data: str, output: Path, progress: "Quiet", **reading: Any) -> None:
    from sapo.online import continue_training
    from sapo.tagger import Tagger

    tagger = Tagger.load(model)
    progress.say(f"going on from {model} with {data}")
    with progress.running(None, 0):
        tagger = continue_training(tagger, data, observers=[progress], **reading)
    _save(tagger, output)
    progress.say(f"saved {output} ({output.stat().st_size / 1e6:.1f} MB)")


def _number(rate: str) -> float:
    try:
        return float(rate)
    except ValueError:
        raise SapoError(f"rate must be auto or a number, not {rate}") from None


def _save(tagger: "Tagger", output: Path) -> None:
    """Save; if that fails now, save the work of hours somewhere else rather than lose it."""
    try:
        tagger.save(output)
    except SapoError as error:
        refuge = Path(tempfile.mkdtemp(prefix="sapo-")) / output.name
        try:
            tagger.save(refuge)
        except SapoError:
            refuge.parent.rmdir()
            raise error from None
        raise SapoError(f"{error}; the model was saved as {refuge} instead") from None
