"""Who may ask: the Host, the origin and the token of a request in, a refusal out, or nothing."""

import hmac
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie

from sapo.serve.limits import RefusedError

NAMES = ("localhost", "127.0.0.1", "[::1]")
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Refuses requests that do not come from the page.

    Without a token only the names of this machine are answered: a page of another site that lets its own name point
    to this machine (DNS rebinding) is refused. With a token, which such a page cannot know, every name is answered.
    """

    def __init__(self, port: int, token: str | None = None, names: tuple[str, ...] = NAMES) -> None:
        self.token = token
        self._hosts = {f"{name}:{port}" for name in names} | (set(names) if port == 80 else set())
        self._cookie = f"sapo-teach-{port}"  # cookies of all ports of a machine are one

    def check_host(self, headers: Mapping[bytes, bytes]) -> None:
        """Refuse a request to another name, or from a page of another site."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self.token is None and host not in self._hosts:
            raise RefusedError(403, f"this server answers only at {', '.join(sorted(self._hosts))}")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() not in (f"http://{host}", f"https://{host}"):
            raise RefusedError(403, "pages of other sites may not ask this server")

    def check_token(self, headers: Mapping[bytes, bytes]) -> None:
        """Refuse a request without the token, as a cookie or as a bearer token."""
        if self.token is None:
            return
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer" and self.knows(given.strip().decode("latin-1")):
            return
        try:
            cookie = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(self._cookie)
        except CookieError:
            cookie = None
        if cookie is None or not self.knows(cookie.value):
            raise RefusedError(401, "open the page by the address with the token that sapo teach prints")

    def knows(self, given: str) -> bool:
        """Return whether this is the token; in constant time."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def cookie(self) -> str:
        """Return the header that lets a browser remember the token."""
        return f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(24)
