r"""Read and write the attribute files of CRFsuite: a label and its ready-made features per line, separated by tabs.

    B-NP<TAB>w[0]=Confidence<TAB>pos[0]=NN<TAB>length:10

An empty line ends a sentence. A number behind a colon is the value of an attribute, otherwise it is 1; `\:` and `\\`
stand for a colon and a backslash. What follows `#` at the beginning of a field is a comment. Tagging replaces labels.
"""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.annotations import DEFAULT, Annotation, Placement, names_of, with_comments
from sapo.corpus.blocks import LABEL, Block, Origin, Sentence, block_from_sentences
from sapo.corpus.files import check_utf8, show_path
from sapo.corpus.scanner import check_tag, no_sentence_end, read_lines
from sapo.errors import DataError, OptionError, current_limits
from sapo.jit.arrays import Longs

REMEMBERED = 1_000_000  # fields: most come many times
NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


class Attributes:
    r"""Reads the lines of attribute files, and remembers what it has read.

    >>> Attributes().read("B-NP\tw=the\tlength:3\tcolon\\:", "a.crfsuite:1")
    ('B-NP', {'w=the': 1.0, 'length': 3.0, 'colon:': 1.0})
    >>> Attributes().read("B-NP\tw=the\tpos=DT", "a.crfsuite:1")
    ('B-NP', ['w=the', 'pos=DT'])
    """

    def __init__(self) -> None:
        self._known = _Known()

    def read(self, line: str, place: str) -> tuple[str | None, list[str] | dict[str, float]]:
        """Return the label of a line, or None if the line is a comment, and the features of its token.

        The features are names if all have the value 1, and otherwise a dictionary; equal names are added up.
        """
        line = line.rstrip("\r")
        first, *rest = line.split("\t")
        if first.startswith("#"):
            return None, []
        if first.startswith("@"):
            raise DataError(
                f"{place}: declarations such as {first.partition(':')[0]} are not supported; remove the line, and give "
                "weights of sentences in Python, as sample_weight"
            )
        label = first
        if "\\" in first or ":" in first:
            label, _, value = _unescaped(first)
            if value:
                raise DataError(f"{place}: the label {first!r} has a value; write a colon of a label as \\:")
        if "\t#" in line or "\t\t" in line or line.endswith("\t"):
            rest = list(_fields(rest))
        if "\\" not in line and ":" not in line:
            return label, rest
        try:
            pairs = [self._known[field] for field in rest]
        except ValueError as error:
            raise DataError(f"{place}: {error}") from None
        if all(number == 1.0 for _, number in pairs):
            return label, [name for name, _ in pairs]
        values = dict(pairs)
        if len(values) < len(pairs):
            values = dict.fromkeys(values, 0.0)
            for name, number in pairs:
                values[name] += number
        return label, values

    @staticmethod
    def write(token: Any) -> Iterator[str]:
        """Yield the fields of a token with features as `sapo.train` takes them: names, or a dictionary."""
        for name, value in _flat(token):
            if re.search(r"[\t\r\n]", name) or name.startswith("#") or not name:
                raise DataError(f"the feature {name!r} cannot be written to a CRFsuite file; use JSONL")
            yield escaped(name) if value == 1 else f"{escaped(name)}:{value!r}".removesuffix(".0")


def _flat(token: Any, before: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(token, Mapping):
        for key, value in token.items():
            if isinstance(value, bool | int | float):
                yield f"{before}{key}", float(value)
            elif isinstance(value, str):
                yield f"{before}{key}:{value}", 1.0
            else:
                yield from _flat(value, f"{before}{key}:")
    else:
        for name in token:
            yield f"{before}{name}", 1.0


def _fields(fields: list[str]) -> Iterator[str]:
    """Yield fields up to a comment; several TABs separate as one does."""
    for field in fields:
        if field.startswith("#"):
            return
        if field:
            yield field


class _Known(dict[str, tuple[str, float]]):
    """Names and values by field. A field that is new is parsed; ValueError says what is wrong with it."""

    def __missing__(self, field: str) -> tuple[str, float]:
        name, _, number = _unescaped(field)
        value = 1.0
        if number:
            value = float(number) if NUMBER.fullmatch(number) else math.nan
            if not math.isfinite(value):
                raise ValueError(
                    f"expected a number behind the colon of {field[:60]!r}, found {number[:20]!r}; "
                    "write a colon of a name as \\:"
                )
        if len(self) < REMEMBERED:
            self[field] = name, value
        return name, value


def _unescaped(field: str) -> tuple[str, str, str]:
    """Return the name, the colon and the number of a field."""
    if "\\" not in field:
        return field.partition(":")
    pieces = re.split(r"(\\\\|\\:|:)", field)
    colon = ":" if ":" in pieces else ""
    cut = pieces.index(":") if colon else len(pieces)
    name = "".join({"\\\\": "\\", "\\:": ":"}.get(piece, piece) for piece in pieces[:cut])
    return name, colon, "".join(pieces[cut + 1 :])


def escaped(name: str) -> str:
    r"""Return a name with CRFsuite's escapes.

    >>> escaped("a:b")
    'a\\:b'
    """
    return name.replace("\\", "\\\\").replace(":", "\\:")


SENTENCES = 500  # in a block


@dataclass(frozen=True, slots=True)
class AttributeOrigin(Origin):
    """The origin of a block of attributes: all its lines, and which of them are tokens."""

    first_line: int
    lines: tuple[bytes, ...]
    token_lines: Longs  # [tokens] indices of lines
    offsets: Longs  # [sentences + 1]

    def first_lines(self) -> Longs:
        numbers: Longs = self.first_line + self.token_lines[self.offsets[:-1]]
        return numbers

    def line_of(self, token: int, sentence: int) -> int:
        return self.first_line + int(self.token_lines[token])

    def check_labels(self, labels: Sequence[str]) -> None:
        for label in labels:
            _check_label(label)

    def other_lines(self) -> int:
        return sum(1 for line in self.lines if line.strip()) - len(self.token_lines)


def read_blocks(
    path: str | Path, *, label: str | None = None, columns: Sequence[str] | None = None, labeled: bool = True
) -> Iterator[Block]:
    """Read an attribute file in blocks, which have no columns but features. Without `labeled`, labels may be empty."""
    name = show_path(path)
    if label not in (None, LABEL, "0") or columns is not None:
        raise OptionError(f"{name}: the label of a CRFsuite file is its first field; leave `label` and `columns` out")
    attributes = Attributes()
    for first_line, lines in _batches(path, name):
        yield _block(first_line, lines, attributes, labeled, name)


def _batches(path: str | Path, name: str) -> Iterator[tuple[int, list[bytes]]]:
    """Yield whole sentences as lines, with the number of the first line."""
    lines: list[bytes] = []
    first = 1
    sentences = size = 0
    inside = False
    for number, line in read_lines(path, "separate sentences by empty lines"):
        check_utf8(line, name, number)
        lines.append(line)
        filled = bool(line.strip())
        size = size + len(line) if filled else 0
        if size > current_limits().sentence:
            raise no_sentence_end(f"{name}:{number}", size)
        sentences += inside and not filled
        inside = filled
        if sentences == SENTENCES:
            yield first, lines
            lines, first, sentences = [], number + 1, 0
    if lines:
        yield first, lines


def _block(first_line: int, lines: list[bytes], attributes: Attributes, labeled: bool, name: str) -> Block:
    sentences: list[Sentence] = []
    places: list[int] = []
    features: list[Any] = []
    labels: list[str] = []
    for at, line in enumerate([*lines, b""]):
        if not line.strip():
            if features:
                tags = tuple(labels) if labeled else None
                sentences.append(Sentence({}, tags, features=tuple(features)))
                features, labels = [], []
            continue
        label, token = attributes.read(line.decode(), f"{name}:{first_line + at}")
        if label is None:  # a comment
            continue
        if labeled and not label:
            raise DataError(f"{name}:{first_line + at}: the label, the first field, is empty; write one")
        places.append(at)
        features.append(token)
        labels.append(label)
    offsets = np.cumsum([0, *(len(sentence) for sentence in sentences)], dtype=np.int64)
    origin = AttributeOrigin(first_line, tuple(lines), np.array(places, np.int64), offsets)
    return block_from_sentences(sentences, name, origin, columns=(), labeled=labeled)


def write(block: Block, added: Annotation) -> Iterator[bytes]:
    """Yield the lines of the block with the tags in place of labels, and probabilities as comments behind them.

    The n best taggings give each sentence several times, with rank and probabilities as comments before it.
    """
    origin = block.origin_as(AttributeOrigin)
    if added.taggings is None:
        yield _lines(origin, added.names(), added.probabilities(block.offsets) or ())
        return
    for (begin, end), ranked in zip(itertools.pairwise(origin.offsets.tolist()), added.taggings, strict=True):
        places = origin.token_lines[begin:end]
        alone = AttributeOrigin(
            0, origin.lines[places[0] : places[-1] + 1], places - places[0], np.array([0, end - begin])
        )
        for comments, tags in with_comments(ranked):
            yield comments.encode() + _lines(alone, names_of(tags, added.labels)) + b"\n"


def _lines(origin: AttributeOrigin, tags: Sequence[str], probabilities: Sequence[str] = ()) -> bytes:
    """Return the lines with these labels, or with their own if there are no tags."""
    lines = list(origin.lines)
    for token, (at, tag) in enumerate(zip(origin.token_lines.tolist() if tags else (), tags, strict=True)):
        line = lines[at]
        ending = line[len(line.rstrip(b"\r")) :]
        _, tab, rest = line.removesuffix(ending).partition(b"\t")
        comment = f"\t# {probabilities[token]}".encode() if probabilities else b""
        lines[at] = escaped(tag).encode() + tab + rest + comment + ending
    return b"".join(line + b"\n" for line in lines)


def write_sentence(sentence: Sentence, placement: Placement = DEFAULT) -> str:
    r"""Return the tags and the ready-made features of a sentence.

    >>> write_sentence(Sentence({}, ("NNP", "VBZ"), features=({"w": "10:30", "length": 5}, ["w=is"])))
    'NNP\tw\\:10\\:30\tlength:5\nVBZ\tw=is\n\n'
    """
    if sentence.features is None:
        raise DataError("CRFsuite files have ready-made features, and this data has only words; write another format")
    tags = sentence.tags if sentence.tags is not None else [""] * len(sentence)
    lines = []
    for tag, token in zip(tags, sentence.features, strict=True):
        if sentence.tags is not None:
            _check_label(tag)
        lines.append("\t".join([escaped(tag), *Attributes.write(token)]) + "\n")
    return "".join(lines) + "\n"


def _check_label(label: str) -> None:
    check_tag(label, tabs=True)
    if label[0] in "#@":
        raise DataError(
            f"CRFsuite takes {label!r} for a comment or declaration, because of its {label[0]}; write JSONL"
        )
