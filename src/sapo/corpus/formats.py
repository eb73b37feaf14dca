"""Find the format of a file, with its reader and writer."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from sapo.corpus.blocks import Block, Sentence
from sapo.corpus.files import read_chunks, with_encoding, write_file
from sapo.errors import DataError, OptionError, SapoError, choice, did_you_mean

if TYPE_CHECKING:
    from sapo.text.splitter import Splitter


class FormatEntry(NamedTuple):
    """Where a format is, and which file extensions it has."""

    module: str  # below sapo.corpus; 'module:OBJECT' if it is not the object FORMAT or the module itself
    endings: tuple[str, ...] = ()
    cut: bool = False  # its running text is cut into tokens by a splitter


TABLE = {
    "columns": FormatEntry("columns"),
    "conllu": FormatEntry("conllu", (".conllu", ".conll-u")),
    "jsonl": FormatEntry("jsonl", (".jsonl", ".ndjson"), cut=True),
    "text": FormatEntry("plain_text", cut=True),
    "crfsuite": FormatEntry("crfsuite", (".crfsuite",)),
    "csv": FormatEntry("exchange.rows:CSV", (".csv",), cut=True),
    "json": FormatEntry("exchange.rows:JSON", (".json",), cut=True),
    "arrow": FormatEntry("arrow", (".parquet", ".arrow"), cut=True),
    "doccano": FormatEntry("exchange.doccano", cut=True),
    "prodigy": FormatEntry("exchange.prodigy", cut=True),
    "label-studio": FormatEntry("exchange.label_studio", cut=True),
    "brat": FormatEntry("exchange.brat", (".ann",), cut=True),
    "spacy": FormatEntry("exchange.docbin", (".spacy",), cut=True),
}
PEEKED_INTO = (".tsv", ".json", ".jsonl", ".ndjson")  # these extensions do not say enough
PEEKED = 1 << 16  # bytes
DOCUMENTS = ("doccano", "prodigy", "label-studio", "brat", "spacy", "csv", "json")  # texts are written whole
ENDINGS = {ending: name for name, entry in TABLE.items() for ending in entry.endings}


class _Formats(Mapping[str, Any]):
    """The formats by name. Each is loaded when it is first used.

    A format is a module, or the object FORMAT of a module, with three functions: `read_blocks`, `write` and
    `write_sentence`, as in `corpus/columns.py`. If its files are not lines, it also has `open_output`.
    """

    def __getitem__(self, name: str) -> Any:
        where, _, what = TABLE[name].module.partition(":")
        module = import_module(f"sapo.corpus.{where}")
        return getattr(module, what or "FORMAT", module)

    def __iter__(self) -> Iterator[str]:
        return iter(TABLE)

    def __len__(self) -> int:
        return len(TABLE)

    def __contains__(self, name: object) -> bool:
        return name in TABLE


FORMATS = _Formats()


def format_of(path: str | Path, given: str | None = None) -> str:
    """Return the format that was given, or else the one of the file extension; the default is a column file.

    A .tsv file may have a token or a text in each line, a .json file may be an array or lines, and both JSON and JSONL
    may come from an annotation tool: if the file exists, its beginning decides.

    >>> format_of("train.conllu.gz"), format_of("train.txt"), format_of("-", "jsonl")
    ('conllu', 'columns', 'jsonl')
    """
    if given is not None:
        given = choice(given, tuple(FORMATS))
        if given not in FORMATS:
            raise OptionError(f"unknown format '{given}'{did_you_mean(str(given), FORMATS)}")
        return given
    if Path(path).is_dir():
        return _format_of_directory(Path(path))
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() not in (".gz", ".zip")]
    ending = suffixes[-1] if suffixes else ""
    if ending in PEEKED_INTO and Path(path).is_file():
        return _format_of_content(path, ending)
    return ENDINGS.get(ending, "columns")


def _format_of_content(path: str | Path, ending: str) -> str:
    try:
        begin = next(read_chunks(path, PEEKED), b"").removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").lstrip()
    except SapoError:  # whoever reads it says what is wrong
        return ENDINGS.get(ending, "columns")
    if ending == ".tsv":
        from sapo.corpus.tables import ENDS, SURE_SPANS, TEXTS

        names = {name.strip().strip('"').lower() for name in begin.partition("\n")[0].split("\t")}
        return "csv" if names & set(TEXTS) and names & {*SURE_SPANS, *ENDS} else "columns"
    array = ending == ".json" and not begin.startswith("{")
    try:
        first, _ = json.JSONDecoder().raw_decode(begin, begin.index("{"))
    except (ValueError, RecursionError):  # no object, or a long one
        first = {}
    return _tool_of(first, array) or ("json" if array else "jsonl")


def _tool_of(record: Mapping[str, Any], array: bool) -> str | None:
    """Return the annotation tool that writes such records, if it can be recognized."""
    labels = next((record[key] for key in ("label", "labels", "entities") if isinstance(record.get(key), list)), None)
    first = labels[0] if labels else None
    if array:
        task = isinstance(record.get("data"), dict) and {"annotations", "completions", "predictions"} & set(record)
        return "label-studio" if task or (isinstance(first, dict) and isinstance(first.get("labels"), list)) else None
    tokens = record.get("tokens")
    if "_task_hash" in record or (isinstance(tokens, list) and tokens and isinstance(tokens[0], dict)):
        return "prodigy"
    if labels is None or "tokens" in record or "spans" in record or not isinstance(record.get("text"), str):
        return None
    if isinstance(first, dict):
        return "doccano" if "start_offset" in first else None
    return "doccano" if "entities" not in record and (first is None or isinstance(first, list)) else None


def _format_of_directory(path: Path) -> str:
    if next(path.rglob("*.ann"), None) is not None:
        return "brat"
    if any(next(path.glob(name), None) for name in ("dataset_*.json", "*.arrow", "*.parquet")):
        return "arrow"
    raise DataError(f"{path}: is a directory, not a file")


def open_output(path: str | Path, format: str) -> AbstractContextManager[BinaryIO]:
    """Open a stream for what a format writes. The result is a file, whole or not at all; for BRAT, a new directory."""
    opened: AbstractContextManager[BinaryIO] = getattr(FORMATS[format], "open_output", write_file)(path)
    return opened


def read_blocks(
    path: str | Path | Any,
    *,
    format: str | None = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    labeled: bool = True,
    encoding: str | None = None,
    splitter: "Splitter | None" = None,
) -> Iterator[Block]:
    """Read a corpus as bytes, in blocks of some thousand tokens. It may also be a table of Python.

    The arguments are those of `read`; `splitter` cuts running text into tokens, by default by usual rules.
    """
    if not isinstance(path, str | Path):
        from sapo.corpus.blocks import is_table
        from sapo.corpus.tables import table_blocks

        if is_table(path):
            return table_blocks(path, label=label, columns=columns, labeled=labeled, splitter=splitter)
    chosen = format_of(path, format)
    encoded = path if encoding is None else with_encoding(path, encoding)
    how: dict[str, Any] = {"label": label, "columns": columns, "labeled": labeled}
    if TABLE[chosen].cut:
        how["splitter"] = splitter
    blocks: Iterator[Block] = FORMATS[chosen].read_blocks(encoded, **how)
    return blocks


def read(
    path: str | Path | Any,
    *,
    format: str | None = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    labeled: bool = True,
    encoding: str | None = None,
) -> Iterator[Sentence]:
    """Read a corpus sentence by sentence, as Python strings.

    `path` is a file, or a table of pandas, polars, Arrow or Hugging Face; see `sapo.corpus.tables`.

    `format` is one of `FORMATS`, by default inferred from the file extension (but never text). `label` says where the
    label is: a column's number or name, a key of FEATS, upos+feats, or a key of JSONL. `columns` names the columns of a
    column file. Read a file without labels with `labeled=False`. `encoding` is that of a file that is not UTF-8:
    latin-1.

    >>> from sapo.corpus.sample import sample_path
    >>> next(read(sample_path("train"))).words[:3]
    ('The', 'miners', 'laid')
    """
    how: dict[str, Any] = {"label": label, "columns": columns, "labeled": labeled, "encoding": encoding}
    for block in read_blocks(path, format=format, **how):
        yield from block.sentences()
