"""Download a web address, or raise an error that says why not in one line."""

from collections.abc import Callable
from importlib.util import find_spec

from sapo.errors import SapoError

Tell = Callable[[int, int], None]  # bytes so far, bytes in all (0: not known)
SECONDS = 30  # of silence before we give up


class Body:
    """The bytes that arrive, up to a limit. For pooch it is the output file and the progress bar in one."""

    def __init__(self, limit: int, tell: Tell) -> None:
        self.data = bytearray()
        self.total = 0  # set by pooch
        self.limit, self.tell = limit, tell

    def write(self, chunk: bytes) -> None:
        if max(self.total, len(self.data) + len(chunk)) > self.limit:
            raise SapoError(f"more than {self.limit:,} bytes; refused")
        self.data += chunk
        self.tell(len(self.data), self.total)

    def flush(self) -> None: ...

    def update(self, size: int) -> None: ...

    def reset(self) -> None: ...

    def close(self) -> None: ...


def need_pooch() -> None:
    """Raise SapoError with what to install if pooch is missing."""
    if find_spec("pooch") is None:
        raise SapoError(
            "fetching corpora needs the package pooch; install it with pip install -e '.[laboratory]' in a clone"
        )


def download(url: str, *, limit: int, tell: Tell) -> bytes:
    """Return the whole body of a web address; raise SapoError if it is cut off or larger than `limit` bytes."""
    import pooch
    from requests import exceptions as problems

    body = Body(limit, tell)
    tell(0, 0)  # before the first wait
    # without compression on the way, the announced length is the real one
    get = pooch.HTTPDownloader(
        progressbar=body, chunk_size=1 << 16, timeout=SECONDS, headers={"Accept-Encoding": "identity"}
    )
    try:
        get(url, body, None)
    except problems.HTTPError as error:
        raise SapoError(f"HTTP {error.response.status_code} {error.response.reason}") from None
    except problems.ChunkedEncodingError:
        raise SapoError(f"the connection was cut after {len(body.data):,} bytes") from None
    except problems.Timeout:
        raise SapoError(f"no answer for {SECONDS} seconds") from None
    except problems.ConnectionError as error:
        raise SapoError(f"no connection ({_cause(error)})") from None
    except problems.RequestException as error:
        raise SapoError(f"cannot be asked for ({_cause(error)})") from None
    return bytes(body.data)


def _cause(error: BaseException) -> str:
    """Return in one line the first cause of an error that was wrapped several times."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return " ".join(text.split())[:120] or type(error).__name__
