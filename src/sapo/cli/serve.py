"""sapo serve: answer requests over HTTP."""

from pathlib import Path

import click

from sapo.cli.options import announce_compiling, quiet_option, tell


@click.command("serve")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; 0.0.0.0 for all addresses.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 for any free port.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Answer only requests that carry the token in FILE.",
)
@click.option(
    "--max-body", default=4.0, show_default=True, type=click.FloatRange(0.001, 1000), help="Megabytes of a request."
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
    host: str,
    port: int,
    token_file: Path | None,
    max_body: float,
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

    docs/how-to/serving.md has examples.
    """
    from sapo.apps.limits import RequestLimits, Token, need_extra

    need_extra("sapo serve")
    from sapo.apps.serve.app import serve

    token = None if token_file is None else Token.read(token_file)
    limits = RequestLimits(int(max_body * 1e6), max_tokens, max_n, timeout, max_requests)
    announce_compiling(quiet)
    serve(models, host=host, port=port, limits=limits, token=token, say=(lambda line: None) if quiet else tell)
