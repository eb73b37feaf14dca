"""How long a large model takes to load: python benchmarks/loading.py --weights 10

The model is made up: random features of pairs of words, with four weights each, in the sizes that training gives.
Prints the processor time of `Tagger.load`, the best and the median of several, and what of it the checksum takes.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from sapo import Tagger
from sapo.features.encoded import Pairs
from sapo.features.encoder import TemplateEncoder, freeze
from sapo.features.layout import FeatureLayout, views_of
from sapo.features.strings import StringTable
from sapo.features.tables import make_tables
from sapo.features.template import parse_templates
from sapo.features.words import ViewValues
from sapo.search.lattice import Parameters, no_bans
from sapo.search.weights import FeatureRows
from sapo.tagger.arrayfile import checksum_of, load_arrays
from sapo.tagger.file import save_model
from sapo.tagger.model import Model

WORDS, LABELS, EACH = 50_000, 45, 4
TEMPLATE = "word[0]\nword[-1]\nsuffix(word[0], 3)\nword[-1] & word[0]\nword[0] & word[1]\nlabel[-1]\n"


def made_up(weights: int, seed: int = 0) -> Model:
    """Return a model with so many weights."""
    rng = np.random.default_rng(seed)
    templates = parse_templates(TEMPLATE, ("word", "label"))
    columns = {"word": StringTable([f"w{number:x}" for number in rng.permutation(WORDS).tolist()])}
    views = tuple(ViewValues.of_words(view, columns[view.column]) for view in views_of(templates))
    layout = FeatureLayout(templates, views)
    features = weights // EACH
    owners = np.sort(rng.integers(3, 5, features)).astype(np.int32)
    bits = layout.view_bits[0]
    values = rng.integers(10, WORDS, (2, features))
    keys = values[0] << bits | values[1]
    _, first = np.unique(keys << 3 | owners, return_index=True)
    keys, owners = keys[np.sort(first)], owners[np.sort(first)]
    none = np.empty(0, np.int64), np.empty(0, np.int32)
    encoder = TemplateEncoder(templates, columns, views, make_tables(layout, (keys, owners), none))
    encoder = freeze(encoder).encoder
    counts = np.full(encoder.features, EACH, np.int32)
    labels = np.sort(rng.integers(0, LABELS // EACH, (encoder.features, EACH)) + np.arange(0, 44, 11), axis=1)
    rows = FeatureRows.of_entries(
        counts, labels.astype(np.uint16).reshape(-1), rng.normal(size=labels.size).astype(np.float32), LABELS
    )
    edges = rng.normal(size=(LABELS, LABELS)).astype(np.float32)
    parameters = Parameters(rows, edges, Pairs.none(), np.empty((0, 1), np.float32), no_bans(LABELS))
    return Model(tuple(f"L{number}" for number in range(LABELS)), encoder, parameters)


def main() -> None:
    """Make the model, save it, and load it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=float, default=10, help="in millions")
    parser.add_argument("--runs", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as room:
        path = Path(room, "large.sapo")
        save_model(made_up(int(given.weights * 1e6)), path)
        tagger = Tagger.load(path)
        print(f"{path.stat().st_size / 1e6:.1f} MB, {tagger.model.parameters.nonzero:,} weights")
        for name, use in (("Tagger.load", lambda: Tagger.load(path)), ("checksum", lambda: _sum(path))):
            times = []
            for _ in range(given.runs):
                begin = time.process_time()
                use()
                times.append(1000 * (time.process_time() - begin))
            print(f"{name:12} best {min(times):6.1f} ms, median {statistics.median(times):6.1f} ms of processor time")


def _sum(path: Path) -> None:
    header, arrays = load_arrays(path, "a model", trusted=None)
    checksum_of(header, arrays)


if __name__ == "__main__":
    main()
