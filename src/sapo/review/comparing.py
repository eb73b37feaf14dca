"""Models and tagged files in, comparisons out: what is a model tags the gold file first."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sapo.corpus import LABEL
from sapo.corpus.files import is_model
from sapo.errors import SapoError
from sapo.evaluate import Comparison
from sapo.evaluate.files import compare_files
from sapo.tagger import Tagger, decoding
from sapo.tagger.files import check_no_missing, check_same_task


def compare_systems(
    systems: Sequence[str | Path], gold: str | Path, *, gold_column: str | None = None, **how: Any
) -> list[Comparison]:
    """Compare the first system with each of the others. A system is a model or a tagged file.

    `how` is as for `compare_files`. Raises SapoError if a file cannot be read, or does not belong to the others.
    """
    if is_model(gold):
        raise SapoError(f"{gold}: is a model; the gold file comes last: sapo compare A B GOLD")
    models = [system for system in systems if is_model(system)]
    if models and str(gold) == "-":
        raise SapoError("models read the gold file more than once; save standard input to a file first, and give that")
    tagged: dict[str | Path, list[str]] = {}
    right: list[str] | None = None
    for model in models:
        tagged[model], found = _tags(Tagger.load(model), gold, gold_column)
        right = found if right is None else right
    # the label of a model need not be in the last column of gold
    known: Mapping[str | Path, Sequence[str]] = tagged if right is None else {**tagged, gold: right}
    return compare_files(systems, gold, gold_column=gold_column, known=known, **how)


def _tags(tagger: Tagger, gold: str | Path, column: str | None) -> tuple[list[str], list[str]]:
    """Return the tags that a model finds in the gold file, and the gold tags."""
    found, right = list[str](), list[str]()
    for block, tags in tagger.tag_blocks(tagger.read_blocks(gold, labelled=True, label=column)):
        found += decoding.label_names(tagger.model, tags)
        right += block.strings(LABEL)
    check_no_missing(tagger.model, right, gold)
    check_same_task(tagger.model, sorted(set(right)), gold)
    return found, right
