"""sapo errors: show what a model gets wrong."""

import json

import click

from sapo.cli.options import (
    announce_compiling,
    encoding_option,
    format_option,
    label_option,
    model_first,
    refuse_same_file,
)


@click.command("errors")
@click.argument("model")
@click.argument("input")
@click.option("--top", default=10, show_default=True, type=click.IntRange(1), help="How many of each kind to show.")
@format_option
@encoding_option
@label_option
@click.option("--html", metavar="PAGE", help="Write a page, too, with ten times as many.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs, with all mistakes.")
def errors_command(
    model: str,
    input: str,
    top: int,
    format: str | None,
    encoding: str | None,
    label: str | None,
    html: str | None,
    as_json: bool,
) -> None:
    """Show what a model gets wrong.

    sapo errors chunk.sapo test.txt

    Tags INPUT, a labeled file, and shows wrong spans (or tokens) in context, grouped by kind, which labels are
    confused, likely mistakes of the gold tags, and what the model is least sure of.
    """
    from sapo.cli.pages import errors_page
    from sapo.cli.tables import errors_text
    from sapo.corpus.files import check_writable, write_file
    from sapo.tagger.errors import find_errors
    from sapo.tagger.tagger import Tagger

    model, input = model_first(model, input)
    refuse_same_file({"the model": model, "the input": input}, {"--html": html})
    if html is not None:
        check_writable(html)
    announce_compiling()
    report = find_errors(Tagger.load(model), input, format=format, encoding=encoding, label=label)
    if html is not None:
        with write_file(html) as stream:
            stream.write(errors_page(report, 10 * top).encode("utf-8", "replace"))
    if html != "-":
        shown = json.dumps(report.as_dict(), indent=2, ensure_ascii=False) if as_json else errors_text(report, top)
        click.echo(shown)
