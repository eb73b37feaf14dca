"""Many labels: time of a pass, memory, size of the model file, accuracy and speed of tagging.

    SAPO_DATA=DIRECTORY python benchmarks/many_labels.py [TASK ...] [--peer]

Tasks: conll2000 (22 labels), upos (17), xpos (49), estonian (570), brown (453). Each is trained for 5 passes at rate
0.04, seed 0, and scored on the dev file (conll2000: test). Seconds are of the processor, the best pass after the first.
With --peer: UD Greek, whole FEATS, beside the averaged perceptron of python-crfsuite, both with the same ready-made
features and 10 passes.
"""

import argparse
import dataclasses
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import sapo
from sapo.learn.records import Observer, PassRecord, State
from sapo.learn.settings import Settings
from sapo.tagger.decoding import tag_blocks
from sapo.tagger.files import read_blocks
from sapo.training.run import read_data, train_on

PASSES, RATE = 5, 0.04
TASKS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "conll2000": ("conll2000/train.txt.gz", "conll2000/test.txt.gz", {"template": "chunking"}),
    "upos": ("ud-ewt/train.conllu.gz", "ud-ewt/dev.conllu.gz", {"label": "upos"}),
    "xpos": ("ud-ewt/train.conllu.gz", "ud-ewt/dev.conllu.gz", {"label": "xpos", "template": "pos"}),
    "estonian": ("zoo/ud-estonian-ewt/train.conllu.gz", "zoo/ud-estonian-ewt/dev.conllu.gz", {"label": "feats"}),
    "brown": ("zoo/brown-pos/train.txt.gz", "zoo/brown-pos/dev.txt.gz", {}),
}


class Clock(Observer):
    """Processor seconds of each pass after the first, which may compile."""

    def __init__(self) -> None:
        self.begin = 0.0
        self.seconds: list[float] = []

    def passed(self, record: PassRecord, state: State) -> None:
        if record.epoch > 1:
            self.seconds.append(time.process_time() - self.begin)
        self.begin = time.process_time()


def measure(name: str, *, exact: bool) -> None:
    """Print one line of the table."""
    train, dev, how = TASKS[name]
    root = Path(os.environ["SAPO_DATA"])
    data = read_data(root / train, dev=root / dev, **how)
    held_out, data = data.dev, dataclasses.replace(data, dev=None)
    assert held_out is not None
    clock = Clock()
    settings = Settings(epochs=PASSES, rate=RATE, tolerance=0.0, exact=exact)
    tagger = train_on(data, settings, observers=[clock]).tagger
    score = held_out.evaluate(tagger.model.parameters).main[1]
    with tempfile.TemporaryDirectory() as room:
        path = Path(room) / "model.sapo"
        tagger.save(path)
        size = path.stat().st_size / 1e6
        begin = time.perf_counter()
        loaded = sapo.Tagger.load(path)
        load = time.perf_counter() - begin
    speed = 0.0
    for _ in range(3):
        begin = time.process_time()
        blocks = read_blocks(loaded, root / dev, **_reading(how))
        tokens = sum(len(added.names()) for _, added in tag_blocks(loaded, blocks))
        speed = max(speed, tokens / (time.process_time() - begin))
    print(
        f"| {name}{' --exact' * exact} | {len(data.labels)} | {data.encoder.features:,} | {min(clock.seconds):.2f} | "
        f"{100 * score:.2f} | {size:.1f} | {1000 * load:.0f} | {speed:,.0f} |",
        flush=True,
    )


def _reading(how: dict[str, Any]) -> dict[str, Any]:
    return {"label": how["label"]} if "label" in how else {}


def peer() -> None:
    """Print UD Greek, whole FEATS, beside python-crfsuite."""
    import pycrfsuite

    root = Path(os.environ["SAPO_DATA"]) / "zoo/ud-greek-gdt"
    parts = [list(sapo.read(root / f"{part}.conllu.gz", label="feats")) for part in ("train", "dev")]
    (X, y), (X_dev, y_dev) = ([[features(s.words) for s in part], [list(s.tags or ()) for s in part]] for part in parts)
    with tempfile.TemporaryDirectory() as room:
        begin = time.process_time()
        trainer = pycrfsuite.Trainer(algorithm="ap", verbose=False)
        trainer.set_params({"max_iterations": 10})
        for tokens, tags in zip(X, y, strict=True):
            trainer.append(tokens, tags)
        trainer.train(f"{room}/crf")
        seconds = time.process_time() - begin
        found = pycrfsuite.Tagger()
        found.open(f"{room}/crf")
        report("python-crfsuite, ap", seconds, Path(f"{room}/crf"), [found.tag(tokens) for tokens in X_dev], y_dev)
        sapo.train(list(zip(X[:50], y[:50], strict=True)), epochs=1)  # compiles
        begin = time.process_time()
        tagger = sapo.train(list(zip(X, y, strict=True)), epochs=10, tolerance=0.0)
        tagger.save(f"{room}/sapo")
        seconds = time.process_time() - begin
        report("sapo", seconds, Path(f"{room}/sapo"), tagger.tag_many(X_dev), y_dev)


def report(name: str, seconds: float, path: Path, found: Any, gold: Any) -> None:
    right = [a == b for one, other in zip(found, gold, strict=True) for a, b in zip(one, other, strict=True)]
    accuracy = 100 * sum(right) / len(right)
    print(f"| {name} | {accuracy:.2f} | {seconds:.1f} | {path.stat().st_size / 1e6:.1f} |", flush=True)


def features(words: Any) -> list[dict[str, Any]]:
    """The usual features of a tutorial: the word, its ends, its shape, its neighbors."""
    rows = []
    for i, word in enumerate(words):
        row: dict[str, Any] = {"bias": 1.0, "lower": word.lower(), "prefix": word[:3], "title": word.istitle()}
        row.update({f"suffix{n}": word[-n:] for n in (1, 2, 3, 4)})
        row.update({"digit": word.isdigit(), "upper": word.isupper()})
        row["before"] = words[i - 1].lower() if i else "<s>"
        row["after"] = words[i + 1].lower() if i + 1 < len(words) else "</s>"
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=list(TASKS), metavar="TASK")
    parser.add_argument("--exact", action="store_true", help="look at all labels")
    parser.add_argument("--peer", action="store_true", help="UD Greek beside python-crfsuite")
    arguments = parser.parse_args()
    if arguments.peer:
        print("| | accuracy | seconds | MB |\n|---|--:|--:|--:|")
        peer()
        return
    print("| task | labels | features | s a pass | score | MB | ms to load | tokens/s |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in arguments.tasks:
        measure(name, exact=arguments.exact)


if __name__ == "__main__":
    main()
