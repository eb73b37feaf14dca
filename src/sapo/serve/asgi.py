"""What every application over HTTP needs: an answer in, the messages of ASGI out; a mistake in, one line out."""

import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sapo.errors import SapoError
from sapo.serve import messages
from sapo.serve.limits import GoneError, RefusedError

Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Headers = Mapping[bytes, bytes]
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Reply:
    """What is sent back."""

    body: bytes
    status: int = 200
    type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    def fields(self) -> list[tuple[bytes, bytes]]:
        """Return the headers of the response."""
        more = [(key.encode(), value.encode()) for key, value in self.headers.items()]
        return [(b"content-type", self.type.encode()), (b"content-length", str(len(self.body)).encode()), *more]

    async def send(self, method: str, send: Send) -> None:
        """Send the response."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.fields()})
        await send({"type": "http.response.body", "body": b"" if method == "HEAD" else self.body})


async def answered(answer: Awaitable[Reply], say: Callable[[str], None]) -> Reply | None:
    """Return an answer, or one line about what is wrong; None if the client is gone."""
    try:
        return await answer
    except RefusedError as refused:
        return error_reply(refused.status, str(refused), refused.headers)
    except SapoError as error:
        return error_reply(422, str(error))
    except GoneError:
        return None
    except Exception:
        say(traceback.format_exc())
        return error_reply(500, "the server has a mistake; its log says more")


def error_reply(status: int, message: str, headers: Mapping[str, str] | None = None) -> Reply:
    """Return an answer that says what is wrong."""
    return Reply(messages.write_json(messages.ErrorAnswer(error=message)), status, headers=headers or {})


def check_method(path: str, method: str, allowed: str) -> None:
    """Refuse another method; GET also allows HEAD."""
    if method != allowed and (allowed, method) != ("GET", "HEAD"):
        both = "GET, HEAD" if allowed == "GET" else allowed
        raise RefusedError(405, f"{path} takes {allowed}, not {method}", allow=both)


def check_json(headers: Headers) -> None:
    """Refuse a body that does not say it is JSON.

    A page in a browser cannot send this type to another site without asking first, and is then refused.
    """
    if headers.get(b"content-type", b"").split(b";")[0].strip().lower() != JSON.encode():
        raise RefusedError(415, f"the body must be JSON, with the header Content-Type: {JSON}")
