"""Limit the size and cost of requests, and check tokens. Needs no extra package."""

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from sapo.errors import SapoError, pip_install

PACKAGES = ("httptools", "msgspec", "uvicorn")


def need_extra(command: str) -> None:
    """Raise SapoError if a package is missing that serving needs."""
    for name in PACKAGES:
        if find_spec(name) is None:
            raise SapoError(f"{command} needs the package {name}: {pip_install('serve')}")


VALUES = 20  # numbers or tags that an answer may have for each token that a request may have
BYTES = 40  # of a request for each token to learn from
LISTS = 10  # lists and objects that a request may have for each token that it may have
SHORTEST_TOKEN = 16
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
S = TypeVar("S", bound=Sized)


class RefusedError(Exception):
    """A request that is not answered: the status, and one line for the client."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


class GoneError(Exception):
    """The client has closed the connection."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The largest requests that are answered."""

    body: int = 4_000_000  # bytes
    tokens: int = 50_000  # in one request
    n: int = 100
    seconds: float = 30.0  # for one request
    requests: int = 256  # at the same time

    def check_n(self, n: int) -> None:
        """Refuse to search for too many taggings."""
        if n > self.n:
            raise RefusedError(422, f"n must be at most {self.n}, not {n}")

    def check_tokens(self, tokens: int, values: int = 1) -> None:
        """Refuse too many tokens, or an answer with too many values; `values` is their number for each token."""
        if tokens > self.tokens:
            raise RefusedError(
                422,
                f"a request may have at most {self.tokens} tokens, this one has {tokens} or more (an empty text or "
                "sentence counts as one); send it in parts",
            )
        if tokens * values > self.tokens * VALUES:
            raise RefusedError(
                422,
                f"{tokens} tokens with {values} values each make an answer of {tokens * values} values, and "
                f"{self.tokens * VALUES} are allowed; send fewer tokens at once",
            )

    def for_training(self) -> "RequestLimits":
        """Return the limits of a request with all documents of a project: as many tokens as its bytes can describe."""
        return replace(self, tokens=max(self.tokens, self.body // BYTES))

    def check_values(self, body: bytearray) -> None:
        """Refuse a body with too many lists and objects: `[[],[],…` would take 30 times its size in memory."""
        most = LISTS * self.tokens
        if body.count(b"[") + body.count(b"{") > most:
            raise RefusedError(422, f"a request may have at most {most} lists and objects; send it in parts")

    async def read_body(self, headers: Mapping[bytes, bytes], receive: Receive) -> bytearray:
        """Read the body of a request, and stop as soon as it is too large."""
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > self.body:
            raise self._too_large()
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise GoneError
            body += message.get("body", b"")
            if len(body) > self.body:
                raise self._too_large()
            if not message.get("more_body", False):
                return body

    def _too_large(self) -> RefusedError:
        return RefusedError(413, f"the body of a request may have at most {self.body} bytes; send it in parts")


@dataclass(slots=True)
class TokenCount:
    """Counts the tokens of a request while its texts are cut, so that what is too much is not even cut."""

    limits: RequestLimits
    values: int = 1  # of an answer, for each token
    tokens: int = 0

    def __call__(self, sentences: Iterable[S]) -> Iterator[S]:
        """Yield sentences, and refuse the request as soon as there are too many tokens. An empty one counts as one."""
        for sentence in sentences:
            self.tokens += max(1, len(sentence))
            self.limits.check_tokens(self.tokens, self.values)
            yield sentence


class Token:
    """The token that every client must send. Compared in constant time."""

    def __init__(self, secret: str) -> None:
        self._digest = hashlib.sha256(secret.encode()).digest()

    @classmethod
    def read(cls, path: Path) -> "Token":
        """Read the token from the first line of a file. Raise SapoError if there is none, or it is too short."""
        try:
            secret = path.read_text("ascii").strip()
        except FileNotFoundError:
            raise SapoError(f"{path}: no such file; write the token into it") from None
        except OSError as error:
            raise SapoError(f"{path}: cannot be read ({error.strerror or error})") from None
        except UnicodeDecodeError:
            raise SapoError(
                f"{path}: a token must be plain letters and digits; create one with openssl rand -hex 32"
            ) from None
        if len(secret) < SHORTEST_TOKEN or len(secret.split()) != 1:
            raise SapoError(
                f"{path}: expected one line with a token of {SHORTEST_TOKEN} characters or more; "
                "create one with openssl rand -hex 32"
            )
        return cls(secret)

    def check(self, headers: Mapping[bytes, bytes]) -> None:
        """Refuse a request without the token."""
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        same = hmac.compare_digest(hashlib.sha256(given.strip()).digest(), self._digest)
        if scheme.lower() != b"bearer" or not same:
            needed = "this server needs a token: Authorization: Bearer TOKEN"
            raise RefusedError(401, needed, {"www-authenticate": "Bearer"})
