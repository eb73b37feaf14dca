"""sapo serve: answer requests over HTTP, of any program or of an annotation tool."""

from pathlib import Path

import click

from sapo.cli.options import announce_compiling, quiet_option, tell
from sapo.errors import OptionError


@click.command("serve")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option(
    "--tool",
    type=click.Choice(["label-studio", "inception"]),
    help="Suggest annotations to this tool: as an ML backend of Label Studio, or an external recommender of INCEpTION.",
)
@click.option("-o", "--output", metavar="FILE", help="With --tool: learn from what people mark, and save it here.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; 0.0.0.0 for all addresses.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 for any free port.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Answer only requests that carry the token in FILE.",
)
@click.option(
    "--max-body",
    type=click.FloatRange(0.001, 1000),
    help="Megabytes of a request.  [default: 4, or 20 with --tool]",
)
@click.option("--max-tokens", default=50_000, show_default=True, type=click.IntRange(1), help="Tokens of a request.")
@click.option("--max-n", default=100, show_default=True, type=click.IntRange(1, 10_000), help="The largest n.")
@click.option(
    "--max-requests", default=256, show_default=True, type=click.IntRange(1), help="Requests at the same time."
)
@click.option(
    "--timeout", default=30.0, show_default=True, type=click.FloatRange(0.001, 3600), help="Seconds for a request."
)
@quiet_option
def serve_command(
    models: tuple[str, ...],
    tool: str | None,
    output: str | None,
    host: str,
    port: int,
    token_file: Path | None,
    max_body: float | None,
    max_tokens: int,
    max_n: int,
    max_requests: int,
    timeout: float,
    quiet: bool,
) -> None:
    """Answer requests over HTTP.

    sapo serve chunk.sapo ner.sapo

    A model is named after its file: POST /models/ner/tag, or /tag for the first. GET /openapi.json describes all
    requests. A model file that changes is loaded again without losing a request.

    sapo serve --tool label-studio ner.sapo -o learned.sapo

    suggests annotations to a tool. Without -o the model does not change. With it, each annotation is learned at once,
    and saved some seconds later; if the file exists, learning goes on from there.

    docs/how-to/serving.md and docs/how-to/label-studio.md have examples.
    """
    from sapo.apps.limits import RequestLimits, Token, need_extra

    if output is not None and tool is None:
        raise OptionError("-o is for --tool: a service does not change its models")
    if tool is not None and len(models) > 1:
        raise OptionError(f"--tool {tool} works with one model, not {len(models)}; start one service for each")
    need_extra("sapo serve")
    token = None if token_file is None else Token.read(token_file)
    megabytes = max_body or (4.0 if tool is None else 20.0)
    limits = RequestLimits(int(megabytes * 1e6), max_tokens, max_n, timeout, max_requests)
    announce_compiling(quiet)
    say = (lambda line: None) if quiet else tell
    if tool is None:
        from sapo.apps.serve.app import serve

        serve(models, host=host, port=port, limits=limits, token=token, say=say)
    else:
        from sapo.apps.assist.app import assist

        assist(models[0], tool, output=output, host=host, port=port, limits=limits, token=token, say=say)
