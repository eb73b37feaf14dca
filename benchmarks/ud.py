"""Train a UD pipeline on a treebank, and print all scores: from raw text, and with gold words.

python benchmarks/ud.py train.conllu test.conllu [--dev dev.conllu] [--seed 0]

With --gold-tags, train and score the parser only, with the tags of the treebank.
"""

import argparse
import resource
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from sapo.corpus.treebank import raw_text, read_treebank
from sapo.evaluate.conll18 import table
from sapo.training.parser import Parser, Tree, TreeSentence
from sapo.training.ud import UD, tree_sentences

COLUMNS = ("form", "upos", "xpos", "feats")


def main() -> None:
    """Train, save, load, and score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--dev")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gold-tags", action="store_true")
    given = parser.parse_args()
    if given.gold_tags:
        parse_gold_tags(given.train, given.test, given.seed)
        return
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
    text = raw_text(gold)
    for name, work in (("with gold tokens", lambda: list(ud.annotate(gold))), ("from raw text", lambda: ud(text))):
        begin = time.process_time()
        words = sum(len(sentence.words) for sentence in work())
        print(f"{words / (time.process_time() - begin):,.0f} words/s {name}")


def parse_gold_tags(train: str, test: str, seed: int) -> None:
    """Train a parser with gold tags, and print its LAS, times and memory."""
    learned, judged = _gold_sentences(train), _gold_sentences(test)
    begin = time.process_time()
    parser = Parser.train(learned, seed=seed)
    print(f"training: {time.process_time() - begin:.1f} s of processor time")
    begin = time.process_time()
    las = parser.las(judged)
    speed = sum(map(len, judged)) / (time.process_time() - begin)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"seed {seed}: LAS {100 * las:.2f}; {speed:,.0f} words/s; {memory:,.0f} MB")


def _gold_sentences(path: str) -> list[TreeSentence]:
    sentences = list(read_treebank(path))
    columns = ([[getattr(word, name) for word in one.words] for one in sentences] for name in COLUMNS)
    trees = [Tree(tuple(one.heads), tuple(word.deprel for word in one.words)) for one in sentences]
    words, upos, xpos, feats = columns
    return tree_sentences(words, upos, xpos, feats, trees)


if __name__ == "__main__":
    main()
