"""Train a second pass, which sees what the first one tagged the same words nearby (features/repetition.py).

The training sentences are cut into parts. Each is tagged by a first pass that learned the others; these held-out tags
make the column of the training data, and those of the whole first pass that of the dev data. The second pass then
learns as any model does, with the settings of the first. The model keeps both passes.

To find out whether this gains (`auto`), second passes that have not learned a part are judged on it, next to the
first passes that tagged it. It costs about ten times the training of one pass, and five times if it is simply `on`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from sapo.corpus.blocks import Block
from sapo.errors import DataError
from sapo.evaluate.significance import difference_error
from sapo.features.building import build_encoder
from sapo.features.encoded import subset
from sapo.features.encoder import TemplateEncoder
from sapo.features.repetition import Repetition, column_names
from sapo.features.strings import StringTable
from sapo.features.template import parse_templates
from sapo.jit.arrays import Longs
from sapo.tagger.decoding import best_tags, encoded_blocks, label_names, with_repeated_column
from sapo.tagger.model import Model
from sapo.training.choice import unseen_sentences
from sapo.training.data import TrainingData, encoded_dev_set, word_column

PARTS = 5  # of the training sentences
CLEARLY = 2.0  # standard errors by which the second pass must be better
FEWEST_SENTENCES, MOST_TOKENS = 500, 300_000  # to try it: fewer tell nothing, and more take minutes
FEWEST_REPEATED = 0.1  # share of the tokens in spans whose word is tagged nearby as a span, too

Learn = Callable[[TrainingData], Model]
Say = Callable[[str], None]


def with_second_pass(
    data: TrainingData, learn_first: Callable[[], Model], learn_part: Learn, *, try_out: bool, min_count: int, say: Say
) -> tuple[TrainingData, Model | None]:
    """Return the data of the second pass, and the model of the first; the same data and None if it is not worth it.

    `learn_part` learns some of the sentences. With `try_out`, the second pass must gain on held-out sentences.
    """
    if data.texts is None or not isinstance(data.encoder, TemplateEncoder):
        raise DataError("repetition: needs words, not ready-made features; leave it out")
    if data.corpus.sentences < PARTS:
        raise DataError(f"repetition: needs at least {PARTS} sentences, found {data.corpus.sentences}; leave it out")
    if try_out and not _can_be_tried(data):
        say("repetition: off (tried only with spans, all tags known, and 500 sentences to 300,000 tokens)")
        return _without_texts(data), None
    blocks = data.texts.train
    parts = cut_parts(blocks, PARTS)
    firsts = [learn_part(data.with_corpus(subset(data.corpus, others))) for others in _others(parts)]
    tags = [
        name
        for model, part in zip(firsts, parts, strict=True)
        for name in label_names(model, best_tags(model, subset(data.corpus, part)))
    ]
    name = _column_name(blocks[0])
    widened = list(with_repeated_column(_with_tags(blocks, tags), word_column(blocks[0]), name))
    if try_out and (share := _repeated_share(widened, tags, name)) < FEWEST_REPEATED:
        say(f"repetition: off ({100 * share:.0f} % of the words in spans are in a span nearby)")
        return _without_texts(data), None
    second = _encoded(data, widened, name, min_count)
    if try_out:
        gain, error = _gain(data, second, firsts, parts, learn_part)
        chosen = gain > CLEARLY * error
        say(f"repetition: {'on' if chosen else 'off'} ({100 * gain:+.2f} F1 on held-out sentences, ±{100 * error:.2f})")
        if not chosen:
            return _without_texts(data), None
    first = learn_first()
    if data.dev is not None:
        tagged = (
            (block, label_names(first, best_tags(first, corpus)))
            for block, corpus in encoded_blocks(first, data.texts.dev)
        )
        dev = with_repeated_column(tagged, word_column(blocks[0]), name)
        assert isinstance(second.encoder, TemplateEncoder)
        second = replace(second, dev=encoded_dev_set(second.encoder, dev, data.gold))
    return second, first


def cut_parts(blocks: Sequence[Block], parts: int) -> list[Longs]:
    """Return the numbers of the sentences of each part: runs of about equal length, of whole documents if possible."""
    starts, before = [], None
    for block in blocks:
        starts.append(block.document_starts(before))
        before = block
    begins = np.flatnonzero(np.concatenate(starts))
    count = sum(map(len, starts))
    edges = [count * number // parts for number in range(1, parts)]
    if len(begins) >= 2 * parts:
        edges = [int(begins[np.argmin(np.abs(begins - edge))]) for edge in edges]
    return [part for part in np.split(np.arange(count), sorted(set(edges) - {0})) if len(part)]


def _others(parts: Sequence[Longs]) -> Iterator[Longs]:
    for left_out in range(len(parts)):
        yield np.concatenate([part for number, part in enumerate(parts) if number != left_out])


def _with_tags(blocks: Iterable[Block], tags: Sequence[str]) -> Iterator[tuple[Block, Sequence[str]]]:
    """Yield each block with its own tags."""
    begin = 0
    for block in blocks:
        end = begin + int(block.offsets[-1])
        yield block, tags[begin:end]
        begin = end


def _column_name(first: Block) -> str:
    name = "repeated"
    while not set(column_names(name)).isdisjoint(first.columns):
        name += "_"
    return name


def _encoded(data: TrainingData, blocks: Sequence[Block], name: str, min_count: int) -> TrainingData:
    """Return the data with the features that the column of the blocks gives."""
    assert isinstance(data.encoder, TemplateEncoder)
    templates, repetition = data.encoder.templates, Repetition()
    known = templates.knowledge
    names = column_names(name)
    columns = {**known.columns, **dict.fromkeys(names, repetition)}
    known = replace(known, words=word_column(blocks[0]), columns=columns)
    lines = [line for one in names for line in repetition.lines(one)]
    text = "\n".join([templates.text.rstrip("\n"), *lines, ""])
    parsed = parse_templates(text, templates.file_columns, knowledge=known)
    encoder, corpus = build_encoder(blocks, parsed, StringTable(), min_count=min_count)
    old = data.corpus
    corpus = replace(corpus, gold=old.gold, importance=old.importance, allowed=old.allowed)
    return replace(data.with_corpus(corpus), encoder=encoder, texts=None)


def _without_texts(data: TrainingData) -> TrainingData:
    return replace(data, texts=None)


def _can_be_tried(data: TrainingData) -> bool:
    corpus = data.corpus
    known = bool((corpus.gold >= 0).all())
    return data.spans and known and corpus.sentences >= FEWEST_SENTENCES and corpus.tokens <= MOST_TOKENS


def _repeated_share(blocks: Iterable[Block], tags: Sequence[str], name: str) -> float:
    """Return the share of the words that are tagged as parts of spans, and are so nearby, too."""
    values: list[str] = []
    for block in blocks:
        data, starts, ends = block.made[name]
        values += [data[begin:end].tobytes().decode() for begin, end in zip(starts, ends, strict=True)]
    spans = [value not in ("", "O") for value, tag in zip(values, tags, strict=True) if tag != "O"]
    return sum(spans) / max(1, len(spans))


def _gain(
    data: TrainingData, second: TrainingData, firsts: Sequence[Model], parts: Sequence[Longs], learn_part: Learn
) -> tuple[float, float]:
    """Return by how much the second pass is better on parts that were not learned, and the standard error of that."""
    gains, errors = [], []
    for first, part, others in zip(firsts, parts, _others(parts), strict=True):
        model = learn_part(second.with_corpus(subset(second.corpus, others)))
        one, two = (
            unseen_sentences(own, part).count(passed.parameters) for own, passed in ((data, first), (second, model))
        )
        gains.append(two.f1 - one.f1)
        errors.append(difference_error(two, one))
    return sum(gains) / len(gains), math.hypot(*errors) / len(errors)
