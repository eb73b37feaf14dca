"""Bytes of a file in, its lines as text out, with findings about what is not clean text."""

import re
from collections.abc import Iterator
from pathlib import Path

from sapo import limits
from sapo.check.finding import ERROR, NOTE, Finding, at_lines
from sapo.corpus.files import read_whole, show_path
from sapo.corpus.scanner import BOM

LONE_RETURN = re.compile(rb"\r(?!\n)")


def read_text(path: str | Path) -> tuple[list[str], list[Finding]]:
    """Return the lines of a file without their ends. Bytes that are not UTF-8 become the replacement character.

    Raises SapoError if the file cannot be read at all.
    """
    name = show_path(path)
    data = read_whole(path)
    findings: list[Finding] = []
    if data.startswith(BOM):
        data = data.removeprefix(BOM)
        findings.append(Finding("bom", NOTE, name, "begins with a byte order mark, which is ignored", lines=(1,)))
    if lone := LONE_RETURN.search(data.removesuffix(b"\r")):
        way_out = "convert the line ends, for example with tr '\\r' '\\n'"
        line = data.count(b"\n", 0, lone.start()) + 1
        findings.append(Finding("line-ends", ERROR, name, "a carriage return ends no line", way_out, (line,)))
    raw = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    limits.check("line", max(map(len, raw.split(b"\n"))), name, "bytes in a line")
    try:
        return raw.decode("utf-8").split("\n"), findings
    except UnicodeDecodeError:
        lines = raw.split(b"\n")
    bad = list(_undecodable(lines))
    way_out = "name the encoding (--encoding latin-1), or convert the file with iconv"
    findings.append(at_lines("not-utf8", ERROR, name, "the line is not UTF-8", way_out, bad))
    return [line.decode("utf-8", "replace") for line in lines], findings


def _undecodable(lines: list[bytes]) -> Iterator[int]:
    for number, line in enumerate(lines, 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            yield number
