"""Text that is not UTF-8: its bytes in, UTF-8 out, and a guess for bytes that were not said to be anything else."""

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from sapo.errors import SapoError, did_you_mean

USUAL = ("utf-8", "utf-16", "latin-1", "cp1252", "cp1251", "koi8-r", "euc-jp", "shift-jis", "euc-kr", "gb18030", "big5")
_KANA = re.compile("[\u3041-\u30ff]")


class EncodedPath(str):
    """The path of a file that is not UTF-8. Readers take it as any other path."""

    __slots__ = ("encoding",)
    encoding: str


def with_encoding(path: str | Path, encoding: str | None) -> str | Path:
    """Return a path that is read in an encoding; raise SapoError if there is no such encoding.

    >>> with_encoding("train.txt", "latin-1")
    'train.txt'
    """
    if encoding is None:
        return path
    try:
        if not getattr(codecs.lookup(encoding), "_is_text_encoding", True):
            raise LookupError
    except (LookupError, ValueError):
        raise SapoError(f"unknown encoding '{encoding}'{did_you_mean(encoding, USUAL)}") from None
    encoded = EncodedPath(path)
    encoded.encoding = encoding
    return encoded


def transcoded(chunks: Iterator[bytes], encoding: str, name: str) -> Iterator[bytes]:
    """Yield text in UTF-8; raise SapoError with the line where the bytes are not in this encoding."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    try:
        for chunk in chunks:
            text = decoder.decode(chunk)
            line += text.count("\n")
            yield text.encode("utf-8", "surrogatepass")
        yield decoder.decode(b"", final=True).encode("utf-8", "surrogatepass")
    except UnicodeError as error:
        line += chunk[: error.start].count(b"\n") if isinstance(error, UnicodeDecodeError) else 0
        raise SapoError(f"{name}: near line {line}: not {encoding} ({error}); use another --encoding") from None


def looks_like(data: bytes) -> str:
    """Return what bytes that are not UTF-8 probably are, by the name that `--encoding` takes.

    >>> looks_like("日本語です".encode("euc-jp")), looks_like("Köln".encode("latin-1"))
    ('euc-jp', 'latin-1')
    """
    for encoding in ("euc-jp", "shift-jis"):
        try:
            if _KANA.search(data.decode(encoding)) is not None:
                return encoding
        except UnicodeDecodeError:
            pass
    return "cp1252" if re.search(rb"[\x80-\x9f]", data) else "latin-1"
