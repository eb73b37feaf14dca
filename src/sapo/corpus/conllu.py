"""CoNLL-U: ten columns; the label is UPOS, XPOS, FEATS, one key of FEATS, or UPOS and FEATS together."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.blocks import LABEL, Block, Sentence, block_sentences
from sapo.corpus.conllu_places import COLUMNS, FEATS_KEY, Place, label_fields, place_of, refilled, with_feature
from sapo.corpus.fields import check_tag
from sapo.corpus.files import show_path
from sapo.corpus.origins import ScannedOrigin
from sapo.corpus.predictions import NONE, TaggedSpan, Taggings, span_notes, tag_notes
from sapo.corpus.scanner import Layout, scan_file, sentence_regions
from sapo.corpus.tagged_lines import nbest_lines, number_tags, splice_tags
from sapo.errors import SapoError
from sapo.kernels.types import Doubles, Ints

MISC = COLUMNS.index("misc")
TEXT = "# text = "
GLUED = "SpaceAfter=No"  # in MISC: no blank stands behind the word
_BLANKS = re.compile(r"\s*")
_TEXT_LINE = re.compile(rb"^# text = (.*?)\r?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ConlluOrigin(ScannedOrigin):
    """The origin of a block of CoNLL-U, with the place that the tag is written to."""

    place: Place

    def texts(self) -> Sequence[str | None]:
        found = _TEXT_LINE.findall(self.scanned.data.tobytes())
        return [text.decode() for text in found] if len(found) == len(self.scanned.offsets) - 1 else ()

    def check_labels(self, labels: Sequence[str]) -> None:
        for label in labels:
            check_tag(label, tabs=True)
            self.place.check(label)


def read_blocks(
    path: str | Path, *, label: str | None = None, columns: Sequence[str] | None = None, labelled: bool = True
) -> Iterator[Block]:
    """Read a CoNLL-U file in blocks.

    `label` is upos (the default), xpos, another column's name, a key of FEATS such as Number, upos+feats or
    xpos+feats. `columns` must be None: the columns of CoNLL-U have fixed names.
    """
    name = show_path(path)
    if columns is not None:
        raise SapoError(f"{name}: the columns of CoNLL-U have their names; leave the names of columns out")
    label = label or "upos"
    place = place_of(label)
    if place.key is not None and not re.fullmatch(FEATS_KEY, place.key):
        raise SapoError(f"{name}: '{label}' is neither a column of CoNLL-U nor a key of FEATS such as Number")
    # the label stands for the columns that it holds; FEATS stay beside their key
    hidden = {place.first, place.last} if place.key is None else set()
    kept = [at for at in range(len(COLUMNS)) if at not in hidden]
    into = place.first if hidden else len(COLUMNS)
    names = [COLUMNS[at] for at in kept]
    names.insert(into, LABEL)
    for scanned in scan_file(path, Layout(len(COLUMNS), tabs=True, conllu=True)):
        data, starts, ends = scanned.data, scanned.starts, scanned.ends
        if labelled:
            data, first, last = label_fields(scanned, place, name)
            starts, ends = np.insert(starts[:, kept], into, first, 1), np.insert(ends[:, kept], into, last, 1)
        yield Block(
            name,
            tuple(names) if labelled else COLUMNS,
            data,
            np.ascontiguousarray(starts, np.int32),
            np.ascontiguousarray(ends, np.int32),
            scanned.offsets,
            ConlluOrigin(scanned, place),
        )


def tagged(block: Block, tags: Ints, labels: Sequence[str]) -> bytes:
    """Return the block as it was read, with multiword tokens and empty nodes, and with the tag in the label's place."""
    origin = block.origin_as(ConlluOrigin)
    scanned, place = origin.scanned, origin.place
    if place.key is not None or place.whole_feats:
        labels, tags = number_tags(refilled(scanned, place, tags, labels))
    return splice_tags(scanned.data, scanned.starts[:, place.first], scanned.ends[:, place.last], labels, tags)


def nbest(block: Block, taggings: Iterable[Taggings], labels: Sequence[str]) -> Iterator[bytes]:
    """Yield each sentence once for each of its taggings, best first, with their probabilities as comments."""
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
    scanned, place = origin.scanned, origin.place
    if place.last == MISC:
        raise SapoError("the label is MISC, where the probability goes; tag into another column with --label")
    whole = scanned.data.tobytes()
    pieces = []
    new = refilled(scanned, place, tags, labels)
    for value, note, starts, ends in zip(new, notes, scanned.starts, scanned.ends, strict=True):
        between = whole[ends[place.last] : starts[MISC]].decode()
        misc = with_feature(whole[starts[MISC] : ends[MISC]].decode(), key, note)
        pieces.append(f"{value}{between}{misc}")
    each = np.arange(len(pieces), dtype=np.int32)
    return splice_tags(scanned.data, scanned.starts[:, place.first], scanned.ends[:, MISC], pieces, each)


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
    origin = replace(block.origin_as(ConlluOrigin), place=place_of(into))
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
        text = sentence.text or _text(sentence.words, sentence.columns.get("misc", ()))
        notes.setdefault(0, []).insert(0, TEXT + " ".join(text.split()))
    glued = _glued(sentence) if "misc" not in sentence.columns else set()
    lines: list[str] = []
    place = place_of(label)
    held = COLUMNS[place.first : place.last + 1]
    for token in range(len(sentence)):
        lines += notes.get(token, ())
        row = {name: values[token] for name, values in sentence.columns.items()}
        row.setdefault("id", str(token + 1))
        row.setdefault("xpos", row.get("pos", NONE))
        row.setdefault("misc", GLUED if token in glued else NONE)
        row["word"] = sentence.words[token]
        if sentence.tags is not None:
            tag = sentence.tags[token]
            place.check(tag)
            row.update(zip(held, place.filled([row.get(column) or NONE for column in held], tag), strict=True))
            _check_value(tag)
        _check_value(row["word"])
        fields = [row.get(column) or NONE for column in COLUMNS]
        lines.append("\t".join(map(_check_value, fields)))
    return "\n".join([*lines, *notes.get(len(sentence), ())]) + "\n\n"


def _text(words: Sequence[str], misc: Sequence[str]) -> str:
    """Return the text of words, without a blank behind those that say so.

    >>> _text(["No", "!"], ["SpaceAfter=No", "_"]), _text(["No", "!"], [])
    ('No!', 'No !')
    """
    blanks = ["" if GLUED in values.split("|") else " " for values in misc] or [" "] * len(words)
    return "".join(word + blank for word, blank in zip(words, blanks, strict=True)).rstrip(" ")


def _glued(sentence: Sentence) -> set[int]:
    """Return the tokens that stand right before the next one in the text, if it is known and made of the words."""
    at, found = 0, set()
    text = sentence.text or ""
    for token, word in enumerate(sentence.words):
        start = _BLANKS.match(text, at).end()  # type: ignore[union-attr]  # it always matches
        if not text.startswith(word, start):
            return set()
        if token and start == at:
            found.add(token - 1)
        at = start + len(word)
    return found


def _check_value(value: str) -> str:
    if not value or re.search(r"[\t\r\n]", value):
        raise SapoError(f"{value!r} cannot be written to CoNLL-U; use JSONL for such tokens")
    return value
