"""Read and write CoNLL-U; the label is UPOS, XPOS, FEATS, one key of FEATS, or UPOS and FEATS together."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sapo.corpus.annotations import DEFAULT, NONE, Annotation, Placement, number_tags
from sapo.corpus.blocks import LABEL, Block, Sentence, block_sentences
from sapo.corpus.columns import splice_tags, write_ranked
from sapo.corpus.files import show_path
from sapo.corpus.scanner import (
    NEWDOC,
    Layout,
    Scanned,
    ScannedOrigin,
    check_tag,
    last_document,
    refuse_empty,
    scan_file,
    sentence_regions,
)
from sapo.errors import DataError, OptionError, SapoError
from sapo.jit.arrays import Bytes, Ints
from sapo.tags.labels import in_order, split_pos

COLUMNS = ("id", "word", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
FEATS = COLUMNS.index("feats")
WITH_FEATS = {"upos+feats": COLUMNS.index("upos"), "xpos+feats": COLUMNS.index("xpos")}
TARGETS = ("upos", "xpos", "feats", *WITH_FEATS, "lemma", "deprel", "misc")
PREDICTABLE = tuple(name for name in TARGETS if name != "lemma")
NOT_PREDICTABLE = {  # and why: a tagger chooses from a fixed set of labels
    "id": "a number that counts tokens",
    "word": "the input of a tagger",
    "lemma": "different for almost every word",
    "head": "the number of another token",
    "deps": "a list of other tokens",
}
OTHER_COMMANDS = {"lemma": "sapo edits train", "head": "sapo ud train"}  # that learn such a column
FEATS_KEY = r"[A-Z]\w*(\[\w+\])?"


@dataclass(frozen=True, slots=True)
class Place:
    """The first and the last column of a label: the same one, or a part of speech and FEATS."""

    first: int
    last: int
    key: str | None = None  # of FEATS, which is then the column

    @property
    def whole_feats(self) -> bool:
        """Whether the label holds all of FEATS."""
        return self.last == FEATS and self.key is None

    def check(self, tag: str) -> None:
        """Raise SapoError if a tag does not have the form of what stands here."""
        if self.key is not None and ("|" in tag or "=" in tag):
            raise DataError(
                f"the tag {tag!r} cannot be written to FEATS, where | and = are separators; use another column"
            )
        if self.whole_feats and self._parts(tag) is None:
            form, *examples = "FEATS", "Case=Nom|Number=Sing", "_"
            if self.first != FEATS:
                form, *examples = f"{COLUMNS[self.first].upper()}|FEATS", "NOUN|Case=Nom|Number=Sing", "X|_"
            raise DataError(f"the tag {tag!r} does not have the form {form}, as {' or '.join(map(repr, examples))}")

    def filled(self, old: Sequence[str], tag: str) -> list[str]:
        """Return the values of the columns from the first to the last, with a tag in its place.

        FEATS that hold the same features already are left as they are, in whatever order.

        >>> place_of("upos+feats").filled(["X", "NN", "Number=Sing|Case=Nom"], "NOUN|Case=Nom|Number=Sing")
        ['NOUN', 'NN', 'Number=Sing|Case=Nom']
        """
        if self.key is not None:
            return [with_feature(old[0], self.key, tag)]
        parts = self._parts(tag) if self.whole_feats else None
        if parts is None:
            return [tag]
        front, new = parts
        return [*front, *old[1 : self.last - self.first], old[-1] if in_order(old[-1]) == new else new]

    def _parts(self, tag: str) -> tuple[list[str], str] | None:
        """Return the part of speech, if the label has one, and the features in order; None if the tag has not both."""
        if self.first == FEATS:
            features = in_order(tag)
            return None if features is None else ([], features)
        parts = split_pos(tag)
        return None if parts is None else ([parts[0]], in_order(parts[1]) or parts[1])


def place_of(label: str) -> Place:
    """Return where a label stands. What is not a column's name is a key of FEATS.

    >>> place_of("XPOS"), place_of("Number")
    (Place(first=4, last=4, key=None), Place(first=5, last=5, key='Number'))
    >>> place_of("upos+feats")
    Place(first=3, last=5, key=None)
    """
    name = label.lower()
    if name in WITH_FEATS:
        return Place(WITH_FEATS[name], FEATS)
    if name in COLUMNS:
        return Place(COLUMNS.index(name), COLUMNS.index(name))
    return Place(FEATS, FEATS, label)


def check_target(label: str) -> None:
    """Raise SapoError unless a label can be written there: into columns that can hold it, or a key of FEATS.

    >>> check_target("xpos")
    """
    if label.lower() not in TARGETS and not re.fullmatch(FEATS_KEY, label):
        raise DataError(f"a label cannot go into '{label}' of CoNLL-U; use {', '.join(TARGETS)} or a key of FEATS")


def check_predictable(label: str, source: str) -> None:
    """Raise SapoError if the label is a column that a tagger cannot learn; `source` is the file, for messages.

    >>> check_predictable("deprel", "train.conllu")
    """
    if reason := NOT_PREDICTABLE.get(label.lower()):
        ways = f"use {', '.join(PREDICTABLE)} or a key of FEATS such as Number as the label"
        if command := OTHER_COMMANDS.get(label.lower()):
            ways = f"learn it with: {command}"
        raise DataError(f"{source}: '{label}' cannot be predicted by a tagger, because it is {reason}; {ways}")


def label_fields(scanned: Scanned, place: Place, name: str) -> tuple[Bytes, Ints, Ints]:
    """Return the data, and where each label starts and ends in it; labels that stand nowhere are put behind it.

    `name` is the file's, for messages.
    """
    if place.key is not None:
        return _values_of_key(scanned, place.key)
    refuse_empty(scanned, place.first, name)
    if not place.whole_feats:
        return scanned.data, scanned.starts[:, place.first], scanned.ends[:, place.first]
    refuse_empty(scanned, FEATS, name)
    return _whole_labels(scanned, place, name)


def _values_of_key(scanned: Scanned, key: str) -> tuple[Bytes, Ints, Ints]:
    # the value stands inside FEATS; where the key is missing, point to a '_' put behind the data
    whole = scanned.data.tobytes()
    pattern = re.compile(rb"(?:^|\|)" + re.escape(key.encode()) + rb"=([^|]*)")
    first, last = [], []
    for a, b in zip(scanned.starts[:, FEATS].tolist(), scanned.ends[:, FEATS].tolist(), strict=True):
        match = pattern.search(whole[a:b])
        first.append(a + match.start(1) if match else len(whole))
        last.append(a + match.end(1) if match else len(whole) + 1)
    return np.append(scanned.data, np.uint8(ord(NONE))), np.array(first, np.int32), np.array(last, np.int32)


def _whole_labels(scanned: Scanned, place: Place, name: str) -> tuple[Bytes, Ints, Ints]:
    whole = scanned.data.tobytes()
    pieces = [whole]
    end = len(whole)
    seen: dict[tuple[bytes, bytes], tuple[int, int]] = {}
    found: list[tuple[int, int]] = []
    columns = [edges[:, at].tolist() for at in (place.first, FEATS) for edges in (scanned.starts, scanned.ends)]
    for token, (a, b, c, d) in enumerate(zip(*columns, strict=True)):
        fields = whole[a:b], whole[c:d]
        if fields not in seen:
            try:
                label = _joined(place, *(field.decode() for field in fields)).encode()
            except SapoError as error:
                line = scanned.line_numbers(scanned.line_starts[token : token + 1])[0]
                raise DataError(f"{name}:{line}: {error}") from None
            pieces.append(label)
            seen[fields] = end, end + len(label)
            end += len(label)
        found.append(seen[fields])
    first, last = np.array(found, np.int32).reshape(-1, 2).T
    return np.frombuffer(b"".join(pieces), np.uint8), first, last


def _joined(place: Place, pos: str, feats: str) -> str:
    """Return the label of a token. Raise SapoError unless it can be taken apart again."""
    features = in_order(feats)
    if features is None:
        raise DataError(f"FEATS must be '_' or KEY=VALUE joined by '|', found {feats[:60]!r}")
    if place.first == FEATS:
        return features
    label = f"{pos}|{features}"
    if split_pos(label) != (pos, features):
        column = COLUMNS[place.first].upper()
        raise DataError(f"{column} {pos[:60]!r} ends like a feature and cannot come before FEATS; use `label='feats'`")
    return label


def refilled(scanned: Scanned, place: Place, tags: Ints, labels: Sequence[str]) -> Iterator[str]:
    """Yield for each token its line from the first to the last column of the label, with the tag in its place."""
    whole = scanned.data.tobytes()
    edges = zip(scanned.starts[:, place.first].tolist(), scanned.ends[:, place.last].tolist(), strict=True)
    seen: dict[tuple[bytes, int], str] = {}
    for tag, (a, b) in zip(tags.tolist(), edges, strict=True):
        case = whole[a:b], tag
        if case not in seen:
            seen[case] = "\t".join(place.filled(case[0].decode().split("\t"), labels[tag]))
        yield seen[case]


def with_feature(feats: str, key: str, value: str) -> str:
    """Return a list of features with one of them set; the value '_' removes it.

    >>> with_feature("Case=Nom|Number=Sing", "Number", "Plur")
    'Case=Nom|Number=Plur'
    >>> with_feature("Number=Sing", "Number", "_")
    '_'
    """
    items = [item for item in feats.split("|") if item and item != NONE]
    old = [item for item in items if item.startswith(f"{key}=")]
    new = [] if value == NONE else [f"{key}={value}"]
    if old == new:
        return feats
    kept = [item for item in items if item not in old]
    return "|".join(sorted(kept + new, key=str.lower)) or NONE


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

    def sentences(self, block: Block) -> Iterator[Sentence]:
        """Yield the sentences; lines that are not words become notes, so that nothing is lost when they are written."""
        scanned = self.scanned
        whole = scanned.data.tobytes()
        regions, documents = sentence_regions(scanned), self.documents()
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
            yield Sentence(sentence.columns, sentence.tags, text=text, notes=tuple(notes), document=documents[number])

    def check_labels(self, labels: Sequence[str]) -> None:
        for label in labels:
            check_tag(label, tabs=True)
            self.place.check(label)


def read_blocks(
    path: str | Path, *, label: str | None = None, columns: Sequence[str] | None = None, labeled: bool = True
) -> Iterator[Block]:
    """Read a CoNLL-U file in blocks.

    `label` is upos (the default), xpos, another column's name, a key of FEATS such as Number, upos+feats or
    xpos+feats. `columns` must be None: the columns of CoNLL-U have fixed names.
    """
    name = show_path(path)
    if columns is not None:
        raise OptionError(f"{name}: the columns of CoNLL-U have their names; leave the names of columns out")
    label = label or "upos"
    place = place_of(label)
    if place.key is not None and not re.fullmatch(FEATS_KEY, place.key):
        raise DataError(f"{name}: '{label}' is neither a column of CoNLL-U nor a key of FEATS such as Number")
    # the label stands for the columns that it holds; FEATS stay next to their key
    hidden = {place.first, place.last} if place.key is None else set()
    kept = [at for at in range(len(COLUMNS)) if at not in hidden]
    into = place.first if hidden else len(COLUMNS)
    names = [COLUMNS[at] for at in kept]
    names.insert(into, LABEL)
    document: str | None = None
    for scanned in scan_file(path, Layout(len(COLUMNS), tabs=True, conllu=True)):
        data, starts, ends = scanned.data, scanned.starts, scanned.ends
        if labeled:
            data, first, last = label_fields(scanned, place, name)
            starts, ends = np.insert(starts[:, kept], into, first, 1), np.insert(ends[:, kept], into, last, 1)
        yield Block(
            name,
            tuple(names) if labeled else COLUMNS,
            data,
            np.ascontiguousarray(starts, np.int32),
            np.ascontiguousarray(ends, np.int32),
            scanned.offsets,
            ConlluOrigin(scanned, place, document=document),
        )
        document = last_document(scanned.data.tobytes(), document)


def write(block: Block, added: Annotation) -> Iterator[bytes]:
    """Yield the block as it was read, with the tags in the place of the label and probabilities in MISC.

    Multiword tokens and empty nodes stay. A conversion says where the tags go.
    """
    if added.taggings is not None:
        yield from write_ranked(block, added, write)
        return
    origin = block.origin_as(ConlluOrigin)
    if added.placement is not None:
        origin = replace(origin, place=place_of(added.placement.column))
        origin.check_labels(added.labels)
    scanned, place = origin.scanned, origin.place
    if added.tags is None:
        yield scanned.data.tobytes()
        return
    labels, tags, last = added.labels, added.tags, place.last
    probabilities = added.probabilities(block.offsets)
    if probabilities is not None:
        key = "TagProbability" if added.spans is None else "SpanProbability"
        labels, tags, last = (
            _with_probabilities(origin, added, key, probabilities),
            np.arange(len(tags), dtype=np.int32),
            MISC,
        )
    elif place.key is not None or place.whole_feats:
        labels, tags = number_tags(refilled(scanned, place, tags, labels))
    yield splice_tags(scanned.data, scanned.starts[:, place.first], scanned.ends[:, last], labels, tags)


def _with_probabilities(origin: ConlluOrigin, added: Annotation, key: str, probabilities: Sequence[str]) -> list[str]:
    """Return the line of each token from its label to MISC, which gets the probability under this key."""
    scanned, place = origin.scanned, origin.place
    if place.last == MISC:
        raise DataError("the label is MISC, where the probability goes; tag into another column with `label`")
    assert added.tags is not None
    whole = scanned.data.tobytes()
    pieces = []
    new = refilled(scanned, place, added.tags, added.labels)
    for value, probability, starts, ends in zip(new, probabilities, scanned.starts, scanned.ends, strict=True):
        between = whole[ends[place.last] : starts[MISC]].decode()
        misc = with_feature(whole[starts[MISC] : ends[MISC]].decode(), key, probability)
        pieces.append(f"{value}{between}{misc}")
    return pieces


def write_sentence(sentence: Sentence, placement: Placement = DEFAULT) -> str:
    r"""Return a sentence in ten columns, with '_' for what is not known; `placement` says where its tags go.

    >>> write_sentence(Sentence({"word": ("Hush",)}, ("INTJ",)))
    '# text = Hush\n1\tHush\t_\tINTJ\t_\t_\t_\t_\t_\t_\n\n'
    """
    notes: dict[int, list[str]] = {}
    for token, line in sentence.notes:
        notes.setdefault(token, []).append(line)
    if sentence.starts_document and not any(NEWDOC.match(line.encode()) for line in notes.get(0, ())):
        notes.setdefault(0, []).insert(0, f"# newdoc id = {sentence.document}")
    if not any(line.startswith(TEXT) for line in notes.get(0, ())):
        text = sentence.text or _text(sentence.words, sentence.columns.get("misc", ()))
        notes.setdefault(0, []).append(TEXT + " ".join(text.split()))
    glued = _glued(sentence) if "misc" not in sentence.columns else set()
    lines: list[str] = []
    place = place_of(placement.column)
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
        raise DataError(f"{value!r} cannot be written to CoNLL-U; use JSONL for such tokens")
    return value
