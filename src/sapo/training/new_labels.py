"""Refuse labels that a model does not know: most often they are typing errors, or the data of another task."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sapo.corpus import LABEL
from sapo.corpus.labelled import Source, read_labelled
from sapo.errors import SapoError
from sapo.tags.belonging import have_common_label, listed, nearest, unknown_labels

WAY_OUT = "to learn new labels, give new_labels=True (--new-labels)"


def refuse_new_labels(known: Sequence[str], labels: Sequence[str], data: Source, reading: dict[str, Any]) -> None:
    """Raise SapoError if `labels`, those of the data, has a label that is not among the `known` ones of the model.

    `reading` is how a file is read, to name the line of the label.
    """
    new = unknown_labels(known, labels)
    if not new:
        return
    place = _place(data, new[0], reading)
    if len(new) == 1:
        near = nearest(new[0], known)
        meant = f"did you mean '{near}'? Otherwise," if near else f"it has {listed(known)};"
        raise SapoError(f"{place}: the model does not know the label '{new[0]}'; {meant} {WAY_OUT}")
    task = "" if have_common_label(known, labels) else f"is this data of another task? The model has {listed(known)}; "
    raise SapoError(f"{place}: the model does not know {len(new):,} labels ({listed(new)}); {task}{WAY_OUT}")


def _place(data: Source, label: str, reading: dict[str, Any]) -> str:
    """Return where a label stands first."""
    if not isinstance(data, str | Path):
        return "new data"
    if str(data) != "-":
        for block in read_labelled(data, "new data", **reading).blocks:
            tags = block.strings(LABEL)
            if label in tags:
                return block.place_of(tags.index(label))
    return str(data)
