"""A corpus in one format and tag scheme in, the same corpus in another out, sentence by sentence."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sapo.corpus.blocks import Sentence
from sapo.corpus.conllu import check_target
from sapo.corpus.files import read_chunks, show_path, write_file
from sapo.corpus.formats import FORMATS, format_of, read
from sapo.corpus.schemes import SCHEMES, convert_tags, recognise_scheme
from sapo.errors import SapoError


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
) -> int:
    """Return the number of sentences. `keep` names the columns to write, `into` where the label goes in CoNLL-U."""
    for scheme in (source_scheme, target_scheme):
        if scheme is not None and scheme not in SCHEMES:
            raise SapoError(f"unknown scheme '{scheme}'; known: {', '.join(SCHEMES)}")
    chosen, wanted = format_of(source, source_format), format_of(target, target_format)
    name = show_path(source)
    with tempfile.TemporaryDirectory() as room:
        if target_scheme and source_scheme is None and str(source) == "-":
            source = _kept(source, Path(room))  # it is read twice

        def sentences() -> Iterator[Sentence]:
            return read(source, format=chosen, label=label, columns=columns, labelled=labelled)

        if target_scheme and source_scheme is None:
            source_scheme = recognise_scheme(sentence.tags or () for sentence in sentences())
            if source_scheme is None:
                raise SapoError(f"{name}: its tags are in none of the schemes {', '.join(SCHEMES)}")
        if into is None:
            into = label if chosen == "conllu" and label else "upos"
        if wanted == "conllu":
            check_target(into)
        write = FORMATS[wanted].write_sentence
        count = 0
        with write_file(target) as stream:
            for sentence in sentences():
                count += 1
                try:
                    if target_scheme and source_scheme and sentence.tags is not None:
                        sentence = replace(
                            sentence, tags=tuple(convert_tags(sentence.tags, source_scheme, target_scheme))
                        )
                    written = write(_with_columns(sentence, keep, chosen, wanted), label=into, text=text)
                    stream.write(written.encode())
                except SapoError as error:
                    raise SapoError(f"{name}: sentence {count}: {error}") from None
                except UnicodeEncodeError:
                    raise SapoError(
                        f"{name}: sentence {count}: half of a surrogate pair is no text; use JSONL"
                    ) from None
    return count


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
