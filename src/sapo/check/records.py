"""JSONL, and all other formats that are not lines of tokens, in; sheets out."""

from collections.abc import Sequence
from pathlib import Path

from sapo.check.finding import ERROR, Finding, at_lines
from sapo.check.sheet import Sheet
from sapo.corpus import LABEL, read_blocks
from sapo.corpus.files import show_path
from sapo.corpus.json_records import Record, json_lines, read_record
from sapo.errors import SapoError


def read_json(path: str | Path, *, label: str | None, marks: frozenset[str]) -> Sheet:
    """Read JSONL. A line that cannot be read becomes a finding; the others are read."""
    name = show_path(path)
    records, faults, empty = list[Record](), list[Finding](), list[int]()
    for number, line in json_lines(path):
        place = f"{name}:{number}"
        try:
            record = read_record(line, place, label or "tags", True)
        except SapoError as error:
            faults.append(Finding("record", ERROR, name, str(error).removeprefix(f"{place}: "), lines=(number,)))
            continue
        if len(record.sentence):
            records.append(record)
        else:
            empty.append(number)
    if empty:
        faults.append(at_lines("no-tokens", ERROR, name, "this sentence has no tokens", "leave it out", empty))
    kept = [key for key in _keys(records) if all(key in record.sentence.columns for record in records)]
    columns: dict[str, Sequence[str]] = {
        key: [value for record in records for value in record.sentence.columns[key]] for key in kept
    }
    columns[LABEL] = [tag for record in records for tag in record.sentence.tags or ()]
    lines = [record.line for record in records for _ in range(len(record.sentence))]
    return Sheet(name, "jsonl", columns, lines, _offsets([len(record.sentence) for record in records]), faults, marks)


def _keys(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(key for record in records for key in record.sentence.columns)) or ["word"]


def read_other(
    path: str | Path, format: str, *, label: str | None, columns: Sequence[str] | None, marks: frozenset[str]
) -> Sheet:
    """Read any format with its ordinary reader; what it refuses is a finding, and the sheet ends there."""
    name = show_path(path)
    faults: list[Finding] = []
    values: dict[str, list[str]] = {}
    lines, sizes = list[int](), list[int]()
    try:
        for block in read_blocks(path, format=format, label=label, columns=columns):
            lengths = [int(end - begin) for begin, end in zip(block.offsets[:-1], block.offsets[1:], strict=True)]
            for key in block.columns:
                values.setdefault(key, []).extend(block.strings(key))
            for first, length in zip(block.first_lines().tolist(), lengths, strict=True):
                lines.extend([first] * length)
            sizes += lengths
    except SapoError as error:
        faults.append(Finding("unreadable", ERROR, name, str(error).removeprefix(f"{name}: ")))
    return Sheet(name, format, values or {"word": []}, lines, _offsets(sizes), faults, marks)


def _offsets(sizes: Sequence[int]) -> list[int]:
    offsets = [0]
    for size in sizes:
        offsets.append(offsets[-1] + size)
    return offsets
