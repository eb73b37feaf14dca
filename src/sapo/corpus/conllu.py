"""CoNLL-U: ten columns; the label is UPOS, XPOS or one key of FEATS."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.blocks import LABEL, Block, Sentence, block_sentences
from sapo.corpus.files import show_path
from sapo.corpus.scanner import Layout, Scanned, scan_file
from sapo.corpus.splicing import nbest_lines, splice_tags
from sapo.errors import SapoError
from sapo.kernels.types import Ints

COLUMNS = ("id", "word", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
FEATS = COLUMNS.index("feats")
NONE = "_"


def read_blocks(
    path: str | Path, *, label: str | None = None, columns: Sequence[str] | None = None, labelled: bool = True
) -> Iterator[Block]:
    """`label` is upos (the default), xpos, another column's name, or a key of FEATS such as Number."""
    name = show_path(path)
    if columns is not None:
        raise SapoError(f"{name}: the columns of CoNLL-U have their names; leave the names of columns out")
    label = label or "upos"
    at = COLUMNS.index(label.lower()) if label.lower() in COLUMNS else None
    if at is None and not re.fullmatch(r"[A-Z]\w*(\[\w+\])?", label):
        raise SapoError(f"{name}: '{label}' is neither a column of CoNLL-U nor a key of FEATS such as Number")
    for scanned in scan_file(path, Layout(len(COLUMNS), tabs=True, conllu=True)):
        names: tuple[str, ...] = COLUMNS
        data, starts, ends = scanned.data, scanned.starts, scanned.ends
        if labelled and at is not None:
            names = tuple(LABEL if i == at else column for i, column in enumerate(COLUMNS))
        elif labelled:
            # the value stands inside FEATS; where the key is missing, point to a '_' put behind the data
            first, last = _feature_places(scanned, label)
            data = np.append(data, np.uint8(ord(NONE)))
            names = (*COLUMNS, LABEL)
            starts, ends = np.column_stack([starts, first]), np.column_stack([ends, last])
        yield Block(
            name,
            names,
            data,
            np.ascontiguousarray(starts, np.int32),
            np.ascontiguousarray(ends, np.int32),
            scanned.offsets,
            extra={"scanned": scanned, "label": label if at is None else at},
        )


def _feature_places(scanned: Scanned, key: str) -> tuple[list[int], list[int]]:
    whole = scanned.data.tobytes()
    pattern = re.compile(rb"(?:^|\|)" + re.escape(key.encode()) + rb"=([^|]*)")
    first, last = [], []
    for a, b in zip(scanned.starts[:, FEATS].tolist(), scanned.ends[:, FEATS].tolist(), strict=True):
        match = pattern.search(whole[a:b])
        first.append(a + match.start(1) if match else len(whole))
        last.append(a + match.end(1) if match else len(whole) + 1)
    return first, last


def tagged(block: Block, tags: Ints, labels: Sequence[str]) -> bytes:
    """The block as it came, multiword tokens and empty nodes too, with the tag in the label's place."""
    scanned: Scanned = block.extra["scanned"]
    label: int | str = block.extra["label"]
    if isinstance(label, int):
        return splice_tags(scanned.data, scanned.starts[:, label], scanned.ends[:, label], labels, tags)
    whole = scanned.data.tobytes()
    pieces: dict[str, int] = {}
    piece = np.empty(len(tags), np.int32)
    places = zip(scanned.starts[:, FEATS].tolist(), scanned.ends[:, FEATS].tolist(), strict=True)
    for token, (a, b) in enumerate(places):
        feats = _with_feature(whole[a:b].decode(), label, labels[tags[token]])
        piece[token] = pieces.setdefault(feats, len(pieces))
    return splice_tags(scanned.data, scanned.starts[:, FEATS], scanned.ends[:, FEATS], list(pieces), piece)


def nbest(block: Block, taggings: Sequence[Sequence[tuple[Ints, float]]], labels: Sequence[str]) -> bytes:
    """The ranked taggings of each sentence, best first, with their probabilities."""
    return nbest_lines(block, taggings, labels, tagged)


def _with_feature(feats: str, key: str, value: str) -> str:
    """
    >>> _with_feature("Case=Nom|Number=Sing", "Number", "Plur")
    'Case=Nom|Number=Plur'
    >>> _with_feature("Number=Sing", "Number", "_")
    '_'
    """
    pairs = dict(pair.split("=", 1) for pair in feats.split("|") if "=" in pair)
    pairs.pop(key, None)
    if value != NONE:
        pairs[key] = value
    return "|".join(f"{k}={v}" for k, v in sorted(pairs.items(), key=lambda pair: pair[0].lower())) or NONE


def sentences(block: Block) -> Iterator[Sentence]:
    """Sentences with the lines that are no words as notes, so that nothing is lost on the way out."""
    scanned: Scanned = block.extra["scanned"]
    whole = scanned.data.tobytes()
    end_of_last = 0
    for begin, sentence in zip(block.offsets[:-1].tolist(), block_sentences(block), strict=True):
        notes: list[tuple[int, str]] = []
        text = None
        for token in range(len(sentence) + 1):
            if token < len(sentence):
                stop = int(scanned.line_starts[begin + token])
            else:  # an empty node may stand behind the last word
                stop = whole.find(b"\n\n", end_of_last)
                stop = len(whole) if stop < 0 else stop
            for line in whole[end_of_last:stop].decode().splitlines():
                if line.strip():
                    notes.append((token, line))
                    if line.startswith("# text = "):
                        text = line.removeprefix("# text = ")
            end_of_last = int(scanned.line_ends[begin + token]) if token < len(sentence) else stop
        yield Sentence(sentence.columns, sentence.tags, text=text, notes=tuple(notes))


def write_sentence(sentence: Sentence, *, label: str = "upos", **_: Any) -> str:
    """Ten columns; what is not known is '_'."""
    notes: dict[int, list[str]] = {}
    for token, line in sentence.notes:
        notes.setdefault(token, []).append(line)
    if not any(line.startswith("# text = ") for line in notes.get(0, ())):
        notes.setdefault(0, []).insert(0, f"# text = {sentence.text or ' '.join(sentence.words)}")
    lines: list[str] = []
    for token in range(len(sentence)):
        lines += notes.get(token, ())
        row = {name: values[token] for name, values in sentence.columns.items()}
        row.setdefault("id", str(token + 1))
        row.setdefault("xpos", row.get("pos", NONE))
        if sentence.tags is not None:
            if label.lower() in COLUMNS:
                row[label.lower()] = sentence.tags[token]
            else:
                row["feats"] = _with_feature(row.get("feats", NONE), label, sentence.tags[token])
        row["word"] = sentence.words[token]
        lines.append("\t".join(row.get(column) or NONE for column in COLUMNS))
    return "\n".join([*lines, *notes.get(len(sentence), ())]) + "\n\n"
