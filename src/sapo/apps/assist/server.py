"""Listen, answer a tool until a signal comes, and save what was learned."""

from collections.abc import Callable
from pathlib import Path

from sapo.apps.limits import Limits, Token, need_extra
from sapo.apps.serve.server import announce, bind, is_loopback, listening_server, url_of
from sapo.errors import SapoError

TOOLS = ("label-studio", "inception")


def assist(
    path: str | Path,
    tool: str,
    *,
    output: str | Path | None = None,
    host: str = "127.0.0.1",
    port: int = 9090,
    limits: Limits | None = None,
    token: Token | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Suggest marks to a tool, one of `TOOLS`, until SIGINT or SIGTERM, which then act as usual.

    With `output`, learn from what people mark, and save it there; if the file exists, go on with it. Raises SapoError
    if a model cannot be loaded or cannot learn, or nobody can listen at this address.
    """
    need_extra("sapo assist")
    from sapo.apps.assist.app import App
    from sapo.apps.assist.helper import Helper
    from sapo.apps.assist.inception import Inception, need_cassis
    from sapo.apps.assist.label_studio import LabelStudio
    from sapo.apps.serve.models import load

    if tool == "inception":
        need_cassis()
    limits = limits or Limits()
    source, target = Path(path), None if output is None else Path(output)
    if target is not None and target.exists() and target.resolve() != source.resolve():
        say(f"sapo: going on with {target}")
        source = target
    if target is not None and not target.parent.is_dir():
        raise SapoError(f"{target}: there is no directory {target.parent}")
    with bind(host, port) as bound:  # before the model is loaded, so that a port in use is reported at once
        helper = Helper(load(source), Path(path).stem, target, say)
        answers = LabelStudio(helper, limits) if tool == "label-studio" else Inception(helper, limits)
        app = App(answers, helper, limits, say, token)
        server = listening_server(app, limits, bound)
        where = url_of(bound)
        if token is None and not is_loopback(bound):
            say(f"sapo: warning: anyone who reaches {where} can use it; use --token-file FILE to ask for a token")
        learns = "suggests" if target is None else f"suggests, and learns into {target},"
        announce(server, lambda: say(f"sapo: {Path(path).stem} {learns} at {where} for {tool}"))
        try:
            server.run([bound])
        finally:
            app.worker.end()
            helper.save()
