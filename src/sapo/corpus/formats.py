"""Find the format of a file, with its reader and writer."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from sapo.corpus.blocks import Block, Sentence, block_sentences
from sapo.corpus.files import with_encoding, write_file
from sapo.errors import SapoError, choice, did_you_mean

if TYPE_CHECKING:
    from sapo.text.splitter import Splitter

MODULES = {
    "columns": "sapo.corpus.columns",
    "conllu": "sapo.corpus.conllu",
    "jsonl": "sapo.corpus.jsonl",
    "text": "sapo.corpus.plain_text",
    "crfsuite": "sapo.corpus.crfsuite",
    "arrow": "sapo.corpus.arrow",
}
TOOLS = ("doccano", "prodigy", "label-studio", "brat", "spacy")  # see corpus/exchange/__init__.py
CUT = ("jsonl", "text", *TOOLS)  # formats with running text
COLLECTED = ("label-studio", "brat", "spacy", "arrow")  # formats that are not lines: see corpus/exchange/outputs.py


class _Formats(Mapping[str, Any]):
    """The formats by name: modules, or objects with the same functions. Each is loaded when it is first used."""

    def __getitem__(self, name: str) -> Any:
        if name in MODULES:
            return import_module(MODULES[name])
        from sapo.corpus.exchange import TOOLS

        return TOOLS[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*MODULES, *TOOLS))

    def __len__(self) -> int:
        return len(MODULES) + len(TOOLS)

    def __contains__(self, name: object) -> bool:
        return name in MODULES or name in TOOLS


FORMATS = _Formats()
ENDINGS = {
    ".conllu": "conllu",
    ".conll-u": "conllu",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".crfsuite": "crfsuite",
    ".spacy": "spacy",
    ".parquet": "arrow",
    ".arrow": "arrow",
    ".ann": "brat",
}


def format_of(path: str | Path, given: str | None = None) -> str:
    """Return the format that was given, or else the one of the file extension; the default is a column file.

    >>> format_of("train.conllu.gz"), format_of("train.txt"), format_of("-", "jsonl")
    ('conllu', 'columns', 'jsonl')
    """
    if given is not None:
        given = choice(given, tuple(FORMATS))
        if given not in FORMATS:
            raise SapoError(f"unknown format '{given}'{did_you_mean(str(given), FORMATS)}")
        return given
    if Path(path).is_dir():
        return _format_of_directory(Path(path))
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() not in (".gz", ".zip")]
    return ENDINGS.get(suffixes[-1], "columns") if suffixes else "columns"


def _format_of_directory(path: Path) -> str:
    if next(path.rglob("*.ann"), None) is not None:
        return "brat"
    if any(next(path.glob(name), None) for name in ("dataset_*.json", "*.arrow", "*.parquet")):
        return "arrow"
    raise SapoError(f"{path}: is a directory, not a file")


@contextmanager
def open_output(path: str | Path, format: str) -> Iterator[BinaryIO]:
    """Open a stream for what a format writes. The result is a file, whole or not at all; for BRAT, a new directory."""
    if format in COLLECTED:
        from sapo.corpus.exchange.outputs import open_collected

        opened = open_collected(path, format)
    else:
        opened = write_file(path)
    with opened as stream:
        yield stream


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
            return table_blocks(path, label=label, columns=columns, labeled=labeled)
    chosen = format_of(path, format)
    encoded = path if encoding is None else with_encoding(path, encoding)
    how: dict[str, Any] = {"label": label, "columns": columns, "labeled": labeled}
    if chosen in CUT:
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
    chosen = format_of(path, format) if isinstance(path, str | Path) else "columns"
    how: dict[str, Any] = {"label": label, "columns": columns, "labeled": labeled, "encoding": encoding}
    for block in read_blocks(path, format=chosen, **how):
        yield from sentences_of(block, chosen)


def sentences_of(block: Block, format: str) -> Iterator[Sentence]:
    """Return the sentences of a block with all that its format knows of them, such as the running text."""
    sentences: Iterator[Sentence] = getattr(FORMATS[format], "sentences", block_sentences)(block)
    return sentences
