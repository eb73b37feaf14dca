"""Train a UD pipeline on a treebank, and print all scores: from raw text, and with gold words.

python benchmarks/ud.py train.conllu test.conllu [--dev dev.conllu] [--seed 0]
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from sapo.corpus.treebank import read_treebank
from sapo.evaluate.conll18 import table
from sapo.training.ud import UD


def main() -> None:
    """Train, save, load, and score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--dev")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    begin = time.process_time()

    def say(line: str) -> None:
        print(f"{time.process_time() - begin:8.1f} s  {line}", flush=True)

    trained = UD.train(given.train, dev=given.dev, seed=given.seed, progress=say)
    print(f"training: {time.process_time() - begin:.1f} s of processor time")
    with TemporaryDirectory() as directory:
        path = Path(directory) / "model.sapo"
        trained.save(path)
        print(f"file: {path.stat().st_size / 1e6:.1f} MB")
        ud = UD.load(path)
    gold = list(read_treebank(given.test))
    for name, scores in ud.evaluate(gold).items():
        words = scores["Words"].system
        print(f"\n{name}: {words:,} words\n{table(scores)}")
    begin = time.process_time()
    words = sum(len(sentence.words) for sentence in ud.annotate(gold))
    print(f"\n{words / (time.process_time() - begin):,.0f} words/s with gold tokens")


if __name__ == "__main__":
    main()
