"""Write a new file in which everything that can be fixed safely is fixed."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sapo.check.findings import Sheet
from sapo.check.labels import INVISIBLE, case_groups, header_line, is_header, misfits
from sapo.check.reading import BLANKS, DOCSTART, ScannedText, read_sheet, read_text, scan_text, split_fields
from sapo.corpus.blocks import LABEL
from sapo.corpus.columns import name_columns
from sapo.corpus.conllu import place_of
from sapo.corpus.files import write_file
from sapo.corpus.jsonl import json_line, json_lines
from sapo.corpus.scanner import Layout
from sapo.errors import DataError

TRAILING = "TABs at the end of lines"
RARE = 0.01  # of the tokens of its usual spelling: another spelling this rare is a mistake


def mend(
    path: str | Path,
    output: str | Path,
    *,
    format: str | None = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    missing: str | None = None,
) -> Counter[str]:
    """Write a mended copy of a file, and return how often each thing was mended.

    Mended are line ends, a byte order mark, a header, separators, TABs at the end of lines, invisible characters,
    and labels that are misspelled beyond doubt: `0` or `o` for `O`, `b-PER` or `B_PER` for `B-PER`, a rare `nn` next to
    `NN`. Raises SapoError if the file cannot be read or written. The options are those of `read_sheet`.
    """
    sheet = read_sheet(path, format=format, label=label, columns=columns, missing=missing)
    labels = safe_labels(sheet)
    mended: Counter[str] = Counter()
    if sheet.format == "jsonl":
        lines = _records(path, label or "tags", labels, mended)
    elif sheet.format in ("columns", "conllu"):
        text, faults = read_text(path)
        kinds = [fault.kind for fault in faults]
        mended.update({"line ends": kinds.count("line-ends"), "byte order mark": kinds.count("bom")})
        if "not-utf8" in kinds:
            raise DataError(
                f"{sheet.name}: is not UTF-8; name its encoding (`encoding='latin-1'`), or convert it with iconv"
            )
        scanned = scan_text(text, sheet.format == "conllu", sheet.name)
        at = _label_place(sheet, scanned.layout, label, columns)
        lines = _lines(scanned, _LineMender(scanned.layout, at, labels, mended), header_line(sheet))
    else:
        raise DataError(
            f"{sheet.name}: only columns, conllu and jsonl can be corrected, not {sheet.format}; convert it first"
        )
    with write_file(output) as stream:
        for line in lines:
            stream.write(line.encode("utf-8", "surrogatepass"))
    if mended[TRAILING]:  # the label is another column now
        mended += mend(output, output, format=format, label=label, columns=columns, missing=missing)
    return mended


def safe_labels(sheet: Sheet) -> dict[str, str]:
    """Return the labels that are misspelled beyond doubt, with what is meant."""
    header = header_line(sheet)
    counts = {
        label: count for label, count in sheet.counts.items() if header is None or sheet.label_lines(label) != [header]
    }
    found = {label: meant for label, meant in misfits(counts).items() if meant}
    for group in case_groups(counts):
        usual = max(group, key=lambda label: counts[label])
        for label in group:
            if counts[label] <= max(1, RARE * counts[usual]) and counts[usual] > counts[label]:
                found.setdefault(label, usual)
    for label in counts:
        if clean := INVISIBLE.sub("", label).strip():
            if clean != label:
                found.setdefault(label, clean)
    return {label: meant for label, meant in found.items() if label != meant}


def _label_place(sheet: Sheet, layout: Layout, label: str | None, columns: Sequence[str] | None) -> int | None:
    """Return the column of the label, or None if it is a part of a column."""
    if layout.conllu:
        place = place_of(label or "upos")
        return None if place.key is not None or place.whole_feats else place.first
    if LABEL not in sheet.columns:
        return None
    return name_columns(layout.columns, label, columns, True, sheet.name).index(LABEL)


class _LineMender:
    """Mends the fields of one line after the other, and counts what it did."""

    def __init__(self, layout: Layout, at: int | None, labels: Mapping[str, str], mended: Counter[str]) -> None:
        self.layout, self.at, self.labels, self.mended = layout, at, labels, mended

    def __call__(self, line: str, fields: list[str], loose: bool) -> str:
        """Return the line with these fields."""
        new = list(map(_visible, fields))
        if new != fields:
            self.mended["invisible characters"] += 1
        if self.at is not None and len(new) == self.layout.columns:
            label = fields[self.at]
            if label in self.labels:
                new[self.at] = self.labels[label]
                self.mended[f"label {label!a} to '{self.labels[label]}'"] += 1
        mixed = not self.layout.tabs and "\t" in line.strip(BLANKS)
        if loose or mixed:
            self.mended["separators"] += 1
        if new == fields and not loose and not mixed:
            return line
        return ("\t" if self.layout.tabs else " ").join(new)


def _visible(field: str) -> str:
    """Return a field without invisible characters, unless its line would then no longer be a token."""
    clean = INVISIBLE.sub("", field)
    return clean if clean.strip() and not clean.startswith(("#", "-DOCSTART-")) else field


def _lines(text: ScannedText, mender: _LineMender, header: int | None) -> Iterator[str]:
    layout, loose = text.layout, set(text.loose)
    fields = {
        number: split_fields(text.lines[number - 1], layout.tabs and number not in loose)
        for number in sorted([*text.token_lines, *text.uneven])
    }
    trailing = layout.tabs and all(found[-1] == "" for found in fields.values())
    first = next(iter(fields), None)
    lines = text.lines[:-1] if text.lines and not text.lines[-1] else text.lines
    for number, line in enumerate(lines, 1):
        found = fields.get(number)
        if number == header or (found and not header and number == first and is_header(found)):
            mender.mended["header"] += 1
        elif found is None:
            yield (line if DOCSTART.match(line) or line.startswith("#") else line.rstrip(BLANKS)) + "\n"
        elif trailing:
            mender.mended[TRAILING] += 1
            yield line.rstrip(BLANKS) + "\n"
        else:
            yield mender(line, found, number in loose) + "\n"


def _records(path: str | Path, key: str, labels: Mapping[str, str], mended: Counter[str]) -> Iterator[str]:
    def clean(value: object) -> object:
        return INVISIBLE.sub("", value) or value if isinstance(value, str) else value

    def right(value: object) -> object:
        return labels.get(value, value) if isinstance(value, str) else value

    for _, line in json_lines(path):
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            yield line.decode("utf-8", "replace") + "\n"
            continue
        for name, change, what in (("tokens", clean, "invisible characters"), (key, right, "labels")):
            _mend_list(record, name, change, what, mended)
        yield json_line(record)


def _mend_list(
    record: dict[str, Any], name: str, change: Callable[[object], object], what: str, mended: Counter[str]
) -> None:
    values = record.get(name)
    if isinstance(values, list):
        new = [change(value) for value in values]
        mended[what] += sum(a != b for a, b in zip(values, new, strict=True))
        record[name] = new
