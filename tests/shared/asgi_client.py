"""Ask an application over HTTP, without a network or with a real server in a thread."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass(frozen=True, slots=True)
class Reply:
    """What the application sent."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class AsgiClient:
    """Asks the application `app`; what it says in its log is in `said`. `sends` are headers of all requests."""

    app: Any

    def __init__(self, **sends: str) -> None:
        self.said: list[str] = []
        self._sends = sends

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, [b""], headers)

    def post(self, path: str, message: Any, **headers: str) -> Reply:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.ask("POST", path, [body], {"content-type": "application/json", **headers})

    def ask(self, method: str, path: str, parts: Sequence[bytes], headers: dict[str, str]) -> Reply:
        """Send a request whose body comes in parts; `_` in the name of a header is a hyphen."""
        return asyncio.run(self.asked(method, path, parts, headers))

    async def asked(self, method: str, path: str, parts: Sequence[bytes], headers: dict[str, str]) -> Reply:
        """The same in an event loop that runs."""
        sent: list[Any] = []
        last = len(parts) - 1
        coming = iter([{"type": "http.request", "body": part, "more_body": at < last} for at, part in enumerate(parts)])

        async def receive() -> Any:
            return next(coming)

        async def send(message: Any) -> None:
            sent.append(message)

        given = {key.replace("_", "-"): value for key, value in {**self._sends, **headers}.items()}
        fields = [(key.encode(), value.encode()) for key, value in given.items()]
        place, _, query = path.partition("?")
        scope = {"type": "http", "method": method, "path": place, "query_string": query.encode(), "headers": fields}
        await self.app(scope, receive, send)
        start, *rest = sent
        names = {name.decode(): value.decode() for name, value in start["headers"]}
        return Reply(start["status"], names, b"".join(part["body"] for part in rest))


@contextmanager
def served(app: Any, bound: Any) -> Iterator[str]:
    """Serve an application at a socket, in a thread of this process; yield its URL."""
    from sapo.apps.http import listening_server
    from sapo.apps.limits import RequestLimits

    server = listening_server(app, RequestLimits(), bound)
    thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)


def need_extra(what: str) -> None:
    """Skip a test where the extra is not installed."""
    for name in ("msgspec", "uvicorn", "httptools"):
        pytest.importorskip(name, reason=f"{what} needs the extra serve: {name} is not installed")
