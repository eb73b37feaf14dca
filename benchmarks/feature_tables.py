"""Frozen tables of features beside those with open addressing: time of a look-up, bytes, and time to read them.

    SAPO_DATA=... python benchmarks/feature_tables.py

Both find the features of the same test files. The times are those of the kernel `feature_rows`, which also makes the
keys: the best of many, by turns.
"""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from sapo import jit
from sapo.corpus.blocks import Block
from sapo.corpus.formats import read_blocks
from sapo.features.building import build_encoder
from sapo.features.encoder import TemplateEncoder, freeze, from_frozen_arrays, frozen_arrays
from sapo.features.layout import feature_rows, most_rows, view_values
from sapo.features.strings import StringTable
from sapo.features.template import parse_templates, template_text
from sapo.features.words import NewWords
from sapo.jit.arrays import Bytes, Ints

DATA = Path(os.environ["SAPO_DATA"])
TASKS = {
    "CoNLL-2000, chunking": ("conll2000", ".txt.gz", None, "chunking"),
    "CoNLL-2000, chunking-best": ("conll2000", ".txt.gz", None, "chunking-best"),
    "EWT, pos-best": ("ud-ewt", ".conllu.gz", "xpos", "pos-best"),
}
REPEATS = 60


class Job:
    """The look-ups of one text with one encoder."""

    def __init__(self, encoder: TemplateEncoder, blocks: list[Block]) -> None:
        self.calls = []
        self.look_ups = 0
        part = slice(0, encoder.layout.node_templates)
        for block in blocks:
            new = {name: NewWords() for name in encoder.columns}
            ids = {name: numbers(table, new[name], block.column(name)) for name, table in encoder.columns.items()}
            values = view_values(encoder.layout, ids, int(block.offsets[-1]), new)
            most = most_rows(encoder.layout, part, values)
            out = np.empty(most, np.int32), np.empty(int(block.offsets[-1]) + 1, np.int64)
            self.calls.append((block.offsets, encoder.layout.arrays(part), values, encoder.tables.for_nodes(), *out))
            self.look_ups += most

    def run(self) -> float:
        """Return how many seconds all calls take."""
        start = time.perf_counter()
        for call in self.calls:
            feature_rows(*call)
        return time.perf_counter() - start


def numbers(known: StringTable, new: NewWords, fields: tuple[Bytes, Ints, Ints]) -> Ints:
    """Return the numbers of strings as a session does: those of new ones come after those of known ones."""
    data, starts, ends = fields
    ids = known.find_fields(*fields)
    unknown = np.flatnonzero(ids < 0)
    ids[unknown] = len(known) + new.add_fields(data, starts[unknown], ends[unknown])
    return ids


def read(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> float:
    """Return how many seconds it takes to read an encoder and to find a word."""
    start = time.perf_counter()
    encoder = from_frozen_arrays(header, arrays)
    for table in (*encoder.columns.values(), *(view.table for view in encoder.views)):
        table.find(["the"])
    return time.perf_counter() - start


def size(arrays: dict[str, np.ndarray]) -> int:
    return sum(array.nbytes for array in arrays.values())


def main() -> None:
    jit.compile_kernels()
    print(
        "| task | features | ns a look-up, open | frozen | ratio | bytes a feature, open | frozen "
        "| MB of the encoder, open | frozen | ms to read, frozen |"
    )
    print("|---" + "|--:" * 9 + "|")
    for task, (corpus, ending, label, preset) in TASKS.items():
        train, test = (list(read_blocks(DATA / corpus / f"{part}{ending}", label=label)) for part in ("train", "test"))
        templates = parse_templates(template_text(preset)[0], [*train[0].columns])
        encoder, _ = build_encoder(train, templates, StringTable())
        frozen = freeze(encoder).encoder
        arrays = frozen_arrays(frozen)
        jobs = [Job(encoder, test), Job(frozen, test)]
        before, after = np.array([[job.run() for job in jobs] for _ in range(REPEATS)]).min(axis=0)
        seconds = min(read(encoder.header(), arrays) for _ in range(REPEATS))
        each = [size(one.tables.arrays()) / encoder.features for one in (encoder, frozen)]
        print(
            f"| {task} | {encoder.features:,} | {before / jobs[0].look_ups * 1e9:.1f} "
            f"| {after / jobs[0].look_ups * 1e9:.1f} | {after / before:.2f} | {each[0]:.1f} | {each[1]:.1f} "
            f"| {size(encoder.arrays()) / 1e6:.1f} | {size(arrays) / 1e6:.1f} | {seconds * 1e3:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
