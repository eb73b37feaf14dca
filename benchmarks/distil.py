"""How much of a network's lead a linear student keeps. Usage:

    python benchmarks/distil.py teacher NETWORK CORPUS TEACHER [--epochs 3]
    python benchmarks/distil.py label TEACHER TEXT LABELED.jsonl [--tokens 1000000]
    python benchmarks/distil.py students TEACHER LABELED.jsonl CORPUS [--part dev] [--clusters FILE ...] \\
        [--names KIND=FILE ...] [--vectors FILE] [--weight W ...] [--n N ...] [--tokens N ...] [--seeds N]

`teacher` fine-tunes a network of Hugging Face transformers (a directory with config.json, safetensors and a fast
tokenizer) as a token classifier on CORPUS/train.txt.gz, with word and tag as columns, and saves it. `label` lets it
label sentences of a text, drawn at random, with up to five candidates each; TEXT has a sentence per line, with blanks
between tokens. `students` trains with and without what the teacher said, means of three seeds, and prints which share
of the teacher's lead over words alone each student keeps, and how many times as fast it tags the same sentences.
"""

import argparse
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sapo
from sapo.corpus.scanner import read_lines
from sapo.tags.spans import loose_spans
from sapo.training.distil import draw_sentences
from sapo.training.teachers import TokenClassifier

SEEDS = 3
CANDIDATES = 5
BATCH, RATE, WARM_UP = 16, 5e-5, 0.1


def read(corpus: Path, part: str) -> list[tuple[list[str], list[str]]]:
    """Return the sentences of a part, as words and tags."""
    found = sapo.read(corpus / f"{part}.txt.gz")
    return [(list(one.words), list(one.tags or ())) for one in found]


def teach(network: Path, corpus: Path, output: Path, epochs: int) -> None:
    """Fine-tune a network: the label of a word is that of its first piece."""
    import torch
    import transformers

    torch.manual_seed(0)
    sentences = read(corpus, "train")
    labels = sorted({tag for _, tags in sentences for tag in tags})
    ids = {label: place for place, label in enumerate(labels)}
    tokenizer = transformers.AutoTokenizer.from_pretrained(network, local_files_only=True)
    model = transformers.AutoModelForTokenClassification.from_pretrained(
        network,
        local_files_only=True,
        use_safetensors=True,
        num_labels=len(labels),
        id2label=dict(enumerate(labels)),
        label2id=ids,
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    steps = epochs * -(-len(sentences) // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (WARM_UP * steps), (steps - step) / ((1 - WARM_UP) * steps))
    )
    model.train()
    random = np.random.default_rng(0)
    for epoch in range(1, epochs + 1):
        begun, total = time.process_time(), 0.0
        order = random.permutation(len(sentences)).tolist()
        for first in range(0, len(order), BATCH):
            some = [sentences[place] for place in order[first : first + BATCH]]
            pieces = tokenizer(
                [words for words, _ in some],
                is_split_into_words=True,
                truncation=True,
                max_length=256,
                padding=True,
                return_tensors="pt",
            )
            gold = torch.full(pieces["input_ids"].shape, -100)  # the other pieces of a word are not learned
            for row, (_, tags) in enumerate(some):
                last = None
                for place, word in enumerate(pieces.word_ids(row)):
                    if word is not None and word != last:
                        gold[row, place] = ids[tags[word]]
                    last = word
            loss = model(**pieces, labels=gold).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total * BATCH / len(order):.4f}, {time.process_time() - begun:.0f} s", flush=True)
    model.save_pretrained(output)
    tokenizer.save_pretrained(output)


def label(teacher: Path, text: Path, output: Path, tokens: int) -> None:
    """Write what the teacher says about sentences of a text."""
    sentences = [tuple(line.decode().split()) for _, line in read_lines(text)]
    chosen = draw_sentences(sentences, tokens, 0)
    begun = time.process_time()
    with output.open("w", encoding="utf-8") as stream:
        for words, found in zip(chosen, TokenClassifier(teacher).label(chosen, CANDIDATES), strict=True):
            answers = [{"tags": one.tags, "probability": round(one.probability, 4)} for one in found]
            stream.write(json.dumps({"tokens": words, "candidates": answers}, ensure_ascii=False) + "\n")
    count = sum(map(len, chosen))
    print(f"{count:,} tokens, {count / (time.process_time() - begun):,.0f} a second of processor time")


def students(given: argparse.Namespace) -> None:
    """Print the scores of the teacher and of its students."""
    judged = read(given.corpus, given.part)
    sentences, count = [words for words, _ in judged], sum(len(words) for words, _ in judged)
    lines = [line for _, line in read_lines(given.labeled)]
    clusters, names = given.clusters, dict(one.split("=", 1) for one in given.names)
    knowledge: dict[str, Any] = {"clusters": clusters, "names": names, "vectors": given.vectors}

    def speed(tag: Callable[[Sequence[Sequence[str]]], Any]) -> tuple[Any, float]:
        begun = time.process_time()
        found = tag(sentences)
        return found, count / (time.process_time() - begun)

    network = TokenClassifier(given.teacher)
    said, slow = speed(lambda some: [found[0].tags for found in network.label(some, 1)])
    lead = f1(judged, said)
    print(f"teacher: F1 {lead:.2f}, {slow:,.0f} tokens a second")

    def show(name: str, train: Callable[..., sapo.Tagger]) -> float:
        scores, speeds, begun = [], [], time.process_time()
        for seed in range(given.seeds):
            tagger = train(seed=seed, template="ner")
            tagger.tag_many(sentences)  # kernels are loaded
            tags, fast = speed(tagger.tag_many)
            scores.append(f1(judged, tags))
            speeds.append(fast / slow)
        mean, took = statistics.mean(scores), (time.process_time() - begun) / given.seeds
        share = "" if alone is None else f", {100 * (mean - alone) / (lead - alone):.0f} % of the lead"
        shown = " ".join(f"{one:.1f}" for one in scores)
        print(f"{name}: F1 {mean:.2f} ({shown}){share}, {statistics.median(speeds):.0f} x, {took:.0f} s", flush=True)
        return mean

    gold, alone = given.corpus / "train.txt.gz", None
    alone = show("words alone", lambda **how: sapo.train(gold, calibrate=False, **how))
    known = {key: value for key, value in knowledge.items() if value}
    if known:
        show(f"with {', '.join(known)}", lambda **how: sapo.train(gold, calibrate=False, **known, **how))
    with tempfile.TemporaryDirectory() as room:
        some = Path(room, "some.jsonl")
        for tokens, weight, n in itertools.product(given.tokens or [None], given.weight, given.n):
            seen = 0
            with some.open("wb") as stream:
                for line in lines:
                    if tokens is not None and seen >= tokens:
                        break
                    seen += len(json.loads(line)["tokens"])
                    stream.write(line + b"\n")

            def distilled(weight: float = weight, n: int = n, **how: Any) -> sapo.Tagger:
                return sapo.distil(some, train=gold, weight=weight, nbest=n, **known, **how)

            show(f"{seen:,} tokens, weight {weight:g}, n {n}", distilled)


def f1(judged: Sequence[tuple[list[str], list[str]]], found: Sequence[Sequence[str]]) -> float:
    """Return the F1 of spans."""
    right = said = gold = 0
    for (_, tags), own in zip(judged, found, strict=True):
        true, mine = set(loose_spans(tags)), set(loose_spans(own))
        right, said, gold = right + len(true & mine), said + len(mine), gold + len(true)
    return 200 * right / (said + gold)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    one = commands.add_parser("teacher")
    for name in ("network", "corpus", "output"):
        one.add_argument(name, type=Path)
    one.add_argument("--epochs", type=int, default=3)
    two = commands.add_parser("label")
    for name in ("teacher", "text", "output"):
        two.add_argument(name, type=Path)
    two.add_argument("--tokens", type=int, default=1_000_000)
    three = commands.add_parser("students")
    for name in ("teacher", "labeled", "corpus"):
        three.add_argument(name, type=Path)
    three.add_argument("--part", default="dev")
    three.add_argument("--seeds", type=int, default=SEEDS)
    three.add_argument("--clusters", nargs="*", default=[])
    three.add_argument("--names", nargs="*", default=[])
    three.add_argument("--vectors")
    three.add_argument("--weight", nargs="*", type=float, default=[0.3])
    three.add_argument("--n", nargs="*", type=int, default=[1])
    three.add_argument("--tokens", nargs="*", type=int)
    given = parser.parse_args()
    if given.what == "teacher":
        teach(given.network, given.corpus, given.output, given.epochs)
    elif given.what == "label":
        label(given.teacher, given.text, given.output, given.tokens)
    else:
        students(given)


if __name__ == "__main__":
    main()
