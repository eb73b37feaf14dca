"""sapo pipeline: tag a file with several taggers, each of which adds a column."""

from pathlib import Path
from typing import Any

import click

from sapo.cli.options import (
    announce_compiling,
    columns_option,
    encoding_option,
    format_option,
    quiet_option,
    refuse_same_file,
    split_names,
    tell,
)
from sapo.errors import OptionError


@click.command("pipeline")
@click.argument("input")
@click.option("--output", "-o", default="-", metavar="FILE", help="Where to write; - for standard output.")
@click.option(
    "--add",
    "steps",
    multiple=True,
    required=True,
    metavar="COLUMN=FILES",
    help="Add this column: with a model (pos=pos.sapo), or one trained now on labeled files (pos=a.txt,b.txt). "
    "May be given several times; each step may use the columns of those before it.",
)
@click.option(
    "--cross",
    type=int,
    default=0,
    metavar="K",
    help="For steps trained now: tag the input in K blocks, each with a model trained without what overlaps with it.",
)
@columns_option
@click.option("--no-label", is_flag=True, help="The last column of the input is not a gold tag.")
@click.option(
    "--template",
    "templates",
    multiple=True,
    metavar="COLUMN=NAME",
    help="For a step trained now: a preset (chunking-best ...) or a template file. Default: by columns and tags.",
)
@click.option(
    "--epochs", "-e", type=int, metavar="N", help="Epochs (passes over the training data), at most. Default: 15."
)
@click.option("--seed", default=0, show_default=True, help="Fixes everything that is random.")
@click.option("--threads", default=1, show_default=True, help="Tag in several threads; the result is the same.")
@format_option
@encoding_option
@click.option("--to", metavar="NAME", help="Write tagged text as columns or jsonl. Default: by the extension of -o.")
@quiet_option
def pipeline_command(
    input: str,
    output: str,
    steps: tuple[str, ...],
    cross: int,
    columns: str | None,
    no_label: bool,
    templates: tuple[str, ...],
    epochs: int | None,
    seed: int,
    threads: int,
    format: str | None,
    encoding: str | None,
    to: str | None,
    quiet: bool,
) -> None:
    """Tag a file with a stack of taggers, each of which adds a column.

    sapo pipeline train.txt -o tagged.txt --add pos=genia.txt --cross 10 --add chunk=chunker.sapo

    INPUT is a column file, CoNLL-U, JSONL, or raw text (--format text), plain or compressed, or - for standard input.
    The last column of a column file is the gold tag if it has more than one, and stays last; the new columns stand
    before it, in the order of --add. JSONL gets a key for each of them. In CoNLL-U, upos, xpos (or pos), feats and
    deprel go to their columns, a name such as Number to FEATS, and others to MISC (chunk: Chunk=B-NP).
    """
    from sapo.cli.progress import make_watcher
    from sapo.corpus.files import with_encoding
    from sapo.features.template import PRESETS
    from sapo.tagger.stack import TrainedStep, parse_step
    from sapo.training.stack import run_pipeline

    wanted = dict(_template(text) for text in templates)
    parsed = [parse_step(text, wanted.pop(text.partition("=")[0].strip(), None)) for text in steps]
    for column in wanted:
        raise OptionError(f"--template {column}=...: there is no step '{column}' to use it")
    inputs: dict[str, str | Path] = {"the input": input}
    for step in parsed:
        files = (*step.files, step.template) if isinstance(step, TrainedStep) else (step.model,)
        named = (path for path in files if path is not None and path not in PRESETS)
        inputs.update({f"the file {path} of a step": path for path in named})
    refuse_same_file(inputs, {"-o": output})
    announce_compiling(quiet)
    settings: dict[str, Any] = {"seed": seed, **({} if epochs is None else {"epochs": epochs})}
    with make_watcher(quiet=quiet) as watcher:
        report = run_pipeline(
            with_encoding(input, encoding),
            output,
            parsed,
            columns=split_names(columns),
            labeled=not no_label,
            format=format,
            to=to,
            cross=cross,
            threads=threads,
            watcher=watcher,
            **settings,
        )
    if not quiet:
        tell(f"{report.sentences:,} sentences with the columns {', '.join(report.columns)} written to {output}")


def _template(text: str) -> tuple[str, str]:
    column, equals, name = text.partition("=")
    if not equals or not name.strip():
        raise OptionError(f"--template takes STEP=NAME, as in pos=NAME, not '{text}'")
    return column.strip(), name.strip()
