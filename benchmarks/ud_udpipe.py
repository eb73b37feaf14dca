"""Train UDPipe 1 and sapo on the same treebank, and print scores, training time and speed of both.

python benchmarks/ud_udpipe.py train.conllu dev.conllu test.conllu [--model udpipe.model]

Needs `pip install ufal.udpipe`. UDPipe has its default settings, and chooses on the dev file, as sapo does. Training it
takes an hour or more; --model keeps the result, and reads it if it is there. Both read the same sentences: blanks come
from the text of a sentence where MISC does not give them, as otherwise UDPipe could not learn to cut text.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import ufal.udpipe as udpipe

from sapo.corpus.treebank import UDSentence, raw_text, read_treebank
from sapo.evaluate.conll18 import score
from sapo.training.ud import UD

Annotate = Callable[[str], str]  # a text, or CoNLL-U, to CoNLL-U


def read(path: str) -> udpipe.Sentences:
    """Return the sentences of a file as UDPipe reads them."""
    reader, error = udpipe.InputFormat.newConlluInputFormat(), udpipe.ProcessingError()
    reader.setText("".join(sentence.to_conllu() for sentence in read_treebank(path)))
    sentences, sentence = udpipe.Sentences(), udpipe.Sentence()
    while reader.nextSentence(sentence, error):
        sentences.append(sentence)
        sentence = udpipe.Sentence()
    if error.occurred():
        raise SystemExit(error.message)
    return sentences


def train_udpipe(train: str, dev: str, path: Path) -> None:
    """Train UDPipe with its defaults, and save the model."""
    error, default = udpipe.ProcessingError(), udpipe.Trainer.DEFAULT
    given = read(train), read(dev)
    begin = time.process_time()
    model = udpipe.Trainer.train("morphodita_parsito", *given, default, default, default, error)
    if error.occurred():
        raise SystemExit(error.message)
    print(f"UDPipe: trained in {time.process_time() - begin:.0f} s of processor time", flush=True)
    path.write_bytes(model if isinstance(model, bytes) else model.encode("latin-1"))


def annotate(model: udpipe.Model, source: str, text: str) -> str:
    """Return the CoNLL-U that UDPipe makes of a text; `source` is how it reads it."""
    default = udpipe.Pipeline.DEFAULT
    return str(udpipe.Pipeline(model, source, default, default, "conllu").process(text))


def report(name: str, gold: list[UDSentence], raw: Annotate, words: Annotate) -> None:
    """Print the scores of a system from raw text and with gold words, and its speed from raw text."""
    text = raw_text(gold)
    raw(text)  # what is only slow the first time
    begin = time.process_time()
    found = {"raw text": raw(text)}
    seconds = time.process_time() - begin
    found["gold words"] = words("".join(sentence.to_conllu() for sentence in gold))
    for kind, conllu in found.items():
        with TemporaryDirectory() as directory:
            path = Path(directory) / "system.conllu"
            path.write_text(conllu, "utf-8")
            scores = score(gold, list(read_treebank(path)))
        print(f"{name}, {kind}:", *(f"{metric} {100 * one.f1:.2f}" for metric, one in scores.items()))
    print(f"{name}: {sum(len(one.words) for one in gold) / seconds:,.0f} words/s from raw text", flush=True)


def main() -> None:
    """Train both, and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("train", "dev", "test"):
        parser.add_argument(name)
    parser.add_argument("--model", type=Path, default=Path("udpipe.model"))
    parser.add_argument("--seed", type=int, default=0, help="of sapo")
    given = parser.parse_args()
    gold = list(read_treebank(given.test))

    begin = time.process_time()
    ud = UD.train(given.train, dev=given.dev, seed=given.seed)
    print(f"sapo: trained in {time.process_time() - begin:.0f} s of processor time", flush=True)

    def again(_: str) -> str:
        return "".join(sentence.to_conllu() for sentence in ud.annotate(gold))

    report("sapo", gold, lambda text: ud(text).to_conllu(), again)
    if not given.model.exists():
        train_udpipe(given.train, given.dev, given.model)
    peer = udpipe.Model.load(str(given.model))
    report(
        "UDPipe",
        gold,
        lambda text: annotate(peer, "tokenize", text),
        lambda text: annotate(peer, "conllu", text),
    )


if __name__ == "__main__":
    main()
