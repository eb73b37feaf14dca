"""Listen, answer until a signal comes, and let running requests finish."""

import ipaddress
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapo.apps.limits import Limits, Token, need_extra
from sapo.errors import SapoError

if TYPE_CHECKING:
    import uvicorn

WAITING = 1024  # connections that may wait to be accepted


def serve(
    paths: Sequence[str | Path],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits | None = None,
    token: Token | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Serve models until SIGINT or SIGTERM, which then act as usual. `say` gets the lines for the log.

    Raises SapoError if a model cannot be loaded, or nobody can listen at this address.
    """
    need_extra("sapo serve")
    from sapo.apps.serve.app import App
    from sapo.apps.serve.models import Models

    limits = limits or Limits()
    with bind(host, port) as bound:  # before the models are loaded: a port in use is reported at once
        models = Models(paths, say)
        app = App(models, limits, say, token)
        try:
            server = listening_server(app, limits, bound)
        except OSError as error:
            raise _not_listening(host, port, error) from None
        address = url_of(bound)
        if token is None and not is_loopback(bound):
            say(f"sapo: warning: anyone who reaches {address} can use it; use --token-file FILE to ask for a token")
        models.watch()
        names = ", ".join(model.name for model in models)
        announce(server, lambda: say(f"sapo: serving {names} at {address}"))
        try:
            server.run([bound])
        finally:
            models.end()


def listening_server(app: Any, limits: Limits, bound: socket.socket) -> "uvicorn.Server":
    """Return a server for this socket, which listens from now on. Raise OSError if it cannot."""
    import uvicorn

    from sapo.apps.http import bounded_protocol

    config = uvicorn.Config(
        app,
        http=bounded_protocol(limits),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=WAITING,
        timeout_graceful_shutdown=int(limits.seconds) + 1,
    )
    bound.listen(WAITING)
    return uvicorn.Server(config)


def announce(server: Any, tell: Callable[[], None]) -> None:
    """Call `tell` once the server takes requests, and signals end it gracefully."""
    startup = server.startup

    async def start(sockets: Any = None) -> None:
        await startup(sockets)
        tell()

    server.startup = start


def bind(host: str, port: int) -> socket.socket:
    """Return a socket at this address, which does not listen yet. Raise SapoError if the address is taken."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise SapoError(f"--host {host}: no such address ({error.strerror or error})") from None
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise _not_listening(host, port, error) from None
    return bound


def _not_listening(host: str, port: int, error: OSError) -> SapoError:
    return SapoError(f"{host}:{port}: cannot listen there ({error.strerror or error}); give another --port or --host")


def url_of(bound: socket.socket) -> str:
    """Return the address of a socket, as browsers take it."""
    host, port, *_ = bound.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(bound: socket.socket) -> bool:
    """Return whether only programs on this machine reach a socket."""
    return ipaddress.ip_address(bound.getsockname()[0].partition("%")[0]).is_loopback
