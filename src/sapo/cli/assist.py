"""sapo assist: suggest annotations to Label Studio or INCEpTION, and learn from people's."""

from pathlib import Path

import click

from sapo.cli.options import announce_compiling, quiet_option, tell


@click.command("assist")
@click.argument("model")
@click.option("--label-studio", "tool", flag_value="label-studio", help="Act as an ML backend for Label Studio.")
@click.option("--inception", "tool", flag_value="inception", help="Act as an external recommender for INCEpTION.")
@click.option("-o", "--output", metavar="FILE", help="Learn from what people mark, and save the model here.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; 0.0.0.0 for all addresses.")
@click.option("--port", default=9090, show_default=True, type=click.IntRange(0, 65535), help="0 for any free port.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Require the token in FILE with every request.",
)
@click.option(
    "--max-body", default=20.0, show_default=True, type=click.FloatRange(0.001, 1000), help="Megabytes of a request."
)
@quiet_option
def assist_command(
    model: str,
    tool: str | None,
    output: str | None,
    host: str,
    port: int,
    token_file: Path | None,
    max_body: float,
    quiet: bool,
) -> None:
    """Suggest annotations to a tool, and learn from people's.

    sapo assist ner.sapo --label-studio -o learned.sapo

    Without -o the model does not change. With it, each annotation is learned at once, and saved some seconds later; if
    the file exists, learning goes on from there.

    docs/how-to/label-studio.md has examples.
    """
    from sapo.apps.limits import RequestLimits, Token, need_extra

    if tool is None:
        raise click.UsageError("give --label-studio or --inception")
    need_extra("sapo assist")
    from sapo.apps.assist.app import assist

    token = None if token_file is None else Token.read(token_file)
    limits = RequestLimits(body=int(max_body * 1e6))
    announce_compiling(quiet)
    say = (lambda line: None) if quiet else tell
    assist(model, tool, output=output, host=host, port=port, limits=limits, token=token, say=say)
