"""Files of JSON in, objects with the number of their line out: a line each, or the elements of one array."""

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sapo import limits
from sapo.corpus.char_spans import CharSpan
from sapo.corpus.files import check_utf8, read_chunks, show_path
from sapo.corpus.lines import read_lines
from sapo.errors import SapoError

_BLANK = re.compile(r"[\s,]*")


def read_objects(path: str | Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield the line, the place for messages, and the object, of each line of a file that is not empty."""
    name = show_path(path)
    for number, line in read_lines(path, "write one document a line"):
        if not line.strip():
            continue
        check_utf8(line, name, number)
        place = f"{name}:{number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise SapoError(f"{place}: not JSON ({error})") from None
        yield number, place, _object(value, place)


def read_array(path: str | Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Do as `read_objects`, for a file that is one array of objects, which is never in memory as a whole."""
    name = show_path(path)
    decode = json.JSONDecoder().raw_decode
    rest, line, opened = "", 1, False
    tried = 0  # characters that were too few for an object
    for text, final in _texts(path, name):
        rest += text
        if not opened:
            rest = rest.removeprefix("\ufeff")
            begun = rest.lstrip()
            if not begun and not final:
                line, rest = line + rest.count("\n"), ""
                continue
            if not begun.startswith("["):
                raise SapoError(f"{name}: expected an array of tasks, which begins with '[', found {begun[:20]!r}")
            line += rest[: len(rest) - len(begun)].count("\n")
            rest, opened = begun[1:], True
        at = 0  # slicing at each object would copy the rest as often
        while True:
            blank = _BLANK.match(rest, at)
            assert blank is not None
            line, at = line + blank[0].count("\n"), blank.end()
            if at == len(rest) or (len(rest) - at < 2 * tried and not final):
                break
            if rest[at] == "]":
                return
            place = f"{name}:{line}"
            if rest[at] != "{":
                raise SapoError(f"{place}: expected an object, found {rest[at : at + 20]!r}")
            try:
                value, end = decode(rest, at)
            except (ValueError, RecursionError) as error:
                if final or len(rest) - at > limits.current().line or isinstance(error, RecursionError):
                    raise SapoError(f"{place}: the task that begins here is not JSON ({error})") from None
                tried = len(rest) - at
                break
            tried = 0
            yield line, place, _object(value, place)
            line, at = line + rest.count("\n", at, end), end
        rest = rest[at:]
    raise SapoError(f"{name}: its array does not end; the file is cut off")


def _texts(path: str | Path, name: str) -> Iterator[tuple[str, bool]]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, chunk = 1, b""
    try:
        for chunk in read_chunks(path):
            yield decoder.decode(chunk), False
            line += chunk.count(b"\n")
        yield decoder.decode(b"", final=True), True
    except UnicodeDecodeError:
        check_utf8(chunk, name, line)
        raise SapoError(f"{name}:{line}: not UTF-8") from None


def _object(value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SapoError(f'{place}: expected an object such as {{"text": ...}}, found {type(value).__name__}')
    return value


def text_of(record: dict[str, Any], key: str, place: str) -> str:
    """Return the text of a record; raise SapoError if it has none."""
    text = record.get(key)
    if not isinstance(text, str):
        raise SapoError(f"{place}: has no '{key}'; known here: {', '.join(record) or 'nothing'}")
    return text


def char_span(values: object, place: str, form: str) -> CharSpan:
    """Return (start, end, label) as a span; raise SapoError unless they are two numbers and a string."""
    match values:
        case (int(start), int(end), str(label)) if label:
            return CharSpan(start, end, label)
    raise SapoError(f"{place}: a span must be {form}, found {values!r:.80}")
