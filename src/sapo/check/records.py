"""JSONL, and all other formats that are not lines of tokens, in; sheets out."""

from collections.abc import Sequence
from pathlib import Path

from sapo.check.finding import ERROR, Finding, at_lines
from sapo.check.sheet import Sheet
from sapo.corpus import LABEL, read_blocks
from sapo.corpus.files import show_path
from sapo.corpus.json_records import Record, json_lines, read_record
from sapo.errors import SapoError
from sapo.text import Splitter

MESSAGES = 10  # about records, that are reported one by one


def read_json(path: str | Path, *, label: str | None, marks: frozenset[str]) -> Sheet:
    """Read JSONL. A line that cannot be read becomes a finding; the others are read."""
    name = show_path(path)
    records, empty, wrong = list[Record](), list[int](), dict[str, list[int]]()
    tokens_of = Splitter().tokens
    for number, line in json_lines(path):
        place = f"{name}:{number}"
        try:
            record = read_record(line, place, label or "tags", True, tokens_of)
        except SapoError as error:
            wrong.setdefault(str(error).removeprefix(f"{place}: "), []).append(number)
            continue
        if len(record.sentence):
            records.append(record)
        else:
            empty.append(number)
    faults = [at_lines("record", ERROR, name, text, "", lines) for text, lines in list(wrong.items())[:MESSAGES]]
    if others := list(wrong.values())[MESSAGES:]:
        lines = [line for group in others for line in group]
        faults.append(at_lines("record", ERROR, name, "the line cannot be read, for other reasons", "", lines))
    if empty:
        faults.append(at_lines("no-tokens", ERROR, name, "this sentence has no tokens", "leave it out", empty))
    kept = [key for key in _keys(records) if all(key in record.sentence.columns for record in records)]
    columns: dict[str, Sequence[str]] = {
        key: [value for record in records for value in record.sentence.columns[key]] for key in kept
    }
    columns[LABEL] = [tag for record in records for tag in record.sentence.tags or ()]
    sizes = [len(record.sentence) for record in records]
    numbers = [record.line for record, size in zip(records, sizes, strict=True) for _ in range(size)]
    return Sheet(name, "jsonl", columns, numbers, _offsets(sizes), faults, marks)


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
