"""Where a label stands in CoNLL-U: in a column, in one key of FEATS, in the whole of FEATS, or in UPOS and FEATS."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sapo.corpus.predictions import NONE
from sapo.corpus.scanner import Scanned, refuse_empty
from sapo.errors import SapoError
from sapo.kernels.types import Bytes, Ints
from sapo.tags import in_order, split_pos

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
            raise SapoError(
                f"the tag {tag!r} cannot be written to FEATS, where | and = are separators; use another column"
            )
        if self.whole_feats and self._parts(tag) is None:
            form, *examples = "FEATS", "Case=Nom|Number=Sing", "_"
            if self.first != FEATS:
                form, *examples = f"{COLUMNS[self.first].upper()}|FEATS", "NOUN|Case=Nom|Number=Sing", "X|_"
            raise SapoError(f"the tag {tag!r} does not have the form {form}, as {' or '.join(map(repr, examples))}")

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
        raise SapoError(f"a label cannot go into '{label}' of CoNLL-U; use {', '.join(TARGETS)} or a key of FEATS")


def check_predictable(label: str, source: str) -> None:
    """Raise SapoError if the label is a column that a tagger cannot learn; `source` is the file, for messages.

    >>> check_predictable("deprel", "train.conllu")
    """
    if reason := NOT_PREDICTABLE.get(label.lower()):
        ways = f"{', '.join(PREDICTABLE)} or a key of FEATS such as Number"
        raise SapoError(f"{source}: '{label}' cannot be predicted, because it is {reason}; use {ways} as the label")


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
                raise SapoError(f"{name}:{line}: {error}") from None
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
        raise SapoError(f"FEATS must be '_' or KEY=VALUE joined by '|', found {feats[:60]!r}")
    if place.first == FEATS:
        return features
    label = f"{pos}|{features}"
    if split_pos(label) != (pos, features):
        column = COLUMNS[place.first].upper()
        raise SapoError(f"{column} {pos[:60]!r} ends like a feature and cannot come before FEATS; use --label feats")
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
