"""Edge features on real corpora: what they cost and what they gain, against the same template without them.

SAPO_DATA=... python benchmarks/edges.py
"""

import os
import tempfile
from pathlib import Path

from sapo.features.template import template_text
from sapo.training.plan import make_settings
from sapo.training.run import read_data, train_on, with_start_rate

DATA = Path(os.environ["SAPO_DATA"])
TASKS = {
    "chunking, 22 labels": ("conll2000", ".txt.gz", None, "chunking", "label[-1] & pos[0]\nlabel[-1] & word[0]\n"),
    "XPOS, 49 labels": ("ud-ewt", ".conllu.gz", "xpos", "pos", "label[-1] & word[0]\nlabel[-1] & suffix(word, 3)\n"),
}


def measure(corpus: str, ending: str, label: str | None, template: str) -> str:
    files = [DATA / corpus / f"{part}{ending}" for part in ("train", "test")]
    prepared = read_data(files[0], template=template, label=label)
    settings = with_start_rate(prepared, make_settings({"epochs": 15, "tolerance": 0.0}), "sapo")
    outcome = train_on(prepared, settings)
    parameters = outcome.tagger.model.parameters
    scores = outcome.tagger.evaluate(files[1], label=label)
    seconds = sum(record.seconds for record in outcome.history) / len(outcome.history)
    dense = prepared.encoder.edge_features * len(prepared.labels) ** 2
    return (
        f"{100 * scores.main[1]:6.2f}  {seconds:5.2f} s a pass  "
        f"{parameters.features.size * 4 / 1e6:6.1f} MB of features  "
        f"{prepared.encoder.edge_features:7,} edge features: {parameters.pair_weights.size:9,} weights, "
        f"{parameters.pair_weights.size * 4 / 1e6:5.1f} MB (all pairs: {dense * 4 / 1e6:,.0f} MB)"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as room:
        for name, (corpus, ending, label, preset, edges) in TASKS.items():
            plain = template_text(preset)[0]
            for kind, text in (("without", plain), ("with", plain + edges)):
                path = Path(room) / "template.txt"
                path.write_text(text)
                print(f"{name:20} {kind:8} {measure(corpus, ending, label, str(path))}", flush=True)


if __name__ == "__main__":
    main()
