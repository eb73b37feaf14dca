"""A corpus in one format and tag scheme in, the same corpus in another out, sentence by sentence."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sapo.corpus.blocks import Sentence, block_sentences
from sapo.corpus.conllu import check_target
from sapo.corpus.files import read_chunks, show_path, write_file
from sapo.corpus.formats import FORMATS, format_of, read, read_blocks
from sapo.corpus.left_out import LeftOut
from sapo.corpus.retagging import retagged
from sapo.errors import SapoError
from sapo.tags.schemes import SCHEMES, convert_tags, recognise_scheme


@dataclass(frozen=True, slots=True)
class Conversion:
    """How many sentences were written, and what of the file was not."""

    sentences: int
    lost: tuple[str, ...]


def convert(
    source: str | Path,
    target: str | Path,
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    labelled: bool = True,
    keep: Sequence[str] | None = None,
    into: str | None = None,
    source_scheme: str | None = None,
    target_scheme: str | None = None,
    text: bool = False,
) -> Conversion:
    """`keep` names the columns to write, `into` where the label goes in CoNLL-U.

    Where the format stays and all is kept, only the tags change; otherwise what is lost on the way is told.
    """
    for scheme in (source_scheme, target_scheme):
        if scheme is not None and scheme not in SCHEMES:
            raise SapoError(f"unknown scheme '{scheme}'; known: {', '.join(SCHEMES)}")
    chosen, wanted = format_of(source, source_format), format_of(target, target_format)
    name = show_path(source)
    with tempfile.TemporaryDirectory() as room:
        if target_scheme and source_scheme is None and str(source) == "-":
            source = _kept(source, Path(room))  # it is read twice
        reading: dict[str, Any] = {"format": chosen, "label": label, "columns": columns, "labelled": labelled}
        if target_scheme and source_scheme is None:
            source_scheme = recognise_scheme(sentence.tags or () for sentence in read(source, **reading))
            if source_scheme is None:
                raise SapoError(f"{name}: its tags are in none of the schemes {', '.join(SCHEMES)}")
        if into is None:
            into = label if chosen == "conllu" and label else "upos"
        if wanted == "conllu":
            check_target(into)
        same = chosen == wanted and keep is None
        left_out = LeftOut(chosen, wanted, label=label or "tags", keep=keep, text=text)
        count = 0
        with write_file(target) as stream:
            for block in read_blocks(source, **reading):
                sentences = []
                for sentence in getattr(FORMATS[chosen], "sentences", block_sentences)(block):
                    count += 1
                    with _told(f"{name}: sentence {count}"):
                        if target_scheme and source_scheme and sentence.tags is not None:
                            tags = convert_tags(sentence.tags, source_scheme, target_scheme)
                            sentence = replace(sentence, tags=tuple(tags))
                        if same:
                            sentences.append(sentence)
                            continue
                        kept = _with_columns(sentence, keep, chosen, wanted)
                        stream.write(FORMATS[wanted].write_sentence(kept, label=into, text=text).encode())
                if same:
                    with _told(name):
                        stream.write(retagged(block, sentences, into=into, label=label or "tags", text=text))
                else:
                    left_out.look_at(block)
    return Conversion(count, left_out.told())


@contextmanager
def _told(place: str) -> Iterator[None]:
    try:
        yield
    except SapoError as error:
        raise SapoError(f"{place}: {error}") from None
    except UnicodeEncodeError:
        raise SapoError(f"{place}: half of a surrogate pair is no text; use JSONL") from None


def _with_columns(sentence: Sentence, keep: Sequence[str] | None, chosen: str, wanted: str) -> Sentence:
    """The columns to write: those asked for; from CoNLL-U to elsewhere the words alone; otherwise all."""
    if keep is None:
        if chosen == wanted or chosen != "conllu":
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
