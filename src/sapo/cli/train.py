"""sapo train: train a model on a labeled file."""

import dataclasses
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sapo.cli.options import (
    GroupedCommand,
    announce_compiling,
    columns_option,
    encoding_option,
    format_option,
    label_option,
    parse_numbers,
    quiet_option,
    ray_option,
    refuse_other_file,
    refuse_same_file,
    split_names,
    tell,
    tell_saved,
    was_given,
)
from sapo.errors import OptionError, SapoError, did_you_mean

if TYPE_CHECKING:
    from sapo.apps.ray.training import Cluster
    from sapo.learn.settings import Option
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
F = TypeVar("F", bound=Callable[..., Any])

OWN = ("--n -n", "--rate", "--strength", "--epochs -e", "--threads", "--seed")  # settings with options of their own
RATE = ("rate", "schedule", "decay")
PENALTY = ("strength", "regularizer")
SEARCH = ("search", "width", "stop_ratio")
PARAMETER = re.compile(r"^(\w+)(?= must be |: only for )")  # the parameter that an error of the library is about


def declared() -> "dict[str, Option]":
    """Return all declared options by name. What declares them loads NumPy, which `sapo --help` must not wait for."""
    from sapo.apps.ray.training import Cluster
    from sapo.learn.settings import Settings, options_of
    from sapo.neural.options import NeuralOptions
    from sapo.training.plan import LabelOptions

    return {
        name: one for kind in (Settings, NeuralOptions, LabelOptions, Cluster) for name, one in options_of(kind).items()
    }


class SettingOption(click.Option):
    """An option whose help is made from the declarations when it is shown."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        known = declared()
        if option := known.get(str(self.name)):
            self.help = f"{option.help}  [default: {'auto' if option.auto else option.default}]"
        else:
            self.help = f"Another setting of docs/reference/learners.md: {', '.join(_other_settings())}."
        return super().get_help_record(ctx)


def _other_settings() -> list[str]:
    """Return the settings of linear learners that have no option of their own."""
    from sapo.learn.settings import Settings, options_of

    own = [words.split()[0][2:] for words in OWN]
    return [*(name for name in options_of(Settings) if name not in own), "constraints"]


def setting_options(command: F) -> F:
    """Add the options of settings to a command, and --set for those that have no option of their own."""
    command = set_option(command)
    for words in reversed(OWN):
        command = click.option(*words.split(), cls=SettingOption, metavar="NUMBER")(command)
    return command


# `sapo distil` has these, too.
output_option = click.option("--output", "-o", required=True, type=PATH, help="The model file to write.")
dev_option = click.option(
    "--dev",
    metavar="FILE",
    help="Labeled sentences that decide when to stop and which epoch to keep, and calibrate the probabilities.",
)
template_option = click.option(
    "--template",
    "-t",
    metavar="NAME",
    help="A preset (pos-best, ner ...) or a template file (CRF++ files too). Default: by columns and tags.",
)
clusters_option = click.option(
    "--clusters",
    multiple=True,
    metavar="FILE",
    help="Word clusters, made by sapo cluster or elsewhere (bits, word and count on each line). May be repeated.",
)
names_option = click.option(
    "--names",
    multiple=True,
    metavar="KIND=FILE",
    help="Names of a kind, such as city=cities.txt: one on each line, or CSV or JSONL. Capitals count with "
    "city:case=cities.txt. May be repeated.",
)
unlabeled_option = click.option(
    "--unlabeled",
    multiple=True,
    metavar="TEXT",
    help="Text without labels: clusters of its words are made, and kept for later runs. May be repeated.",
)
verbose_option = click.option(
    "--verbose", "-v", is_flag=True, help="Print a line for each epoch and each trial of settings, too."
)
set_option = click.option("--set", "more", cls=SettingOption, multiple=True, metavar="NAME=VALUE")


class TrainCommand(GroupedCommand):
    """The help of `sapo train`, without what few people need."""

    groups = {  # noqa: RUF012
        "Files": ("output", "dev", "format", "encoding", "columns", "label", "missing"),
        "Features and labels": (
            *("template", "clusters", "unlabeled", "names", "vectors", "repetition", "min_count"),
            *("scheme", "rules", "class_weight"),
        ),
        "Learning": ("learner", "n", "rate", "strength", "epochs", "threads", "seed", "more"),
        "Long runs": ("log", "checkpoint", "resume", "stream"),
        "More sentences for a model": ("continued", "new_labels"),
    }
    elsewhere = ("ray",)


@click.command(
    "train",
    cls=TrainCommand,
    epilog="Networks: --learner bilstm-sapo, bilstm-crf ..., see docs/how-to/neural.md. "
    "Several cores or machines: --ray ADDRESS, see docs/how-to/cluster.md.",
)
@click.argument("train")
@output_option
@dev_option
@template_option
@clusters_option
@unlabeled_option
@names_option
@click.option(
    "--vectors",
    metavar="FILE",
    help="Word vectors of word2vec, GloVe or fastText, or in a safetensors file. Networks start from them.",
)
@click.option(
    "--repetition",
    default="off",
    show_default=True,
    metavar="on|off|auto",
    help="Tag twice: the second pass sees what the first one tagged the same words in sentences nearby. auto: if that "
    "gains on held-out sentences.",
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
    "sapo-plain: Algorithm 1 of the paper and nothing else. crf-lbfgs: the CRF at its optimum.",
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
@verbose_option
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
    verbose: bool,
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
        if "vectors" in given and "vectors" in settings:
            raise OptionError("--vectors is given twice; leave --set vectors out")
        given["columns"] = split_names(given.get("columns"))
        if "class_weight" in given:
            given["class_weight"] = parse_class_weight(given["class_weight"])
        given["names"] = parse_names(given["names"])
        plan = make_plan(train, dev=dev, template=template, learner=learner, settings=settings, **given)
        plan = plan if checkpoint is None else dataclasses.replace(plan, checkpoint=checkpoint)
        find_system(learner).check()
        _check_files(plan, output, log, continued)
        announce_compiling(quiet)
        _return_freed_memory()
        if continued is None:
            if new_labels:
                raise OptionError("--new-labels is for --continue; a new model learns all labels")
            for message in unused_options(plan, settings):
                _tell_warning(f"{message}; leave it out")
            done = _train(plan, log, quiet, verbose, cluster)
            tagger, interrupted = done.tagger, done.stop.interrupted
        elif cluster is not None:
            raise OptionError("--continue learns in this process; leave --ray out")
        else:
            trainer = _continue(plan, given, settings, log, continued, quiet, verbose)
            tagger, interrupted = trainer.snapshot(), trainer.interrupted
    save_or_rescue(tagger, output)
    if not quiet:
        following = "" if interrupted else f"; next: sapo eval {output} TEST, or sapo tag {output} FILE"
        tell_saved(output, following)
    if interrupted:
        raise SystemExit(130)


def _return_freed_memory() -> None:
    """Let the C library return the memory of large arrays to the system as soon as they are freed.

    Otherwise glibc raises the size from which it maps memory whenever a larger block is freed; later arrays then come
    from its heaps, which seldom shrink. That is 60 MB of the peak of training on CoNLL-2000.
    """
    import ctypes

    M_MMAP_THRESHOLD = -3  # of malloc.h
    with suppress(AttributeError, OSError, TypeError):  # other C libraries have no mallopt
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 1 << 22)


def _check_files(plan: "Plan", output: Path, log: Path | None, continued: Path | None) -> None:
    """Raise SapoError if a file cannot be read or written, before any work is done."""
    from sapo.corpus.files import check_readable, check_writable
    from sapo.corpus.formats import format_of
    from sapo.features.template import PRESETS

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
        **{f"the clusters {path}": path for path in plan.clusters},
        **{f"the text {path}": path for path in plan.unlabeled},
        **{f"the names {path}": path for path in plan.names.values()},
        "the vectors": plan.vectors if plan.network is None else plan.network.vectors,
    }
    refuse_same_file(inputs, {"-o": output, "--checkpoint": plan.checkpoint, "--log": log})
    refuse_other_file(output)
    known = (*plan.clusters, *plan.unlabeled, *plan.names.values(), inputs["the vectors"])
    for source in (train, dev, rules, continued, *known):
        if isinstance(source, str | Path):
            if source in plan.unlabeled and Path(source).is_dir():
                continue
            if source in (train, dev) and Path(source).is_dir():
                format_of(source, plan.reading.get("format"))  # some formats are directories
            else:
                check_readable(source)


def _train(plan: "Plan", log: Path | None, quiet: bool, verbose: bool, cluster: "Cluster | None" = None) -> "Outcome":
    from sapo.cli.inspect import looked_text
    from sapo.cli.progress import JsonLog, make_progress
    from sapo.learn.records import Observer
    from sapo.training.data import warn_of
    from sapo.training.run import start

    progress = make_progress(plan.settings, quiet=quiet, verbose=verbose)
    progress.detail(f"reading {plan.data}")
    run = start(plan, show=progress, check=lambda data: warn_of(plan, data, warn=_tell_warning))
    observers = list[Observer]()
    if cluster is not None:
        cluster = dataclasses.replace(cluster, say=progress.detail)
    if log is not None:
        written = JsonLog(log, run)
        observers.append(written)
        if cluster is not None:
            cluster = dataclasses.replace(cluster, log=written.note)
    outcome = run.finish_shown(progress, observers, cluster=cluster)
    kept = [record.as_json() for record in outcome.history if record.epoch == outcome.best_epoch]
    for line in (looked_text(record, len(run.data.labels)) for record in kept):
        if line is not None:
            progress.detail(line)
    return outcome


def _tell_warning(message: str) -> None:
    tell(f"sapo: warning: {message}")


def _continue(
    plan: "Plan",
    given: dict[str, Any],
    settings: dict[str, Any],
    log: Path | None,
    model: Path,
    quiet: bool,
    verbose: bool,
) -> "Trainer":
    from sapo.cli.progress import make_progress
    from sapo.training.update import PASSES, Trainer

    known = any((plan.clusters, plan.unlabeled, plan.names, plan.vectors, plan.repetition != "off"))
    if plan.dev or plan.template or known or plan.checkpoint or log:
        raise OptionError(
            "--continue works without --dev, --template, --clusters, --unlabeled, --names, --vectors, --repetition, "
            "--checkpoint and --log; leave them out"
        )
    if plan.labels.rules or was_given("scheme") or not plan.labels.constraints:
        raise OptionError(
            "--continue keeps the rules and the scheme of the model; leave --rules, --scheme and --set constraints out"
        )
    for name in ("learner", "min_count", "stream"):
        if was_given(name):
            option = f"--{name.replace('_', '-')}"
            raise OptionError(f"--continue trains as before; leave {option} out")
    if settings.get("rate") == "auto":
        raise OptionError(
            "--continue cannot choose a rate; give a number, or leave --rate out to keep that of the model"
        )
    shown = dataclasses.replace(plan.settings, epochs=settings.get("epochs", PASSES))
    progress = make_progress(shown, quiet=quiet, verbose=verbose)
    settings.pop("constraints", None)  # is on: those of the model hold
    trainer = Trainer(model)
    progress.say(f"going on from {model} with {plan.data}")
    names = ("format", "encoding", "label", "columns", "missing", "class_weight")
    of_data: dict[str, Any] = {name: given.get(name) for name in names}
    of_data["new_labels"] = was_given("new_labels")
    with progress.running(None, 0):
        trainer.update(str(plan.data), observers=[progress], **of_data, **settings)
    progress.say(str(trainer.stopped))
    return trainer


def take_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of `setting_options`; return what the user gave. Raise SapoError if a name is unknown.

    A command may have `set_option` alone.
    """
    known, values = declared(), dict[str, Any]()
    names = [words.split()[0][2:] for words in OWN]
    given = [(name, "=", text) for name in names if (text := options.pop(name, None)) is not None]
    for name, equals, text in (*given, *(one.partition("=") for one in options.pop("more"))):
        name = name.strip().replace("-", "_")
        if not equals:
            raise OptionError(f"--set must be NAME=VALUE, as decay=0.8, not '{name}'")
        if name not in known:
            raise OptionError(f"--set: unknown setting '{name}'{did_you_mean(name, known)}")
        if name in values:
            raise OptionError(f"{option_name(name)} is given twice; give it once")
        values[name] = known[name].parse(text.strip())
    return values


def option_name(parameter: str) -> str:
    """Return how a parameter of the library is given to the running command."""
    for option in click.get_current_context().command.params:
        if option.name == parameter and isinstance(option, click.Option):
            return option.opts[0]
    return f"--set {parameter}" if parameter in declared() else parameter


@contextmanager
def errors_name_options() -> Iterator[None]:
    """Let errors name options as the command line does: --rate and --set decay instead of rate and decay."""
    try:
        yield
    except SapoError as error:
        message = PARAMETER.sub(lambda found: option_name(found[0]), str(error))
        raise OptionError(message) from error


def parse_class_weight(text: str) -> dict[str, float] | str:
    """Return the weights in a text such as B-X=2,I-X=2; a text without = is returned as it is.

    >>> parse_class_weight("B-X=2,O=0.5")
    {'B-X': 2.0, 'O': 0.5}
    """
    if "=" not in text:
        return text
    weights: dict[str, float] = {}
    for label, weight in parse_numbers([text], "--class-weight"):
        if label in weights:
            raise OptionError(f"--class-weight has two weights for '{label}'; give one")
        weights[label] = weight
    return weights


def parse_names(given: Sequence[str]) -> dict[str, str]:
    """Return the files of name lists by their kind.

    >>> parse_names(["city=lists/cities.txt", "first=first.csv"])
    {'city': 'lists/cities.txt', 'first': 'first.csv'}
    """
    files: dict[str, str] = {}
    for text in given:
        kind, equals, file = text.partition("=")
        if not (kind and equals and file):
            raise OptionError(f"--names must be a kind and a file, such as city=cities.txt, not '{text}'")
        if kind in files:
            raise OptionError(f"--names has two files for '{kind}'; join them, or give one of them another kind")
        files[kind] = file
    return files


def unused_options(plan: "Plan", given: Collection[str]) -> list[str]:
    """Return a message for each of the given settings that changes nothing in this run."""
    names = _of_no_use(plan.learner)
    messages = [f"{option_name(name)} is not used by {plan.learner}" for name in given if name in names]
    settings = plan.settings
    for name, unused, reason in (
        ("width", settings.search != "beam", "it is the width of --set search=beam"),
        ("decay", settings.schedule == "fixed", "--set schedule=fixed keeps the rate"),
        ("strength", settings.regularizer == "none", "--set regularizer=none has no strength"),
        ("patience", plan.dev is None, "it counts dev scores; give --dev FILE"),
    ):
        if name in given and name not in names and unused:
            messages.append(f"{option_name(name)} is not used: {reason}")
    return messages


def _of_no_use(name: str) -> set[str]:
    """Return the settings that a learner does not use."""
    from sapo.learn import LEARNERS
    from sapo.learn.batch_crf import CRF_LBFGS
    from sapo.neural.options import LAYERS

    if name in LAYERS:
        nbest = () if LAYERS[name] == "sapo" else ("n", "stop_ratio")
        return {*PENALTY, "search", "width", "piece", "average", "hide", "exact", "all_pairs", *nbest}
    if name == CRF_LBFGS:
        return {"n", *RATE, *SEARCH, "piece", "average", "hide", "order", "seed"}
    learner, unused = LEARNERS[name], set[str]()
    if not learner.n_best:
        unused |= {"n", "stop_ratio"}
    if not learner.regularized:
        unused |= {*RATE, *PENALTY, "stop_ratio"}
    if not learner.searches:
        unused |= {*SEARCH}
    if not learner.all_labels:
        unused |= {"all_pairs"}
    return unused


def take_cluster(address: str | None, settings: dict[str, Any]) -> "Cluster | None":
    """Remove the settings of a cluster; return the cluster that they mean, or None if there is no --ray."""
    given = {name: settings.pop(name) for name in ("workers", "mixings") if name in settings}
    if address is None:
        for name in given:
            raise OptionError(f"--set {name} is for --ray; add --ray local, or leave it out")
        return None
    from sapo.apps.ray.connection import load_ray
    from sapo.apps.ray.training import Cluster

    load_ray()  # before the data is read
    return Cluster(address, **given)
