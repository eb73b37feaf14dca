"""sapo train: a labelled file in, a model file out."""

import dataclasses
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sapo.cli.conditions import label_conditions, parse_class_weight
from sapo.cli.learning import learning_options, parse_n, parse_rate
from sapo.cli.neural import network_options, take_network_options
from sapo.cli.options import (
    announce_compiling,
    columns_option,
    format_option,
    label_option,
    quiet_option,
    refuse_same_file,
    split_names,
    tell,
)
from sapo.errors import SapoError

if TYPE_CHECKING:
    from sapo.cli.progress import Quiet
    from sapo.tagger.tagger import Tagger

PATH = click.Path(path_type=Path)


@click.command("train")
@click.argument("train")
@click.option("--output", "-o", required=True, type=PATH, help="The model file to write.")
@click.option("--dev", metavar="FILE", help="Labelled sentences to watch: the best pass on them is kept.")
@click.option(
    "--template",
    "-t",
    metavar="NAME",
    help="A preset (chunking-best, pos-best, ner ...) or a template file (CRF++ files too). Default: by the columns.",
)
@format_option
@label_option
@columns_option
@click.option("--min-count", default=1, show_default=True, help="Leave out features that occur less often.")
@click.option(
    "--learner",
    "-l",
    default="sapo",
    show_default=True,
    metavar="NAME",
    help="sapo, crf, perceptron, mira or mira-nbest; each with -avg for weights averaged over all steps. "
    "Networks: bilstm, bilstm-crf, bilstm-sapo, bilstm-perceptron.",
)
@learning_options
@click.option("--checkpoint", type=PATH, help="Save the state of training here after each pass.")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, if it is there.")
@click.option("--log", type=PATH, help="Write a line of JSON for each pass here.")
@click.option(
    "--continue",
    "continued",
    type=PATH,
    help="Go on from this model with new sentences: it learns them and keeps the rest.",
)
@label_conditions
@network_options
@quiet_option
def train_command(
    train: str,
    output: Path,
    dev: str | None,
    template: str | None,
    format: str | None,
    label: str | None,
    columns: str | None,
    min_count: int,
    learner: str,
    rate: str,
    checkpoint: Path | None,
    resume: bool,
    log: Path | None,
    continued: Path | None,
    constraints: bool,
    rules: Path | None,
    scheme: str | None,
    missing: str | None,
    class_weight: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Train a model.

    sapo train train.txt --dev dev.txt --template chunking -o chunk.sapo

    TRAIN holds labelled sentences: a file, zipped or not, or - for standard input.
    """
    from sapo.cli.progress import JsonLog, make_progress
    from sapo.corpus.files import check_readable, check_writable
    from sapo.encode.presets import PRESETS
    from sapo.learn import Observer, Settings
    from sapo.neural.options import is_neural, need_torch
    from sapo.training.choices import check_learner, neural_options, with_calibrated_rate
    from sapo.training.data import prepare
    from sapo.training.labels import Conditions
    from sapo.training.run import run
    from sapo.training.update import PASSES

    check_learner(learner)
    network = neural_options(learner, take_network_options(options))
    if is_neural(learner):
        need_torch()
    if rate != "auto":
        options["rate"] = parse_rate(rate)
    options["n"] = parse_n(options["n"])
    settings = Settings(**{name: value for name, value in options.items() if value is not None})
    for path in (output, checkpoint, log):
        if path is not None:
            check_writable(path)
    if str(output) == "-":
        raise SapoError("a model cannot go to standard output; give the name of a file with -o")
    if resume and checkpoint is None:
        raise SapoError("--resume needs --checkpoint FILE to tell where to go on from")
    inputs = {
        "the training data": train,
        "the dev data": dev,
        "the template": None if template in PRESETS else template,
        "the rules": rules,
        "the vectors": network.vectors,
    }
    refuse_same_file(inputs, {"-o": output, "--checkpoint": checkpoint, "--log": log})
    for source in (train, dev, rules, continued):
        if source is not None:
            check_readable(source)
    conditions = Conditions(
        constraints=constraints,
        rules=() if rules is None else rules,
        scheme=scheme,
        missing=missing,
        class_weight=None if class_weight is None else parse_class_weight(class_weight),
    )
    announce_compiling(quiet)
    if continued is not None:
        if dev or template or checkpoint or log:
            raise SapoError("--continue takes neither --dev, --template, --checkpoint nor --log")
        if rules or scheme or not constraints:
            raise SapoError("--continue takes neither --rules, --scheme nor --no-constraints: those of the model hold")
        if _was_given("learner") or _was_given("min_count"):
            raise SapoError("--continue takes neither --learner nor --min-count: the model goes on as it was trained")
        if rate == "auto" and _was_given("rate"):
            raise SapoError("--continue takes no --rate auto: give a number, or none for that of the model")
        given = {name: options[name] for name in options if _was_given(name)}
        progress = make_progress(dataclasses.replace(settings, epochs=given.get("epochs", PASSES)), quiet=quiet)
        reading = {"format": format, "label": label, "columns": split_names(columns), "missing": missing}
        given["class_weight"] = conditions.class_weight
        _continue(continued, train, output, progress, **reading, **given)
        return
    progress = make_progress(settings, quiet=quiet)
    progress.say(f"reading {train}")
    reader: dict[str, Any] = {"format": format, "label": label, "columns": split_names(columns)}
    prepared = prepare(
        train,
        dev=dev,
        template=template,
        min_count=min_count,
        conditions=conditions,
        keep_texts=is_neural(learner),
        **reader,
    )
    corpus = prepared.corpus
    progress.say(
        f"{corpus.sentences:,} sentences, {corpus.tokens:,} tokens, {len(prepared.labels):,} labels, "
        f"{prepared.encoder.features:,} features (template {prepared.template})"
    )
    for note in prepared.lesson.notes:
        progress.say(note)
    for unseen in prepared.unseen:
        tell(f"sapo: warning: the label '{unseen}' of the dev data never occurs in the training data")
    if rate == "auto":
        settings = with_calibrated_rate(prepared, settings, learner)
        progress.say(f"start rate {settings.rate} ({'of Adam' if is_neural(learner) else 'calibrated'})")
    observers: list[Observer] = [progress]
    if log is not None:
        observers.append(JsonLog(log, settings, prepared, append=resume))
    with progress.running(prepared.score_name if dev else None, corpus.tokens):
        outcome = run(
            prepared,
            settings,
            learner=learner,
            options=network,
            observers=observers,
            checkpoint=checkpoint,
            resume=resume,
        )
    progress.say(f"{outcome.reason}; kept pass {outcome.best_epoch}")
    _end(outcome.tagger, output, progress, interrupted=outcome.reason == "interrupted")


def _was_given(option: str) -> bool:
    """Whether the person asked for it; what was not asked for is as in the model."""
    return click.get_current_context().get_parameter_source(option) == click.core.ParameterSource.COMMANDLINE


def _continue(model: Path, data: str, output: Path, progress: "Quiet", **how: Any) -> None:
    from sapo.tagger.tagger import Tagger
    from sapo.training.update import Trainer

    trainer = Trainer(Tagger.load(model))
    progress.say(f"going on from {model} with {data}")
    with progress.running(None, 0):
        trainer.update(data, observers=[progress], **how)
    progress.say(str(trainer.stopped))
    _end(trainer.snapshot(), output, progress, interrupted=trainer.stopped == "interrupted")


def _end(tagger: "Tagger", output: Path, progress: "Quiet", *, interrupted: bool) -> None:
    _save(tagger, output)
    progress.say(f"saved {output} ({output.stat().st_size / 1e6:.1f} MB)")
    if interrupted:
        raise SystemExit(130)


def _save(tagger: "Tagger", output: Path) -> None:
    """Save; if that fails now, save the work of hours somewhere else rather than lose it."""
    try:
        tagger.save(output)
    except Exception as error:  # whatever it is, the model is still there
        told = str(error) if isinstance(error, SapoError) else f"{output}: cannot be written ({error})"
        refuge = Path(tempfile.mkdtemp(prefix="sapo-")) / output.name
        try:
            tagger.save(refuge)
        except Exception:
            refuge.parent.rmdir()
            raise SapoError(told) from error
        raise SapoError(f"{told}; the model was saved as {refuge} instead") from error
