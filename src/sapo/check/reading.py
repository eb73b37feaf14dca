"""Read a file of any format as a sheet, even if training would refuse it."""

from collections.abc import Sequence
from pathlib import Path

from sapo.check.lines import read_lines
from sapo.check.records import read_json, read_other
from sapo.check.sheet import Sheet
from sapo.corpus import format_of
from sapo.corpus.encodings import with_encoding


def read_sheet(
    path: str | Path,
    *,
    format: str | None = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    missing: str | None = None,
    encoding: str | None = None,
) -> Sheet:
    """Read a labelled file. The arguments are those of `sapo.read`; `missing` stands for a missing tag.

    Raises SapoError if there is no such file, or an option is wrong.
    """
    found = format_of(path, format)
    path = with_encoding(path, encoding)
    marks = frozenset() if missing is None else frozenset([missing])
    if found in ("columns", "conllu"):
        return read_lines(path, conllu=found == "conllu", label=label, columns=columns, marks=marks)
    if found == "jsonl":
        return read_json(path, label=label, marks=marks)
    return read_other(path, found, label=label, columns=columns, marks=marks)
