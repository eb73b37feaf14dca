"""CoNLL-U: ten columns; the label is UPOS, XPOS or one key of FEATS."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.blocks import LABEL, Block, Sentence, block_sentences
from sapo.corpus.fields import check_tag
from sapo.corpus.files import show_path
from sapo.corpus.origins import ScannedOrigin
from sapo.corpus.predictions import NONE, RankedTagging, TaggedSpan, span_notes, tag_notes
from sapo.corpus.scanner import Layout, Scanned, refuse_empty, scan_file, sentence_regions
from sapo.corpus.tagged_lines import nbest_lines, number_tags, splice_tags
from sapo.errors import SapoError
from sapo.kernels.types import Doubles, Ints

COLUMNS = ("id", "word", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
FEATS = COLUMNS.index("feats")
MISC = COLUMNS.index("misc")
TEXT = "# text = "
TARGETS = ("upos", "xpos", "lemma", "deprel", "misc")
FEATS_KEY = r"[A-Z]\w*(\[\w+\])?"


@dataclass(frozen=True, slots=True)
class ConlluOrigin(ScannedOrigin):
    """The origin of a block of CoNLL-U, with the place that the tag is written to."""

    column: int
    key: str | None = None  # of FEATS, which is then the column

    def check_labels(self, labels: Sequence[str]) -> None:
        for label in labels:
            check_tag(label, tabs=True)
            if self.key is not None:
                _check_feature(label)


def read_blocks(
    path: str | Path, *, label: str | None = None, columns: Sequence[str] | None = None, labelled: bool = True
) -> Iterator[Block]:
    """Read a CoNLL-U file in blocks.

    `label` is upos (the default), xpos, another column's name, or a key of FEATS such as Number. `columns` must be
    None: the columns of CoNLL-U have fixed names.
    """
    name = show_path(path)
    if columns is not None:
        raise SapoError(f"{name}: the columns of CoNLL-U have their names; leave the names of columns out")
    label = label or "upos"
    at, key = _place_of_label(label)
    if key is not None and not re.fullmatch(FEATS_KEY, key):
        raise SapoError(f"{name}: '{label}' is neither a column of CoNLL-U nor a key of FEATS such as Number")
    for scanned in scan_file(path, Layout(len(COLUMNS), tabs=True, conllu=True)):
        names: tuple[str, ...] = COLUMNS
        data, starts, ends = scanned.data, scanned.starts, scanned.ends
        if labelled and key is None:
            refuse_empty(scanned, at, name)
            names = tuple(LABEL if i == at else column for i, column in enumerate(COLUMNS))
        elif labelled and key is not None:
            # the value stands inside FEATS; where the key is missing, point to a '_' put behind the data
            first, last = _feature_places(scanned, key)
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
            ConlluOrigin(scanned, at, key),
        )


def _place_of_label(label: str) -> tuple[int, str | None]:
    """Return the column of a label, and its key where this column is FEATS and the label is a value in it.

    >>> _place_of_label("XPOS"), _place_of_label("Number")
    ((4, None), (5, 'Number'))
    """
    return (COLUMNS.index(label.lower()), None) if label.lower() in COLUMNS else (FEATS, label)


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
    """Return the block as it was read, with multiword tokens and empty nodes, and with the tag in the label's place."""
    origin = block.origin_as(ConlluOrigin)
    scanned, at = origin.scanned, origin.column
    if origin.key is not None:
        labels, tags = number_tags(_feats_with_tags(scanned, origin.key, tags, labels))
    return splice_tags(scanned.data, scanned.starts[:, at], scanned.ends[:, at], labels, tags)


def _feats_with_tags(scanned: Scanned, key: str, tags: Ints, labels: Sequence[str]) -> Iterator[str]:
    whole = scanned.data.tobytes()
    places = zip(scanned.starts[:, FEATS].tolist(), scanned.ends[:, FEATS].tolist(), strict=True)
    for tag, (a, b) in zip(tags.tolist(), places, strict=True):
        yield _with_feature(whole[a:b].decode(), key, labels[tag])


def nbest(block: Block, taggings: Sequence[Sequence[RankedTagging]], labels: Sequence[str]) -> bytes:
    """Return each sentence once for each of its taggings, best first, with their probabilities as comments."""
    return nbest_lines(block, taggings, labels, tagged)


def with_marginals(block: Block, tags: Ints, marginal: Doubles, labels: Sequence[str]) -> bytes:
    """Return the block as `tagged` does, with the probability of each tag in MISC."""
    return _with_notes(block, tags, "TagProbability", tag_notes(tags, marginal), labels)


def with_spans(block: Block, tags: Ints, spans: Sequence[Sequence[TaggedSpan]], labels: Sequence[str]) -> bytes:
    """Return the block as `tagged` does, with the probability of each token's span in MISC."""
    return _with_notes(block, tags, "SpanProbability", span_notes(spans, block.offsets), labels)


def _with_notes(block: Block, tags: Ints, key: str, notes: Sequence[str], labels: Sequence[str]) -> bytes:
    # the line is cut from the label to its end: between them nothing changes
    origin = block.origin_as(ConlluOrigin)
    scanned, at = origin.scanned, origin.column
    if at == MISC:
        raise SapoError("the label is MISC, where the probability goes; tag into another column with --label")
    whole = scanned.data.tobytes()
    if origin.key is None:
        new: Iterator[str] = (labels[tag] for tag in tags.tolist())
    else:
        new = _feats_with_tags(scanned, origin.key, tags, labels)
    pieces = []
    for value, note, starts, ends in zip(new, notes, scanned.starts, scanned.ends, strict=True):
        between = whole[ends[at] : starts[MISC]].decode()
        misc = _with_feature(whole[starts[MISC] : ends[MISC]].decode(), key, note)
        pieces.append(f"{value}{between}{misc}")
    each = np.arange(len(pieces), dtype=np.int32)
    return splice_tags(scanned.data, scanned.starts[:, at], scanned.ends[:, MISC], pieces, each)


def _with_feature(feats: str, key: str, value: str) -> str:
    """Return a list of features with one of them set; the value '_' removes it.

    >>> _with_feature("Case=Nom|Number=Sing", "Number", "Plur")
    'Case=Nom|Number=Plur'
    >>> _with_feature("Number=Sing", "Number", "_")
    '_'
    """
    items = [item for item in feats.split("|") if item and item != NONE]
    old = [item for item in items if item.startswith(f"{key}=")]
    new = [] if value == NONE else [f"{key}={value}"]
    if old == new:
        return feats
    kept = [item for item in items if item not in old]
    return "|".join(sorted(kept + new, key=str.lower)) or NONE


def sentences(block: Block) -> Iterator[Sentence]:
    """Yield the sentences; lines that are not words become notes, so that nothing is lost when they are written."""
    scanned = block.origin_as(ConlluOrigin).scanned
    whole = scanned.data.tobytes()
    regions = sentence_regions(scanned)
    for number, sentence in enumerate(block_sentences(block)):
        begin, end = regions[number]
        words = set(scanned.line_starts[block.offsets[number] : block.offsets[number + 1]].tolist())
        notes: list[tuple[int, str]] = []
        text = None
        at, token = begin, 0
        for line in whole[begin:end].split(b"\n"):
            if at in words:
                token += 1
            elif line.strip():
                note = line.rstrip(b"\r").decode()
                notes.append((token, note))
                if note.startswith(TEXT):
                    text = note.removeprefix(TEXT)
            at += len(line) + 1
        yield Sentence(sentence.columns, sentence.tags, text=text, notes=tuple(notes))


def retagged(block: Block, sentences: Sequence[Sentence], *, into: str, **_: Any) -> bytes:
    """Return the block with the tags of these sentences in the column or key `into`; nothing else changes."""
    labels, tags = number_tags(tag for sentence in sentences for tag in sentence.tags or ())
    column, key = _place_of_label(into)
    origin = replace(block.origin_as(ConlluOrigin), column=column, key=key)
    if not len(tags):  # without labels, or without sentences
        return origin.scanned.data.tobytes()
    origin.check_labels(labels)
    return tagged(replace(block, origin=origin), tags, labels)


def write_sentence(sentence: Sentence, *, label: str = "upos", **_: Any) -> str:
    r"""Return a sentence in ten columns, with '_' for what is not known; its tags go into the column or key `label`.

    >>> write_sentence(Sentence({"word": ("Hush",)}, ("INTJ",)))
    '# text = Hush\n1\tHush\t_\tINTJ\t_\t_\t_\t_\t_\t_\n\n'
    """
    notes: dict[int, list[str]] = {}
    for token, line in sentence.notes:
        notes.setdefault(token, []).append(line)
    if not any(line.startswith(TEXT) for line in notes.get(0, ())):
        text = " ".join((sentence.text or " ".join(sentence.words)).split())
        notes.setdefault(0, []).insert(0, TEXT + text)
    lines: list[str] = []
    for token in range(len(sentence)):
        lines += notes.get(token, ())
        row = {name: values[token] for name, values in sentence.columns.items()}
        row.setdefault("id", str(token + 1))
        row.setdefault("xpos", row.get("pos", NONE))
        row["word"] = sentence.words[token]
        if sentence.tags is not None:
            tag = sentence.tags[token]
            if label.lower() in COLUMNS:
                row[label.lower()] = tag
            else:
                _check_feature(tag)
                row["feats"] = _with_feature(row.get("feats", NONE), label, tag)
            _check_value(tag)
        _check_value(row["word"])
        fields = [row.get(column) or NONE for column in COLUMNS]
        lines.append("\t".join(map(_check_value, fields)))
    return "\n".join([*lines, *notes.get(len(sentence), ())]) + "\n\n"


def _check_feature(tag: str) -> None:
    if "|" in tag or "=" in tag:
        raise SapoError(f"the tag {tag!r} cannot stand in FEATS, where | and = separate; use another column")


def _check_value(value: str) -> str:
    if not value or re.search(r"[\t\r\n]", value):
        raise SapoError(f"{value!r} cannot stand in CoNLL-U; use JSONL for such tokens")
    return value


def check_target(label: str) -> None:
    """Raise SapoError unless a label can be written there: into a column that can hold it, or a key of FEATS.

    >>> check_target("xpos")
    """
    if label.lower() not in TARGETS and not re.fullmatch(FEATS_KEY, label):
        raise SapoError(f"a label cannot go into '{label}' of CoNLL-U; use {', '.join(TARGETS)} or a key of FEATS")
