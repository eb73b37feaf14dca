"""A corpus in one format and tag scheme in, the same corpus in another out, sentence by sentence."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sapo.corpus.blocks import Block, Sentence
from sapo.corpus.conllu_places import check_target
from sapo.corpus.exchange import TOOLS
from sapo.corpus.files import read_chunks, show_path
from sapo.corpus.formats import FORMATS, format_of, open_output, read_blocks, sentences_of
from sapo.corpus.left_out import LeftOut
from sapo.errors import SapoError, choice, did_you_mean
from sapo.tags import SCHEMES, convert_tags, recognise_scheme


@dataclass(frozen=True, slots=True)
class Source:
    """A file to convert, and how to read it."""

    path: str | Path
    format: str | None = None  # inferred from the file extension
    label: str | None = None
    columns: Sequence[str] | None = None
    labelled: bool = True
    scheme: str | None = None  # recognised

    def blocks(self) -> Iterator[Block]:
        return read_blocks(
            self.path, format=self.format, label=self.label, columns=self.columns, labelled=self.labelled
        )

    def sentences(self, block: Block) -> Iterator[Sentence]:
        return sentences_of(block, format_of(self.path, self.format))


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
            raise SapoError(f"unknown scheme '{scheme}'{did_you_mean(scheme, SCHEMES)}")
    name = show_path(source.path)
    source = replace(source, format=format_of(source.path, source.format))
    target = replace(target, format=format_of(target.path, target.format))
    with tempfile.TemporaryDirectory() as room:
        if target.scheme and source.scheme is None:
            if str(source.path) == "-":
                source = replace(source, path=_kept(source.path, Path(room)))  # it is read twice
            source = replace(source, scheme=_recognised(source, name))
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
    left_out = LeftOut(source.format, target.format, label=key, keep=target.keep, text=target.text)
    count = 0
    with open_output(target.path, target.format) as stream:
        for block in source.blocks():
            sentences = []
            for sentence in source.sentences(block):
                count += 1
                with _told(f"{name}: sentence {count}"):
                    if target.scheme and source.scheme and sentence.tags is not None:
                        tags = convert_tags(sentence.tags, source.scheme, target.scheme)
                        sentence = replace(sentence, tags=tuple(tags))
                    if same:
                        sentences.append(sentence)
                        continue
                    kept = _with_columns(sentence, source, target)
                    stream.write(writer.write_sentence(kept, label=target.into, text=target.text).encode())
            if same:
                with _told(name):
                    stream.write(writer.retagged(block, sentences, into=target.into, label=key, text=target.text))
            if not same or source.format != target.format:
                left_out.look_at(block)
    return Conversion(count, left_out.told())


def _recognised(source: Source, name: str) -> str:
    sentences = (sentence for block in source.blocks() for sentence in source.sentences(block))
    scheme = recognise_scheme(sentence.tags or () for sentence in sentences)
    if scheme is None:
        raise SapoError(f"{name}: its tags are in none of the schemes {', '.join(SCHEMES)}")
    return scheme


@contextmanager
def _told(place: str) -> Iterator[None]:
    try:
        yield
    except SapoError as error:
        raise SapoError(f"{place}: {error}") from None
    except UnicodeEncodeError:
        raise SapoError(f"{place}: half of a surrogate pair is not valid text; use JSONL") from None


def _with_columns(sentence: Sentence, source: Source, target: Target) -> Sentence:
    """Return the columns to write: those asked for; from CoNLL-U to elsewhere the words alone; otherwise all."""
    keep = target.keep
    if keep is None:
        if source.format == target.format or source.format != "conllu":
            return sentence
        keep = ["word"]
    for column in keep:
        if column not in sentence.columns:
            raise SapoError(f"there is no column '{column}'; the columns are {', '.join(sentence.columns)}")
    return replace(sentence, columns={column: sentence.columns[column] for column in keep})


def _kept(source: str | Path, room: Path) -> Path:
    path = room / "input"
    with path.open("wb") as stream:
        for chunk in read_chunks(source):
            stream.write(chunk)
    return path
