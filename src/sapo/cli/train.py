"""sapo train: train a model on a labeled file."""

import dataclasses
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sapo.cli.cluster import ray_option, take_cluster
from sapo.cli.options import (
    announce_compiling,
    columns_option,
    encoding_option,
    format_option,
    label_option,
    quiet_option,
    refuse_other_file,
    refuse_same_file,
    split_names,
    tell,
    tell_saved,
    was_given,
)
from sapo.cli.train_options import (
    errors_name_options,
    parse_class_weight,
    setting_options,
    take_settings,
    unused_options,
)
from sapo.errors import OptionError, SapoError

if TYPE_CHECKING:
    from sapo.apps.ray.training import Cluster
    from sapo.tagger.tagger import Tagger
    from sapo.training.plan import Plan
    from sapo.training.run import Outcome
    from sapo.training.update import Trainer


def save_or_rescue(tagger: "Tagger", output: Path) -> None:
    """Save the model. If that fails, save it in a new temporary directory, and raise a SapoError that says where."""
    try:
        tagger.save(output)
    except Exception as error:  # whatever went wrong, the model is still in memory
        reason = str(error) if isinstance(error, SapoError) else f"{output}: cannot be written ({error})"
        refuge = Path(tempfile.mkdtemp(prefix="sapo-")) / output.name
        try:
            tagger.save(refuge)
        except Exception:
            refuge.parent.rmdir()
            raise OptionError(reason) from error
        raise OptionError(f"{reason}; the model was saved as {refuge} instead") from error


PATH = click.Path(path_type=Path)


@click.command("train")
@click.argument("train")
@click.option("--output", "-o", required=True, type=PATH, help="The model file to write.")
@click.option(
    "--dev",
    metavar="FILE",
    help="Labeled sentences that decide when to stop and which epoch to keep, and calibrate the probabilities.",
)
@click.option(
    "--template",
    "-t",
    metavar="NAME",
    help="A preset (pos-best, ner ...) or a template file (CRF++ files too). Default: by columns and tags.",
)
@format_option
@encoding_option
@label_option
@columns_option
@click.option("--min-count", default=1, show_default=True, help="Leave out features that occur less often than this.")
@click.option(
    "--stream",
    type=PATH,
    metavar="DIRECTORY",
    help="For data larger than memory: read it into shards in this directory, and learn from them. What is there "
    "already is used. The checkpoint is there, too.",
)
@click.option(
    "--learner",
    "-l",
    default="sapo",
    show_default=True,
    metavar="NAME",
    help="sapo, crf, perceptron, mira or mira-nbest; each with -avg for weights averaged over all steps. "
    "crf-lbfgs: the CRF at its optimum. Networks: bilstm, bilstm-crf, bilstm-sapo, bilstm-perceptron.",
)
@setting_options
@click.option("--checkpoint", type=PATH, help="Save the state of training here after each epoch.")
@click.option("--resume", is_flag=True, help="Continue from the checkpoint, if it exists.")
@click.option("--log", type=PATH, help="Write a line of JSON for each epoch here.")
@click.option(
    "--continue",
    "continued",
    type=PATH,
    help="Continue training this model with new sentences: it learns them and keeps what it knows.",
)
@click.option("--new-labels", is_flag=True, help="With --continue: also learn labels that the model does not know.")
@click.option(
    "--rules",
    type=PATH,
    metavar="FILE",
    help="Rules, one a line: 'forbid A B' (B after A), 'allow A B', 'start A ...', 'end A ...'; * for anything.",
)
@click.option(
    "--scheme",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="Learn the labels in this scheme (bioes, bilou, iob2; keep: as they are); tags come out in the scheme of "
    "the training data. auto: in bioes, where that is better.",
)
@click.option("--missing", metavar="MARK", help="How a missing tag is written, such as '_': it may be any tag.")
@click.option(
    "--class-weight",
    metavar="WEIGHTS",
    help="Weights of labels, such as B-X=2,I-X=2; or balanced: the rarer a label, the larger its weight.",
)
@ray_option
@quiet_option
def train_command(
    train: str,
    output: Path,
    dev: str | None,
    template: str | None,
    learner: str,
    log: Path | None,
    checkpoint: Path | None,
    continued: Path | None,
    new_labels: bool,
    ray: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Train a model.

    sapo train train.txt --dev dev.txt --template chunking -o chunk.sapo

    TRAIN holds labeled sentences: a file, plain or compressed, or - for standard input.
    """

    from sapo.training.learners import find_system
    from sapo.training.plan import make_plan

    with errors_name_options():
        settings = take_settings(options)
        cluster = take_cluster(ray, settings)
        given = {name: value for name, value in options.items() if value is not None}
        given["columns"] = split_names(given.get("columns"))
        if "class_weight" in given:
            given["class_weight"] = parse_class_weight(given["class_weight"])
        if "constraints" in settings:
            given["constraints"] = settings.pop("constraints")
        plan = make_plan(train, dev=dev, template=template, learner=learner, settings=settings, **given)
        plan = plan if checkpoint is None else dataclasses.replace(plan, checkpoint=checkpoint)
        find_system(learner).check()
        _check_files(plan, output, log, continued)
        announce_compiling(quiet)
        if continued is None:
            if new_labels:
                raise OptionError("--new-labels is for --continue; a new model learns all labels")
            for message in unused_options(plan, settings):
                _tell_warning(f"{message}; leave it out")
            done = _train(plan, log, quiet, cluster)
            tagger, interrupted = done.tagger, done.stop.interrupted
        elif cluster is not None:
            raise OptionError("--continue learns in this process; leave --ray out")
        else:
            trainer = _continue(plan, given, settings, log, continued, quiet)
            tagger, interrupted = trainer.snapshot(), trainer.interrupted
    save_or_rescue(tagger, output)
    if not quiet:
        tell_saved(output)
    if interrupted:
        raise SystemExit(130)


def _check_files(plan: "Plan", output: Path, log: Path | None, continued: Path | None) -> None:
    """Raise SapoError if a file cannot be read or written, before any work is done."""
    from sapo.corpus.files import check_readable, check_writable
    from sapo.corpus.formats import format_of
    from sapo.features.presets import PRESETS

    for path in (output, None if plan.stream else plan.checkpoint, log):  # the directory of a stream is made later
        if path is not None:
            check_writable(path)
    if str(output) == "-":
        raise OptionError("a model cannot go to standard output; give the name of a file with -o")
    if plan.resume and plan.checkpoint is None:
        raise OptionError("--resume needs --checkpoint FILE, the checkpoint to continue from")
    train, dev, rules = str(plan.data), plan.dev, plan.labels.rules or None
    inputs: Any = {
        "the training data": train,
        "the dev data": dev,
        "the template": None if plan.template in PRESETS else plan.template,
        "the rules": rules,
        "the vectors": None if plan.network is None else plan.network.vectors,
    }
    refuse_same_file(inputs, {"-o": output, "--checkpoint": plan.checkpoint, "--log": log})
    refuse_other_file(output)
    for source in (train, dev, rules, continued):
        if isinstance(source, str | Path):
            if source in (train, dev) and Path(source).is_dir():
                format_of(source, plan.reading.get("format"))  # some formats are directories
            else:
                check_readable(source)


def _train(plan: "Plan", log: Path | None, quiet: bool, cluster: "Cluster | None" = None) -> "Outcome":
    from sapo.cli.inspect import looked_text
    from sapo.cli.progress import JsonLog, make_progress
    from sapo.learn.records import Observer
    from sapo.training.calibration import calibrated_on_dev
    from sapo.training.data import warn_of
    from sapo.training.run import start

    progress = make_progress(plan.settings, quiet=quiet)
    progress.say(f"reading {plan.data}")
    run = start(plan, told=progress.say, check=lambda data: warn_of(plan, data, warn=_tell_warning))
    progress.settings = run.settings  # with the number of epochs that was chosen
    observers: list[Observer] = [progress]
    if cluster is not None:
        cluster = dataclasses.replace(cluster, say=progress.say)
    if log is not None:
        written = JsonLog(log, run)
        observers.append(written)
        if cluster is not None:
            cluster = dataclasses.replace(cluster, log=written.note)
    with progress.running(run.data.score_name if plan.dev else None, run.data.source.tokens):
        outcome = run.finish(observers, cluster=cluster)
    kept = [record.as_json() for record in outcome.history if record.epoch == outcome.best_epoch]
    for line in (looked_text(record, len(run.data.labels)) for record in kept):
        if line is not None:
            progress.say(line)
    progress.say(f"{outcome.stop}; kept epoch {outcome.best_epoch}{_why(outcome) if plan.dev else ''}")
    if outcome.stop.interrupted:
        return outcome
    return dataclasses.replace(outcome, tagger=calibrated_on_dev(outcome.tagger, run.data, progress.say))


def _why(outcome: "Outcome") -> str:
    """Say why this epoch was kept, where there is a dev set."""
    scores = {record.epoch: record.dev for record in outcome.history if record.dev is not None}
    best = max(scores, key=lambda epoch: scores[epoch], default=outcome.best_epoch)
    if scores.get(outcome.best_epoch) == scores.get(best):
        return " (the best on the dev set: evaluate on other sentences)"
    return f", the last: epoch {best} ({100 * scores[best]:.2f}) is not better by more than a standard error"


def _tell_warning(message: str) -> None:
    tell(f"sapo: warning: {message}")


def _continue(
    plan: "Plan", given: dict[str, Any], settings: dict[str, Any], log: Path | None, model: Path, quiet: bool
) -> "Trainer":
    from sapo.cli.progress import make_progress
    from sapo.tagger.tagger import Tagger
    from sapo.training.update import PASSES, Trainer

    if plan.dev or plan.template or plan.checkpoint or log:
        raise OptionError("--continue takes neither --dev, --template, --checkpoint nor --log")
    if plan.labels.rules or was_given("scheme") or not plan.labels.constraints:
        raise OptionError("--continue takes neither --rules, --scheme nor --set constraints: those of the model hold")
    for name in ("learner", "min_count", "stream"):
        if was_given(name):
            option = f"--{name.replace('_', '-')}"
            raise OptionError(f"--continue takes no {option}: the model goes on as it was trained")
    if settings.get("rate") == "auto":
        raise OptionError("--continue takes no --rate auto: give a number, or none for that of the model")
    shown = dataclasses.replace(plan.settings, epochs=settings.get("epochs", PASSES))
    progress = make_progress(shown, quiet=quiet)
    trainer = Trainer(Tagger.load(model))
    progress.say(f"going on from {model} with {plan.data}")
    names = ("format", "encoding", "label", "columns", "missing", "class_weight")
    of_data: dict[str, Any] = {name: given.get(name) for name in names}
    of_data["new_labels"] = was_given("new_labels")
    with progress.running(None, 0):
        trainer.update(str(plan.data), observers=[progress], **of_data, **settings)
    progress.say(str(trainer.stopped))
    return trainer
