"""Add a column of tags to a block, and write such a block."""

import dataclasses
import itertools
import re
from collections.abc import Sequence

import numpy as np

from sapo.corpus import LABEL, Block
from sapo.corpus.fields import check_tag
from sapo.corpus.jsonl import JsonlOrigin, json_line, with_tags
from sapo.corpus.origins import ScannedOrigin
from sapo.corpus.scanner import Scanned
from sapo.corpus.tagged_lines import splice_tags
from sapo.errors import SapoError
from sapo.kernels.types import Ints
from sapo.tags import notation_of


def with_column(block: Block, name: str, tags: Ints, labels: Sequence[str]) -> Block:
    """Return the block with the column `labels[tags[t]]`; each label is appended once to the bytes of the block."""
    encoded = [label.encode("utf-8", "surrogatepass") for label in labels]
    ends = len(block.data) + np.cumsum([len(label) for label in encoded], dtype=np.int32)
    starts = ends - np.array([len(label) for label in encoded], np.int32)
    return dataclasses.replace(
        block,
        columns=(*block.columns, name),
        data=np.concatenate([block.data, np.frombuffer(b"".join(encoded), np.uint8)]),
        starts=np.column_stack([block.starts, starts[tags]]),
        ends=np.column_stack([block.ends, ends[tags]]),
    )


def sentences_of(block: Block, first: int, last: int) -> Block:
    """Return a block of the sentences `first`, ..., `last` - 1. It can be tagged, but not written."""
    begin, end = int(block.offsets[first]), int(block.offsets[last])
    return dataclasses.replace(
        block,
        starts=block.starts[begin:end],
        ends=block.ends[begin:end],
        offsets=block.offsets[first : last + 1] - begin,
        origin=None,
    )


def widened(block: Block) -> bytes:
    """Return the bytes of the file with the added columns: before the gold tag, or else at the end of the line.

    Raises SapoError if a tag cannot be written, or a comment would be read as a token.
    """
    scanned = block.origin_as(ScannedOrigin).scanned
    separator = b"\t" if scanned.layout.tabs else b" "
    gold = LABEL in block.columns
    own = scanned.layout.columns
    tuples, piece = np.unique(block.starts[:, own:], axis=0, return_inverse=True)
    whole = block.data.tobytes()
    end_of = dict(zip(block.starts[:, own:].ravel().tolist(), block.ends[:, own:].ravel().tolist(), strict=True))
    pieces = []
    for row in tuples.tolist():
        values = [whole[start : end_of[start]] for start in row]
        text = b"".join(value + separator if gold else separator + value for value in values)
        pieces.append(text.decode("utf-8", "surrogatepass"))
        for value in values:
            check_tag(value.decode("utf-8", "surrogatepass"), tabs=scanned.layout.tabs)
    _check_comments(scanned, len(block.columns), block.name)
    at = scanned.starts[:, -1] if gold else scanned.line_ends
    return splice_tags(scanned.data, at, at, pieces, piece.reshape(-1).astype(np.int32))


def widened_records(block: Block, added: Sequence[str], *, as_columns: bool) -> bytes:
    """Return the sentences of text or JSONL with the added columns: as lines of words and tags, or as records.

    Records of text also get `tokens`, and `spans` if the last column marks spans. Raises SapoError if a record has
    something else under the name of a column.
    """
    columns = {name: block.strings(name) for name in ("word", *added)}
    notation = notation_of(sorted(set(columns[added[-1]])))
    lines = []
    records = block.origin_as(JsonlOrigin).records
    for record, (first, last) in zip(records, itertools.pairwise(block.offsets.tolist()), strict=True):
        tags = {name: columns[name][first:last] for name in added}
        if as_columns:
            rows = zip(columns["word"][first:last], *tags.values(), strict=True)
            lines.append("".join("\t".join(row) + "\n" for row in rows) + "\n")
            continue
        for name in added:
            if name in record.values:
                raise SapoError(f"{block.name}:{record.line}: has a key '{name}' already; give the step another name")
        result = {**record.values, **with_tags(record, tags[added[-1]], notation), **tags}
        if "tags" not in record.values:
            del result["tags"]
        else:
            result["tags"] = record.values["tags"]
        lines.append(json_line(result))
    return "".join(lines).encode("utf-8", "surrogatepass")


def _check_comments(scanned: Scanned, columns: int, name: str) -> None:
    """Raise SapoError if a comment now has as many fields as a line with a token, since it would be read as one."""
    whole = scanned.data.tobytes()
    if b"#" not in whole:
        return
    words = set(scanned.line_starts.tolist())
    for line in re.finditer(rb"^#.*", whole, re.MULTILINE):
        fields = line[0].rstrip(b"\r").split(b"\t") if scanned.layout.tabs else line[0].split()
        if line.start() not in words and len(fields) == columns and fields[2:3] != [b"="]:
            place = scanned.first_line + whole.count(b"\n", 0, line.start())
            raise SapoError(
                f"{name}:{place}: the comment {line[0].decode()!r:.60} would be a word among {columns} columns; "
                "write it as '# key = value'"
            )
