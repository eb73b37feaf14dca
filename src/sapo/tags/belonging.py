"""The labels of a model and those of data in, whether they belong together out."""

from collections.abc import Collection, Iterable, Sequence

from sapo.tags.letters import SPAN_LETTERS
from sapo.tags.loose_reading import type_of
from sapo.tags.notation import looks_like_spans

NAMED = 5  # labels, in a message about many


def unknown_labels(known: Sequence[str], labels: Iterable[str]) -> list[str]:
    """Return the labels that are new. A span label is not, if its type is known: I-X where only B-X was seen.

    >>> unknown_labels(["O", "B-PER"], ["I-PER", "B-PRE", "O"]), unknown_labels(["NN"], ["NN", "NNS"])
    (['B-PRE'], ['NNS'])
    """
    names, types = set(known), set(map(type_of, known)) - {""} if looks_like_spans(known) else set()
    return [label for label in labels if label not in names and not _has_type(label, types)]


def have_common_label(known: Sequence[str], labels: Iterable[str]) -> bool:
    """Return whether some label of the data is known. O does not count, unless the data has no other label.

    >>> have_common_label(["O", "B-PER"], ["O", "B-NP"]), have_common_label(["O", "B-PER"], ["O", "I-PER"])
    (False, True)
    """
    told = [label for label in labels if label != "O"]
    return not told or len(unknown_labels(known, told)) < len(told)


def listed(labels: Sequence[str]) -> str:
    """Return the first few labels, for a message.

    >>> listed(["A", "B"]), listed("ABCDEFG")
    ("'A', 'B'", "'A', 'B', 'C', 'D', 'E', …")
    """
    shown = ", ".join(f"'{label}'" for label in labels[:NAMED])
    return f"{shown}, …" if len(labels) > NAMED else shown


def nearest(label: str, known: Collection[str]) -> str | None:
    """Return the known label that is most like this one, or None if none is. A span label is like one of its letter.

    >>> nearest("B-PRE", ["I-PER", "B-PER", "O"]), nearest("VERB", ["O"])
    ('B-PER', None)
    """
    letter, _, kind = label.partition("-")
    front = f"{letter}-" if kind and letter in SPAN_LETTERS else ""
    alike = {other.removeprefix(front): other for other in known if other.startswith(front)}
    import difflib

    close = difflib.get_close_matches(label.removeprefix(front), alike, 1)
    close = close or [other for other in alike if other.lower() == label.removeprefix(front).lower()]
    return alike[close[0]] if close else None


def _has_type(label: str, types: Collection[str]) -> bool:
    letter, _, kind = label.partition("-")
    return letter in SPAN_LETTERS and kind in types
