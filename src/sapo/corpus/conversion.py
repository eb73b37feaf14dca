"""Convert a corpus to another format or tag scheme, or split it into parts, sentence by sentence.

This is iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011): the rarest label first, each unit with it goes
to the part that still needs the label most. A unit is a sentence or a document. Tokens are counted, so that parts of
documents get their size, too.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from sapo.corpus.annotations import Annotation, Placement, number_tags
from sapo.corpus.blocks import LABEL, Block, Sentence
from sapo.corpus.conllu import COLUMNS, check_target
from sapo.corpus.files import read_chunks, show_path, write_file
from sapo.corpus.formats import FORMATS, TOOLS, format_of, open_output, read_blocks
from sapo.corpus.jsonl import json_lines, read_record
from sapo.corpus.scanner import ScannedOrigin, sentence_regions
from sapo.errors import DataError, OptionError, SapoError, choice, did_you_mean
from sapo.tags.recognition import recognize_scheme
from sapo.tags.schemes import SCHEMES, looks_like_spans
from sapo.tags.spans import convert_tags, type_of
from sapo.text.splitter import Splitter

LINES = {
    "columns": "comments and -DOCSTART- lines",
    "conllu": "comments, multiword tokens and empty nodes",
    "crfsuite": "comments",
}


class LeftOut:
    """What is left out of the blocks so far. Columns that the user dropped by naming others in `keep` do not count."""

    def __init__(self, source: str, target: str, *, label: str, keep: Sequence[str] | None, text: bool) -> None:
        self.source, self.target, self.label, self.keep, self.text = source, target, label, keep, text
        self.lines = 0
        self.names: dict[str, None] = {}  # columns and keys, in the order of the file

    def look_at(self, block: Block) -> None:
        """Add what is left out of one more block."""
        origin = block.origin
        if origin is not None and (self.source, self.target) != ("conllu", "conllu"):
            self.lines += origin.other_lines()
        columns = [name for name in block.columns if name not in ("id", "word", LABEL)]
        if self.keep is None:
            self.names.update(dict.fromkeys(name for name in columns if not self._has_room_for(name)))
        if origin is not None:
            kept = {"text"} if self.target == "conllu" else set()  # as a comment
            self.names.update(dict.fromkeys(key for key in origin.other_keys(self.label) if key not in kept))

    def _has_room_for(self, column: str) -> bool:
        if self.source == "conllu":  # the words alone are written
            return self.target == "conllu"
        if self.target == "conllu":
            return column in (*COLUMNS, "pos")
        return not self.text

    def told(self) -> tuple[str, ...]:
        """Return it in words: how many lines, and the names of columns and keys.

        >>> LeftOut("columns", "jsonl", label="tags", keep=None, text=False).told()
        ()
        """
        lines = [f"{self.lines:,} line{'s' * (self.lines > 1)} ({LINES[self.source]})"] if self.lines else []
        names = [", ".join(self.names)] if self.names else []
        return (*lines, *names)


@dataclass(frozen=True, slots=True)
class Source:
    """A file to convert, and how to read it."""

    path: str | Path
    format: str | None = None  # inferred from the file extension
    label: str | None = None
    columns: Sequence[str] | None = None
    labeled: bool = True
    scheme: str | None = None  # recognized

    def blocks(self) -> Iterator[Block]:
        return read_blocks(self.path, format=self.format, label=self.label, columns=self.columns, labeled=self.labeled)


@dataclass(frozen=True, slots=True)
class Target:
    """A file to write, and what it should hold."""

    path: str | Path
    format: str | None = None  # inferred from the file extension
    keep: Sequence[str] | None = None  # the columns to write
    into: str | None = None  # where the label goes in CoNLL-U
    scheme: str | None = None  # that of the source
    text: bool = False  # JSONL as running text with character spans


@dataclass(frozen=True, slots=True)
class Conversion:
    """How many sentences were written, and what of the file was not."""

    sentences: int
    lost: tuple[str, ...]


def convert(source: Source, target: Target) -> Conversion:
    """Write a corpus in another format or tag scheme.

    Where the format stays and all columns are kept, only the tags change; otherwise `lost` says what was left out.

    >>> with tempfile.TemporaryDirectory() as room:
    ...     _ = Path(room, "a.txt").write_text("# id = 7\\nAnna B-PER\\nsings O\\n")
    ...     done = convert(Source(f"{room}/a.txt"), Target(f"{room}/a.jsonl", scheme="bioes"))
    ...     Path(room, "a.jsonl").read_text()
    '{"tokens": ["Anna", "sings"], "tags": ["S-PER", "O"]}\\n'
    >>> done
    Conversion(sentences=1, lost=('1 line (comments and -DOCSTART- lines)',))
    """
    source = replace(source, scheme=choice(source.scheme, SCHEMES))
    target = replace(target, scheme=choice(target.scheme, SCHEMES))
    for scheme in (source.scheme, target.scheme):
        if scheme is not None and scheme not in SCHEMES:
            raise OptionError(f"unknown scheme '{scheme}'{did_you_mean(scheme, SCHEMES)}")
    name = show_path(source.path)
    source = replace(source, format=format_of(source.path, source.format))
    target = replace(target, format=format_of(target.path, target.format))
    with tempfile.TemporaryDirectory() as room:
        if target.scheme and source.scheme is None:
            if str(source.path) == "-":
                source = replace(source, path=_kept(source.path, Path(room)))  # it is read twice
            source = replace(source, scheme=_recognized(source, name))
        if target.into is None:
            target = replace(target, into=source.label if source.format == "conllu" and source.label else "upos")
        return _convert(source, target, name)


def _convert(source: Source, target: Target, name: str) -> Conversion:
    """Convert once all that was left open is known."""
    assert source.format is not None
    assert target.format is not None
    assert target.into is not None
    if target.format == "conllu":
        check_target(target.into)
    key = source.label or "tags"  # of JSONL
    tools = source.format in TOOLS and target.format in TOOLS  # documents stay whole
    same = (source.format == target.format or tools) and target.keep is None
    writer = FORMATS[target.format]
    placement = Placement(target.into, key, target.text)
    left_out = LeftOut(source.format, target.format, label=key, keep=target.keep, text=target.text)
    count = 0
    with open_output(target.path, target.format) as stream:
        for block in source.blocks():
            sentences = []
            for sentence in block.sentences():
                count += 1
                with _told(f"{name}: sentence {count}"):
                    if target.scheme and source.scheme and sentence.tags is not None:
                        tags = convert_tags(sentence.tags, source.scheme, target.scheme)
                        sentence = replace(sentence, tags=tuple(tags))
                    if same:
                        sentences.append(sentence)
                        continue
                    kept = _with_columns(sentence, source, target)
                    stream.write(writer.write_sentence(kept, placement).encode())
            if same:
                labels, numbers = number_tags(tag for sentence in sentences for tag in sentence.tags or ())
                gold = Annotation(numbers if LABEL in block.columns else None, labels, placement=placement)
                with _told(name):
                    for piece in writer.write(block, gold):
                        stream.write(piece)
            if not same or source.format != target.format:
                left_out.look_at(block)
    return Conversion(count, left_out.told())


def _recognized(source: Source, name: str) -> str:
    sentences = (sentence for block in source.blocks() for sentence in block.sentences())
    scheme = recognize_scheme(sentence.tags or () for sentence in sentences)
    if scheme is None:
        raise DataError(f"{name}: its tags are in none of the schemes {', '.join(SCHEMES)}")
    return scheme


@contextmanager
def _told(place: str) -> Iterator[None]:
    try:
        yield
    except SapoError as error:
        raise DataError(f"{place}: {error}") from None
    except UnicodeEncodeError:
        raise DataError(f"{place}: half of a surrogate pair is not valid text; use JSONL") from None


def _with_columns(sentence: Sentence, source: Source, target: Target) -> Sentence:
    """Return the columns to write: those asked for; from CoNLL-U to elsewhere the words alone; otherwise all."""
    keep = target.keep
    if keep is None:
        if source.format == target.format or source.format != "conllu":
            return sentence
        keep = ["word"]
    for column in keep:
        if column not in sentence.columns:
            raise DataError(f"there is no column '{column}'; the columns are {', '.join(sentence.columns)}")
    return replace(sentence, columns={column: sentence.columns[column] for column in keep})


def _kept(source: str | Path, room: Path) -> Path:
    path = room / "input"
    with path.open("wb") as stream:
        for chunk in read_chunks(source):
            stream.write(chunk)
    return path


NAMES = {2: ("train", "test"), 3: ("train", "dev", "test")}
SPLIT_ENDINGS = {"columns": ".txt", "conllu": ".conllu", "jsonl": ".jsonl"}  # that can be split, with their extensions
DOCUMENT_KEYS = ("document", "document_id", "doc", "doc_id")  # of JSONL
SENTENCE_NAME = re.compile(rb"^#\s*sent_id\s*=\s*(\S+?)[-_.:]s?\d+\s*$", re.MULTILINE)  # of CoNLL-U, without its number
DOCUMENT_START = re.compile(rb"^(?:-DOCSTART-(?:\s|$)|#\s*newdoc\b)", re.MULTILINE)


@dataclass(slots=True)
class Unit:
    """A sentence, or all sentences of a document."""

    data: bytes  # with an empty line at the end, where the format has one
    labels: Counter[str]  # how many tokens have each
    sentences: int
    tokens: int
    starts: bool = False  # whether a document begins here
    document: str | None = None  # the name of its document, if it is known


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a corpus that was written."""

    path: Path
    sentences: int
    tokens: int


def split_corpus(
    source: Source, target: Target, shares: Sequence[float], *, documents: bool = False, seed: int = 0
) -> tuple[list[Part], tuple[str, ...]]:
    """Write a corpus to the files `part_paths(source, target, len(shares))`, converted if the target says so.

    Return the parts, and what the format of the target has no place for. Sentences stay whole, or documents with
    `documents`. Without a conversion, sentences are copied as they are, with their comments.
    """
    paths = part_paths(source, target, len(shares))
    given, wanted = format_of(source.path, source.format), _target_format(source, target)
    name = show_path(source.path)
    lost: tuple[str, ...] = ()
    with tempfile.TemporaryDirectory() as room:
        same_columns = given == wanted and target.keep is None
        if not same_columns or target.into or target.scheme or target.text:
            whole = Path(room, f"whole{SPLIT_ENDINGS[wanted]}")
            lost = convert(source, replace(target, path=whole, format=wanted)).lost
            label = source.label if same_columns or given == wanted == "conllu" else None
            label = (target.into or label) if wanted == "conllu" else label
            source = replace(source, path=whole, label=label, columns=source.columns if same_columns else None)
        units = read_units(replace(source, format=wanted), documents=documents, name=name)
    split = split_units(units, shares, seed=seed)
    directory, parts = Path(target.path), []
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{directory}: cannot create this directory ({error.strerror or error})") from None
    for path, part in zip(paths, split, strict=True):
        with write_file(path) as stream:
            stream.writelines(unit.data for unit in part)
        parts.append(Part(path, sum(unit.sentences for unit in part), sum(unit.tokens for unit in part)))
    return parts, lost


def part_paths(source: Source, target: Target, count: int) -> list[Path]:
    """Return the files of `count` parts. They have the extension of the source, if it is that of their format.

    >>> [path.as_posix() for path in part_paths(Source("all.txt.gz"), Target("data"), 2)]
    ['data/train.txt.gz', 'data/test.txt.gz']
    """
    wanted = _target_format(source, target)
    ending = SPLIT_ENDINGS[wanted]
    if not Path(source.path).is_dir() and format_of(source.path) == wanted:
        name = Path(source.path)
        zipped = name.suffix.lower() == ".gz"
        ending = (Path(name.stem) if name.suffix.lower() in (".gz", ".zip") else name).suffix or ending
        ending += ".gz" if zipped else ""
    return [Path(target.path) / f"{part}{ending}" for part in NAMES[count]]


def _target_format(source: Source, target: Target) -> str:
    """Return the format of the parts: that of the target, or else that of the source."""
    wanted = format_of(source.path, source.format) if target.format is None else format_of("", target.format)
    if wanted not in SPLIT_ENDINGS:
        name = show_path(source.path)
        raise DataError(
            f"{name}: only columns, conllu and jsonl can be split, not {wanted}; convert it to one of these"
        )
    return wanted


def read_units(source: Source, *, documents: bool = False, name: str | None = None) -> list[Unit]:
    """Return the sentences of a file, or its documents; `name` is the file for messages.

    A document begins with -DOCSTART- in a column file and with `# newdoc` in CoNLL-U, where without it the document is
    what `sent_id` has before its number; in JSONL its name is under 'document', 'doc' or 'doc_id'. Of span labels the
    types count as labels. Raises SapoError if the file cannot be read, or has no documents.
    """
    found = format_of(source.path, source.format)
    units = list(_records(source) if found == "jsonl" else _sentences(source))
    name = name or show_path(source.path)
    if not units:
        raise DataError(f"{name}: has no sentences")
    labels = set().union(*(unit.labels for unit in units))
    if looks_like_spans(labels):
        for unit in units:
            unit.labels = _by_type(unit.labels)
    return _documents(units, name) if documents else units


def split_units(units: Sequence[Unit], shares: Sequence[float], *, seed: int = 0) -> list[list[Unit]]:
    """Return the units in as many parts as there are shares, each in the order of the file.

    Equal seeds give equal parts. Raises SapoError if there are fewer units than parts.

    >>> units = [Unit(b"", Counter("AB"[number % 2]), 1, 1) for number in range(20)]
    >>> parts = split_units(units, [0.5, 0.5])
    >>> [Counter(label for unit in part for label in unit.labels)["A"] for part in parts]
    [5, 5]
    """
    if len(units) < len(shares):
        raise DataError(f"{len(units)} sentences or documents cannot be split into {len(shares)} parts")
    portions = np.array(shares, np.float64) / sum(shares)
    rng = np.random.default_rng(seed)
    waiting = rng.permutation(len(units)).tolist()
    totals = sum((unit.labels for unit in units), Counter[str]())
    needed = {label: portions * count for label, count in totals.items()}  # of each label in each part
    room = portions * sum(unit.tokens for unit in units)
    place = np.full(len(units), -1)

    def put(number: int, part: int) -> None:
        place[number] = part
        room[part] -= units[number].tokens
        for label, count in units[number].labels.items():
            needed[label][part] -= count

    for label in sorted(totals, key=lambda label: (totals[label], label)):
        for number in waiting:
            if place[number] < 0 and label in units[number].labels:
                fits = room >= units[number].tokens
                need = np.where(fits, needed[label], -np.inf) if fits.any() else needed[label]
                # of the parts that need the label equally, the one with the most room
                put(number, max(np.flatnonzero(need > need.max() - 0.5).tolist(), key=lambda part: room[part]))
    for number in waiting:
        if place[number] < 0:
            put(number, int(np.argmax(room)))
    for part in range(len(shares)):  # rounding must not leave a part empty
        if not (place == part).any():
            largest = int(np.argmax(np.bincount(place, minlength=len(shares))))
            put(int(np.flatnonzero(place == largest)[0]), part)
    return [
        [unit for unit, found in zip(units, place.tolist(), strict=True) if found == part]
        for part in range(len(shares))
    ]


def _by_type(labels: Counter[str]) -> Counter[str]:
    types: Counter[str] = Counter()
    for label, count in labels.items():
        types[type_of(label)] += count
    del types[""]  # O
    return types


def _sentences(source: Source) -> Iterator[Unit]:
    for block in source.blocks():
        scanned, tags = block.origin_as(ScannedOrigin).scanned, block.strings(LABEL) if source.labeled else ()
        whole = scanned.data.tobytes()
        for (begin, end), (first, last) in zip(
            sentence_regions(scanned), pairwise(block.offsets.tolist()), strict=True
        ):
            data = whole[begin:end].rstrip(b"\r\n")
            before = data[: int(scanned.line_starts[first]) - begin]
            starts, named = DOCUMENT_START.search(before) is not None, SENTENCE_NAME.search(before)
            document = named[1].decode() if named else None
            yield Unit(data + b"\n\n", Counter(tags[first:last]), 1, last - first, starts, document)


def _records(source: Source) -> Iterator[Unit]:
    name = show_path(source.path)
    tokens_of = Splitter().tokens
    for number, line in json_lines(source.path):
        record = read_record(line, f"{name}:{number}", source.label or "tags", source.labeled, tokens_of)
        document = next((str(record.values[key]) for key in DOCUMENT_KEYS if key in record.values), None)
        labels = Counter(record.sentence.tags or ())
        yield Unit(line.rstrip(b"\r\n") + b"\n", labels, 1, len(record.sentence), document=document)


def _documents(units: list[Unit], name: str) -> list[Unit]:
    """Join the sentences of each document: up to the next start, or, without starts, those of the same name."""
    by_start = any(unit.starts for unit in units)
    groups: dict[object, list[Unit]] = {}
    current: object = None
    for number, unit in enumerate(units):
        if not by_start:
            current = unit.document
        elif unit.starts:
            current = number
        groups.setdefault(current, []).append(unit)
    if len(groups) < 2:
        raise DataError(
            f"{name}: has no documents (-DOCSTART- in columns, # newdoc or sent_id in CoNLL-U, 'document' in JSONL); "
            "split it by sentence"
        )
    return [
        Unit(
            b"".join(unit.data for unit in group),
            sum((unit.labels for unit in group), Counter[str]()),
            len(group),
            sum(unit.tokens for unit in group),
        )
        for group in groups.values()
    ]
