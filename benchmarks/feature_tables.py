"""Frozen tables of features beside those with open addressing: time of a look-up, and bytes.

    SAPO_DATA=... python benchmarks/feature_tables.py

Both encode the same test files; the times are those of the kernel `feature_rows`, the best of several, by turns.
"""

import os
import time
from pathlib import Path

import numpy as np

from sapo import kernels
from sapo.corpus import read_blocks
from sapo.encode import layout as layouts
from sapo.encode.building import build_encoder
from sapo.encode.encoder import TemplateEncoder
from sapo.encode.frozen import freeze
from sapo.encode.presets import template_text
from sapo.encode.strings import StringTable
from sapo.encode.template import parse_templates
from sapo.kernels import features

DATA = Path(os.environ["SAPO_DATA"])
TASKS = {
    "CoNLL-2000, chunking": ("conll2000", ".txt.gz", None, "chunking"),
    "CoNLL-2000, chunking-best": ("conll2000", ".txt.gz", None, "chunking-best"),
    "EWT, pos-best": ("ud-ewt", ".conllu.gz", "xpos", "pos-best"),
}
REPEATS = 15


class Job:
    """The look-ups of one text with one encoder."""

    def __init__(self, encoder: TemplateEncoder, blocks: list) -> None:
        session = encoder.session()
        self.calls = []
        self.rows = self.keys = 0
        for block in blocks:
            seen = []
            session._values = lambda ids, tokens, seen=seen: seen[0] if seen else None
            numbers = {name: table.find_fields(*block.column(name)) for name, table in encoder.columns.items()}
            new = {name: StringTable() for name in encoder.columns}
            for name, ids in numbers.items():
                unknown = np.flatnonzero(ids < 0)
                data, starts, ends = block.column(name)
                ids[unknown] = len(encoder.columns[name]) + new[name].add_fields(data, starts[unknown], ends[unknown])
            values = layouts.view_values(encoder.layout, numbers, int(block.offsets[-1]), new)
            part = slice(0, encoder.layout.node_templates)
            self.rows += layouts.most_rows(encoder.layout, part, values)
            out = np.empty(self.rows, np.int32), np.empty(int(block.offsets[-1]) + 1, np.int64)
            arguments = (block.offsets, encoder.layout.arrays(part), values, encoder.tables.for_nodes())
            self.calls.append((*arguments, *out))

    def run(self) -> float:
        """Return how many seconds all calls take."""
        start = time.perf_counter()
        for call in self.calls:
            features.feature_rows(*call)
        return time.perf_counter() - start


def bytes_of(arrays: dict[str, np.ndarray]) -> int:
    return sum(array.nbytes for name, array in arrays.items() if name.startswith(("feature.", "edge_feature.")))


def main() -> None:
    kernels.compile_kernels()
    print("| task | features | open: ns a look-up | frozen | ratio | open: bytes a feature | frozen |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for task, (corpus, ending, label, preset) in TASKS.items():
        train, test = (list(read_blocks(DATA / corpus / f"{part}{ending}", label=label)) for part in ("train", "test"))
        columns = [*train[0].columns]
        encoder, _ = build_encoder(train, parse_templates(template_text(preset)[0], columns), StringTable())
        frozen = freeze(encoder).encoder
        jobs = [Job(encoder, test), Job(frozen, test)]
        times = np.array([[job.run() for job in jobs] for _ in range(REPEATS)]).min(axis=0)
        slow, fast = times / jobs[0].rows * 1e9
        sizes = bytes_of(encoder.tables.arrays()), bytes_of(frozen.tables.arrays())
        print(
            f"| {task} | {encoder.features:,} | {slow:.1f} | {fast:.1f} | {fast / slow:.2f} | "
            f"{sizes[0] / encoder.features:.1f} | {sizes[1] / encoder.features:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
