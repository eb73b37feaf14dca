"""Convert a corpus to another format or tag scheme, or split it into parts.

Documents keep their names: formats of texts are converted document by document, and others sentence by sentence, with
the name of the document.

Splitting is iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011): the rarest label first, each unit with it
goes to the part that still needs the label most. A unit is a sentence or a document. Units that share a sentence stay
together, since a model that has seen a sentence in training would get too good a score on it. Tokens are counted, so
that parts of documents get their size, too.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from sapo.corpus.annotations import Annotation, Placement, number_tags
from sapo.corpus.blocks import LABEL, Block, Sentence
from sapo.corpus.conllu import COLUMNS, check_target
from sapo.corpus.exchange.documents import Notices, id_of
from sapo.corpus.exchange.format import DocumentOrigin
from sapo.corpus.files import read_chunks, show_path
from sapo.corpus.formats import DOCUMENTS, FORMATS, format_of, open_output, read_blocks
from sapo.corpus.jsonl import JsonlOrigin, RecordReading, json_lines, read_record
from sapo.corpus.scanner import ScannedOrigin, sentence_regions
from sapo.errors import DataError, OptionError, SapoError, choice, did_you_mean
from sapo.tags.recognition import recognize_scheme
from sapo.tags.schemes import SCHEMES, looks_like_spans
from sapo.tags.spans import convert_tags, type_of

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
            if self.target == "spacy" and any(cut.document.id for cut in origin.cuts() or ()):
                self.names["id"] = None
            self.names.update(dict.fromkeys(key for key in origin.other_keys(self.label) if key not in kept))

    def _has_room_for(self, column: str) -> bool:
        if self.source == "conllu":  # the words alone are written
            return self.target == "conllu"
        if self.target == "conllu":
            return column in (*COLUMNS, "pos")
        return not self.text

    def descriptions(self) -> tuple[str, ...]:
        """Return it in words: how many lines, and the names of columns and keys.

        >>> LeftOut("columns", "jsonl", label="tags", keep=None, text=False).descriptions()
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
    same = source.format == target.format and target.keep is None
    of_documents = target.format in DOCUMENTS or (target.format == "jsonl" and target.text)
    writer = FORMATS[target.format]
    placement = Placement(target.into, key, target.text)
    notices = Notices(name)
    left_out = LeftOut(source.format, target.format, label=key, keep=target.keep, text=target.text)
    count = 0
    last: str | None = None  # document
    with open_output(target.path, target.format) as stream:
        for block in source.blocks():
            cuts = None if block.origin is None else block.origin.cuts()
            for cut in cuts or ():
                for split in cut.splits:
                    notices.tell(f"{split.message}; the token is split")
            whole = same or (of_documents and cuts is not None and target.keep is None)
            sentences = []
            for sentence in block.sentences():
                count += 1
                with _placed(f"{name}: sentence {count}"):
                    if target.scheme and source.scheme and sentence.tags is not None:
                        tags = convert_tags(sentence.tags, source.scheme, target.scheme)
                        sentence = replace(sentence, tags=tuple(tags))
                    if whole:
                        sentences.append(sentence)
                        continue
                    starts = sentence.document is not None and sentence.document != last
                    last = sentence.document
                    kept = _with_columns(replace(sentence, starts_document=starts), source, target)
                    stream.write(writer.write_sentence(kept, placement).encode())
            if whole:
                labels, numbers = number_tags(tag for sentence in sentences for tag in sentence.tags or ())
                gold = Annotation(numbers if LABEL in block.columns else None, labels, placement=placement)
                if not same and cuts is not None:  # to be written in the other format's own way
                    block = replace(block, origin=DocumentOrigin(source.format, tuple(cuts)))
                    gold = replace(gold, placement=replace(placement, text=True))
                with _placed(name):
                    for piece in writer.write(block, gold):
                        stream.write(piece)
            if not same:
                left_out.look_at(block)
    notices.close()
    return Conversion(count, left_out.descriptions())


def _recognized(source: Source, name: str) -> str:
    sentences = (sentence for block in source.blocks() for sentence in block.sentences())
    scheme = recognize_scheme(sentence.tags or () for sentence in sentences)
    if scheme is None:
        raise DataError(f"{name}: its tags follow none of the schemes {', '.join(SCHEMES)}")
    return scheme


@contextmanager
def _placed(place: str) -> Iterator[None]:
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
SPLIT_ENDINGS = {  # of the parts, unless the file has another one of its format
    "columns": ".txt",
    "conllu": ".conllu",
    "jsonl": ".jsonl",
    "crfsuite": ".crfsuite",
    "csv": ".csv",
    "json": ".json",
    "arrow": ".parquet",
    "doccano": ".jsonl",
    "prodigy": ".jsonl",
    "label-studio": ".json",
    "brat": "",
    "spacy": ".spacy",
}
SENTENCE_NAME = re.compile(rb"^#\s*sent_id\s*=\s*(\S+?)[-_.:]s?\d+\s*$", re.MULTILINE)  # of CoNLL-U, without its number
DOCUMENT_START = re.compile(rb"^(?:-DOCSTART-(?:\s|$)|#\s*newdoc\b)", re.MULTILINE)
ENOUGH_DOCUMENTS = 10  # with fewer, parts of whole documents would be far from their sizes


@dataclass(slots=True)
class Unit:
    """A sentence, or all sentences of a document."""

    data: bytes  # with an empty line at the end, where the format has one
    labels: Counter[str]  # how many tokens have each
    sentences: int
    tokens: int
    starts: bool = False  # whether a document begins here
    document: str | None = None  # the name of its document, if it is known
    keys: tuple[tuple[int, int], ...] = ()  # the length of each sentence, and a hash of its words


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a corpus that was written."""

    path: Path
    sentences: int
    tokens: int
    documents: int | None  # None if sentences were split


def split_corpus(
    source: Source, target: Target, shares: Sequence[float], *, documents: bool | None = None, seed: int = 0
) -> tuple[list[Part], tuple[str, ...]]:
    """Write a corpus to the files `part_paths(source, target, len(shares))`, converted if the target says so.

    Return the parts, and what the format of the target has no place for. Documents stay whole if the file has ten or
    more, or with `documents`; otherwise sentences. Equal sentences stay together. Without a conversion, sentences are
    copied as they are, with their comments.
    """
    paths = part_paths(source, target, len(shares))
    given, wanted = format_of(source.path, source.format), _target_format(source, target)
    name = show_path(source.path)
    source = replace(source, format=given)
    units, by_document = read_units(source, documents=documents)
    split = split_units(units, shares, seed=seed)
    directory, parts = Path(target.path), []
    lost: tuple[str, ...] = ()
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{directory}: cannot create this directory ({error.strerror or error})") from None
    as_it_is = given == wanted and target.keep is None and not (target.into or target.scheme or target.text)
    if not as_it_is and target.scheme and source.scheme is None:
        source = replace(source, scheme=_recognized(source, name))
    for path, part in zip(paths, split, strict=True):
        with tempfile.TemporaryDirectory() as room:
            written = path if as_it_is else Path(room, f"part{SPLIT_ENDINGS[given]}")
            with open_output(written, given) as stream:
                for unit in part:
                    stream.write(unit.data)
            if not as_it_is:
                lost = convert(replace(source, path=written), replace(target, path=path, format=wanted)).lost or lost
        sizes = sum(unit.sentences for unit in part), sum(unit.tokens for unit in part)
        parts.append(Part(path, *sizes, len(part) if by_document else None))
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
        raise DataError(f"{show_path(source.path)}: {wanted} cannot be split; give a file with labels")
    return wanted


def read_units(source: Source, *, documents: bool | None = None) -> tuple[list[Unit], bool]:
    """Return the sentences of a file, or its documents, and whether they are documents.

    A text with spans is a document. In a column file one begins with -DOCSTART-, in CoNLL-U with `# newdoc`, and
    without it the document is what `sent_id` has before its number; lines of tokens in JSONL have its name under
    'document' or 'id'. By default, units are documents if there are `ENOUGH_DOCUMENTS`. Of span labels the types count
    as labels. Raises SapoError if the file cannot be read, or has no documents.
    """
    found = format_of(source.path, source.format)
    if found == "jsonl":
        units = list(_records(source))
    else:
        units = list(_sentences(source) if found in ("columns", "conllu") else _written(source, found))
    name = show_path(source.path)
    if not units:
        raise DataError(f"{name}: has no sentences")
    labels = set().union(*(unit.labels for unit in units))
    if looks_like_spans(labels):
        for unit in units:
            unit.labels = _by_type(unit.labels)
    if documents is False:
        return units, False
    joined = _documents(units)
    if len(joined) >= (2 if documents else ENOUGH_DOCUMENTS):
        return joined, True
    if documents:
        raise DataError(
            f"{name}: has no documents (-DOCSTART- in columns, # newdoc or sent_id in CoNLL-U, 'document' in JSONL); "
            "split it by sentence"
        )
    return units, False


def split_units(units: Sequence[Unit], shares: Sequence[float], *, seed: int = 0) -> list[list[Unit]]:
    """Return the units in as many parts as there are shares, each in the order of the file.

    Units that share a sentence go to the same part, unless these would be more than the smallest part can take: then
    those that share long sentences do. Equal seeds give equal parts. Raises SapoError if there are fewer units than
    parts.

    >>> units = [Unit(b"", Counter("AB"[number % 2]), 1, 1) for number in range(20)]
    >>> parts = split_units(units, [0.5, 0.5])
    >>> [Counter(label for unit in part for label in unit.labels)["A"] for part in parts]
    [5, 5]
    """
    if len(units) < len(shares):
        raise DataError(f"{len(units)} sentences or documents cannot be split into {len(shares)} parts")
    portions = np.array(shares, np.float64) / sum(shares)
    tokens = sum(unit.tokens for unit in units)
    groups = _together(units, float(portions.min()) * tokens)
    if len(groups) < len(shares):
        groups = [[number] for number in range(len(units))]
    counted = [sum((units[number].labels for number in group), Counter[str]()) for group in groups]
    sizes = [sum(units[number].tokens for number in group) for group in groups]
    rng = np.random.default_rng(seed)
    waiting = rng.permutation(len(groups)).tolist()
    totals = sum(counted, Counter[str]())
    needed = {label: portions * count for label, count in totals.items()}  # of each label in each part
    room = portions * tokens
    place = np.full(len(groups), -1)

    def put(number: int, part: int) -> None:
        place[number] = part
        room[part] -= sizes[number]
        for label, count in counted[number].items():
            needed[label][part] -= count

    for label in sorted(totals, key=lambda label: (totals[label], label)):
        for number in waiting:
            if place[number] < 0 and label in counted[number]:
                fits = room >= sizes[number]
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
    chosen = {number: found for group, found in zip(groups, place.tolist(), strict=True) for number in group}
    return [[unit for number, unit in enumerate(units) if chosen[number] == part] for part in range(len(shares))]


def _together(units: Sequence[Unit], most: float) -> list[list[int]]:
    """Return the numbers of units in groups that share sentences; no group has more than `most` tokens by joining."""
    having: dict[tuple[int, int], list[int]] = {}
    for number, unit in enumerate(units):
        for key in dict.fromkeys(unit.keys):
            having.setdefault(key, []).append(number)
    groups = {number: [number] for number in range(len(units))}
    home = list(range(len(units)))
    sizes = [unit.tokens for unit in units]
    shared = [(key, numbers) for key, numbers in having.items() if len(numbers) > 1]
    for _, numbers in sorted(shared, key=lambda pair: (-pair[0][0], pair[1])):  # long sentences are equal for a reason
        for one, other in pairwise(numbers):
            a, b = home[one], home[other]
            if a != b and sizes[a] + sizes[b] <= most:
                groups[a] += groups[b]
                sizes[a] += sizes[b]
                for number in groups.pop(b):
                    home[number] = a
    return list(groups.values())


def _by_type(labels: Counter[str]) -> Counter[str]:
    types: Counter[str] = Counter()
    for label, count in labels.items():
        types[type_of(label)] += count
    del types[""]  # O
    return types


def _key(words: Sequence[str]) -> tuple[int, int]:
    return len(words), hash(tuple(words))


def _sentences(source: Source) -> Iterator[Unit]:
    for block in source.blocks():
        scanned, tags = block.origin_as(ScannedOrigin).scanned, block.strings(LABEL) if source.labeled else ()
        words = block.strings("word" if "word" in block.columns else block.columns[0])
        whole = scanned.data.tobytes()
        for (begin, end), (first, last) in zip(
            sentence_regions(scanned), pairwise(block.offsets.tolist()), strict=True
        ):
            data = whole[begin:end].rstrip(b"\r\n")
            before = data[: int(scanned.line_starts[first]) - begin]
            starts, named = DOCUMENT_START.search(before) is not None, SENTENCE_NAME.search(before)
            document = named[1].decode() if named else None
            keys = (_key(words[first:last]),)
            yield Unit(data + b"\n\n", Counter(tags[first:last]), 1, last - first, starts, document, keys)


def _records(source: Source) -> Iterator[Unit]:
    name = show_path(source.path)
    how = RecordReading(source.label or "tags", source.labeled, notices=Notices(name))
    for number, line in json_lines(source.path):
        record = read_record(line, f"{name}:{number}", how)
        document = id_of(record.values) or (f"line {number}" if record.cut is not None else None)
        yield _unit(line.rstrip(b"\r\n") + b"\n", record.sentences, document)
    how.notices.close()


def _written(source: Source, found: str) -> Iterator[Unit]:
    """Yield the documents or sentences of a file as its format writes them."""
    writer = FORMATS[found]
    count = 0
    for block in source.blocks():
        if isinstance(block.origin, JsonlOrigin | DocumentOrigin):
            labels, numbers = number_tags(block.strings(LABEL) if source.labeled else ())
            sentences, origin = block.sentences(), block.origin
            cuts = origin.cuts() or ()
            placement = Placement(key=source.label or "tags", text=bool(cuts))
            gold = Annotation(numbers if source.labeled else None, labels, placement=placement)
            sizes = [len(one.sentences) for one in (origin.records if isinstance(origin, JsonlOrigin) else cuts)]
            for number, (data, size) in enumerate(zip(writer.write(block, gold), sizes, strict=True)):
                count += 1
                name = (cuts[number].document.id or f"document {count}") if cuts else None
                yield _unit(data, tuple(islice(sentences, size)), name)
        else:
            for sentence in block.sentences():
                yield _unit(writer.write_sentence(sentence).encode(), (sentence,), sentence.document)


def _unit(data: bytes, sentences: Sequence[Sentence], document: str | None) -> Unit:
    labels = Counter(tag for sentence in sentences for tag in sentence.tags or ())
    keys = tuple(_key(sentence.words or tuple(map(str, sentence.features or ()))) for sentence in sentences)
    return Unit(data, labels, len(sentences), sum(map(len, sentences)), document=document, keys=keys)


def _documents(units: list[Unit]) -> list[Unit]:
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
    return [
        Unit(
            b"".join(unit.data for unit in group),
            sum((unit.labels for unit in group), Counter[str]()),
            sum(unit.sentences for unit in group),
            sum(unit.tokens for unit in group),
            keys=tuple(key for unit in group for key in unit.keys),
        )
        for group in groups.values()
    ]
