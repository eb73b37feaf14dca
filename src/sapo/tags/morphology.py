"""Labels that hold morphology: features such as Case=Nom|Number=Sing, alone or behind a part of speech and '|'."""

import re
from collections.abc import Mapping, Sequence

NO_FEATURES = "_"
_FEATURE = r"[^|=]+=[^|]+"
_FEATURES = rf"_|{_FEATURE}(?:\|{_FEATURE})*"
# the shortest part of speech that leaves nothing but features: XPOS may hold '|', too
_WITH_POS = re.compile(rf"(.+?)\|({_FEATURES})", re.DOTALL)
# of UD; CONJ is of its version 1
_UPOS = re.compile("ADJ|ADP|ADV|AUX|CCONJ|CONJ|DET|INTJ|NOUN|NUM|PART|PRON|PROPN|PUNCT|SCONJ|SYM|VERB|X|_")


def in_order(features: str) -> str | None:
    """Return features in the order of UD, each once; None if this is not a list of KEY=VALUE.

    >>> in_order("Number=Sing|Case=Acc,Nom|Number=Sing"), in_order("_"), in_order("Case=Nom|Sing")
    ('Case=Acc,Nom|Number=Sing', '_', None)
    """
    if not re.fullmatch(_FEATURES, features):
        return None
    return "|".join(sorted(set(features.split("|")), key=lambda feature: (feature.lower(), feature)))


def split_pos(label: str) -> tuple[str, str] | None:
    """Return the part of speech in front of features, and the features; None if the label does not hold both.

    >>> split_pos("NOUN|Case=Nom|Number=Sing"), split_pos("X|_"), split_pos("NN|SIN|Case=Nom")
    (('NOUN', 'Case=Nom|Number=Sing'), ('X', '_'), ('NN|SIN', 'Case=Nom'))
    >>> split_pos("NOUN") is None
    True
    """
    match = _WITH_POS.fullmatch(label)
    return None if match is None else (match[1], match[2])


def read_morphology(labels: Sequence[str]) -> list[Mapping[str, str]] | None:
    """Return for each label its values by key; None unless all labels hold morphology, and some a feature.

    The part of speech has the key upos if all of them are those of UD, and otherwise pos. The values of a key that
    is repeated are joined by a comma, as UD writes several values.

    >>> read_morphology(["NOUN|Case=Nom", "X|_"])
    [{'upos': 'NOUN', 'Case': 'Nom'}, {'upos': 'X'}]
    >>> read_morphology(["_", "Case=Nom|Case=Acc"])
    [{}, {'Case': 'Acc,Nom'}]
    >>> read_morphology(["NN", "VB"]) is None
    True
    """
    if not any("=" in label for label in labels):  # quick, for all other labels
        return None
    bare = [in_order(label) for label in labels]
    if all(bare):
        return [_values(features or NO_FEATURES) for features in bare]
    parts = [part for part in map(split_pos, labels) if part is not None]
    if len(parts) < len(labels) or all(features == NO_FEATURES for _, features in parts):
        return None
    name = "upos" if all(_UPOS.fullmatch(pos) for pos, _ in parts) else "pos"
    return [({} if pos == "_" else {name: pos}) | _values(in_order(features) or features) for pos, features in parts]


def _values(features: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for feature in features.split("|"):
        key, equals, value = feature.partition("=")
        if equals:
            values[key] = f"{values[key]},{value}" if key in values else value
    return values
