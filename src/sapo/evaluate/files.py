"""Score a file with gold and predicted tags, or compare the files of several systems."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sapo.corpus.blocks import LABEL
from sapo.corpus.columns import column_index
from sapo.corpus.files import show_path
from sapo.corpus.formats import format_of, read_blocks
from sapo.errors import DataError
from sapo.evaluate.comparison import Comparison, compare
from sapo.evaluate.scores import Scores, score
from sapo.features.strings import StringTable
from sapo.jit.arrays import Ints, Longs


def score_file(
    path: str | Path,
    *,
    gold: str | None = None,
    predicted: str = "-1",
    format: str | None = None,
    strict: bool = False,
) -> Scores:
    """Score a column file with gold and predicted tags: by default the last two columns, as for conlleval."""
    if format_of(path, format) != "columns":
        raise DataError(
            f"{path}: gold and predicted tags stand in a column file; for other formats: sapo eval MODEL FILE"
        )
    table = StringTable()
    golds, found, sizes = [np.empty(0, np.int32)], [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
    for block in read_blocks(path, format="columns", label=gold or "-2"):
        at = column_index(predicted, None, len(block.columns), str(path))
        if block.columns[at] == LABEL:
            raise DataError(f"{path}: gold and predicted tags cannot both be column {at}")
        golds.append(table.add_fields(*block.column(LABEL)))
        found.append(table.add_fields(*block.column(block.columns[at])))
        sizes.append(np.diff(block.offsets))
    offsets = np.cumsum(np.concatenate(sizes))
    if len(offsets) == 1:
        raise DataError(f"{path}: has no sentences")
    if not np.isin(np.concatenate(found), np.concatenate(golds)).any():
        raise DataError(
            f"{path}: gold and predicted tags have none in common; tag the file first: sapo eval MODEL FILE"
        )
    return score(table.strings(), np.concatenate(golds), np.concatenate(found), offsets, strict=strict)


def compare_files(
    systems: Sequence[str | Path],
    gold: str | Path,
    *,
    column: str | None = None,
    gold_column: str | None = None,
    known: Mapping[str | Path, Sequence[str]] | None = None,
    rounds: int = 10_000,
    seed: int = 0,
    watch: Callable[[int], None] | None = None,
) -> list[Comparison]:
    """Compare the first system with each of the others. `watch` is called now and then with the number of rounds done.

    Every file has one tag a line, or is a corpus in any format with the tag in its last column, or in `column`
    (`gold_column`); a file with a single column has its tags there. All must have the same sentences as gold. `known`
    has the tags of systems that are not read, such as models, and of gold if its tags are known already.
    """
    known = known or {}
    if len(systems) < 2:
        raise DataError(f"compare: needs the tags of at least two systems, found {len(systems)}")
    table = StringTable()
    # tags that are not used must not be among the labels
    gold_tags = _read_tags(gold, gold_column, StringTable() if gold in known else table)
    gold_tags = _known(gold, known, gold_tags, table)
    first, *others = (
        _known(path, known, gold_tags, table) if path in known else _fitting(_read_tags(path, column, table), gold_tags)
        for path in systems
    )
    labels = table.strings()  # of all systems, so that all are measured by the same score
    return [
        compare(
            labels, gold_tags.tags, first.tags, other.tags, gold_tags.offsets, rounds=rounds, seed=seed, watch=watch
        )
        for other in others
    ]


@dataclass(frozen=True, slots=True)
class _TagFile:
    """The tags of a file, and where its sentences stand."""

    name: str
    tags: Ints
    offsets: Longs  # [sentences + 1] into the tags
    lines: Longs  # [sentences], the line of the first token


def _read_tags(path: str | Path, column: str | None, table: StringTable) -> _TagFile:
    tags, sizes, lines = [np.empty(0, np.int32)], [np.zeros(1, np.int64)], [np.empty(0, np.int64)]
    in_columns = format_of(path) == "columns"
    for block in read_blocks(path, label="-1" if in_columns else column):  # a file may have tags alone
        name = LABEL
        if in_columns and column is not None and len(block.columns) > 1:
            name = block.columns[column_index(column, None, len(block.columns), block.name)]
        tags.append(table.add_fields(*block.column(name)))
        sizes.append(np.diff(block.offsets))
        lines.append(block.first_lines())
    offsets = np.cumsum(np.concatenate(sizes))
    if len(offsets) == 1:
        raise DataError(f"{show_path(path)}: has no sentences")
    return _TagFile(show_path(path), np.concatenate(tags), offsets, np.concatenate(lines))


def _known(
    path: str | Path, known: Mapping[str | Path, Sequence[str]], sentences: _TagFile, table: StringTable
) -> _TagFile:
    """Return these sentences with the known tags of a system, or as they are if it is not known."""
    if path not in known:
        return sentences
    return _TagFile(show_path(path), table.add(list(known[path])), sentences.offsets, sentences.lines)


def _fitting(file: _TagFile, gold: _TagFile) -> _TagFile:
    """Return the file as it is. Raise SapoError unless its sentences are as long as those of gold."""
    sizes, gold_sizes = np.diff(file.offsets), np.diff(gold.offsets)
    shared = min(len(sizes), len(gold_sizes))
    unlike = np.flatnonzero(sizes[:shared] != gold_sizes[:shared])
    if len(unlike):
        at = int(unlike[0])
        raise DataError(
            f"{file.name}:{file.lines[at]}: sentence {at + 1} has {sizes[at]} tag{'s' * bool(sizes[at] != 1)}, but "
            f"{gold_sizes[at]} in gold ({gold.name}:{gold.lines[at]}); both must have the same sentences, "
            "each with an empty line after it"
        )
    if len(sizes) != len(gold_sizes):
        longer = file if len(sizes) > shared else gold
        raise DataError(
            f"{longer.name}:{longer.lines[shared]}: sentence {shared + 1} is not in "
            f"{(gold if longer is file else file).name}, which has {shared}; both must have the same sentences"
        )
    return file
