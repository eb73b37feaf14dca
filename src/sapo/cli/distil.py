"""sapo distil: train a small, fast student on what a teacher says about unlabeled text."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sapo.cli.options import (
    GroupedCommand,
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
    text_inputs,
)
from sapo.cli.train import (
    clusters_option,
    dev_option,
    errors_name_options,
    names_option,
    output_option,
    parse_names,
    save_or_rescue,
    set_option,
    take_settings,
    template_option,
    verbose_option,
)
from sapo.errors import OptionError

if TYPE_CHECKING:
    from sapo.training.plan import Plan


class DistilCommand(GroupedCommand):
    """The help of `sapo distil`, under headings."""

    groups = {  # noqa: RUF012
        "Files": ("output", "train", "dev", "teacher_command", "text_format"),
        "Teaching": ("weight", "nbest", "tokens"),
        "Gold data": ("format", "encoding", "columns", "label"),
        "Student": ("template", "clusters", "names", "more"),
    }


@click.command("distil", cls=DistilCommand)
@click.argument("files", nargs=-1, required=True, metavar="TEACHER [TEXT...]")
@output_option
@click.option("--train", metavar="FILE", help="Sentences with gold tags, which the student learns as well.")
@dev_option
@click.option(
    "--teacher-command",
    metavar="COMMAND",
    help="A program instead of TEACHER: it reads JSONL with tokens, and writes JSONL with tags or candidates. It is "
    "run without a shell.",
)
@click.option(
    "--text-format",
    metavar="NAME",
    help="Of TEXT: lines (a sentence per line, blanks between tokens), text (running text), or a format of sapo tag.",
)
@click.option(
    "--weight", default=0.3, show_default=True, metavar="X", help="The weight of a sentence of the teacher; gold has 1."
)
@click.option(
    "--n",
    "nbest",
    default=1,
    show_default=True,
    metavar="N",
    help="Learn up to N taggings of a sentence, by their probabilities.",
)
@click.option("--tokens", type=int, metavar="N", help="Label about N tokens of TEXT instead of all.")
@format_option
@encoding_option
@label_option
@columns_option
@template_option
@clusters_option
@names_option
@set_option
@quiet_option
@verbose_option
def distil_command(
    files: tuple[str, ...],
    output: Path,
    train: str | None,
    dev: str | None,
    teacher_command: str | None,
    text_format: str | None,
    weight: float,
    nbest: int,
    tokens: int | None,
    format: str | None,
    encoding: str | None,
    label: str | None,
    columns: str | None,
    template: str | None,
    clusters: tuple[str, ...],
    names: tuple[str, ...],
    more: tuple[str, ...],
    quiet: bool,
    verbose: bool,
) -> None:
    """Train a student on text that a teacher labels.

    sapo distil big.sapo news.txt.gz --train train.txt --dev dev.txt -o small.sapo

    TEACHER is a model; several models, separated by commas; the directory of a token classifier of Hugging Face
    transformers; or a JSONL file of sentences with tags or candidates, such as a large language model wrote, without
    TEXT. TEXT is tokenized text without labels, plain or compressed.

    docs/how-to/distil.md has more.
    """
    from sapo.cli.progress import make_progress
    from sapo.training.distil import DistilOptions, run_distillation
    from sapo.training.plan import make_plan
    from sapo.training.teachers import Command

    with errors_name_options():
        how = DistilOptions(weight=weight, nbest=nbest, tokens=tokens, text_format=text_format)
        plan = make_plan(
            train or [],
            dev=dev,
            template=template,
            settings=take_settings({"more": more}),
            format=format,
            encoding=encoding,
            label=label,
            columns=split_names(columns),
            clusters=clusters,
            names=parse_names(names),
        )
        teacher = files[0] if teacher_command is None else Command.parse(teacher_command)
        texts = files[1:] if teacher_command is None else files
        _check_files(plan, files, output, text_format)
        announce_compiling(quiet)
        show = make_progress(plan.settings, quiet=quiet, verbose=verbose)
        done = run_distillation(plan, teacher, texts, how, show)
    save_or_rescue(done.tagger, output)
    if not quiet:
        if line := done.line():
            tell(line)
        tell_saved(output)
    if done.stop.interrupted:
        raise SystemExit(130)


def _check_files(plan: "Plan", files: tuple[str, ...], output: Path, text_format: str | None) -> None:
    """Raise SapoError if a file cannot be read or written, before any work is done."""
    from sapo.corpus.files import check_readable, check_writable

    if str(output) == "-":
        raise OptionError("a model cannot go to standard output; give the name of a file with -o")
    check_writable(output)
    refuse_other_file(output)
    train = str(plan.data) if plan.data else None
    teachers = files[0].split(",") if not Path(files[0]).exists() else files[:1]
    inputs: dict[str, Any] = {"the training data": train, "the dev data": plan.dev}
    inputs |= {f"the teacher {path.strip()}": path.strip() for path in teachers}
    inputs |= {f"the input {path}": path for text in files[1:] for path in text_inputs(text, text_format).values()}
    inputs |= {f"the clusters {path}": path for path in plan.clusters}
    inputs |= {f"the names {path}": path for path in plan.names.values()}
    refuse_same_file(inputs, {"-o": output})
    if [train, plan.dev, *files].count("-") > 1:
        raise OptionError("standard input can be read only once; give - once")
    for path in (train, plan.dev, *files[1:], *plan.clusters, *plan.names.values()):
        if isinstance(path, str) and not Path(path).is_dir():
            check_readable(path)
