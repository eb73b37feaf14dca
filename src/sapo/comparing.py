"""A file with gold and predicted tags in, scores out."""

from pathlib import Path

import numpy as np

from sapo.corpus import LABEL, format_of, read_blocks
from sapo.corpus.columns import column_index
from sapo.encode.strings import StringTable
from sapo.errors import SapoError
from sapo.evaluate import Scores, score


def score_file(
    path: str | Path,
    *,
    gold: str | None = None,
    predicted: str = "-1",
    format: str | None = None,
    strict: bool = False,
) -> Scores:
    """By default the last two columns are gold and predicted, as for conlleval."""
    if format_of(path, format) != "columns":
        raise SapoError(f"{path}: gold and predicted tags stand in a column file; for other formats give --model")
    table = StringTable()
    golds, found, sizes = [np.empty(0, np.int32)], [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
    for block in read_blocks(path, format="columns", label=gold or "-2"):
        at = column_index(predicted, None, len(block.columns), str(path))
        if block.columns[at] == LABEL:
            raise SapoError(f"{path}: gold and predicted tags cannot both be column {at}")
        golds.append(table.add_fields(*block.column(LABEL)))
        found.append(table.add_fields(*block.column(block.columns[at])))
        sizes.append(np.diff(block.offsets))
    offsets = np.cumsum(np.concatenate(sizes))
    if len(offsets) == 1:
        raise SapoError(f"{path}: holds no sentence")
    return score(table.strings(), np.concatenate(golds), np.concatenate(found), offsets, strict=strict)
