"""Train the taggers of a step, so that each tags only sentences that it was not trained on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sapo.corpus import Sentence, block_from_sentences, read
from sapo.encode.presets import template_text
from sapo.encode.template import parse_templates
from sapo.errors import SapoError
from sapo.pipeline.overlap import Words, left_out
from sapo.pipeline.steps import TrainedStep
from sapo.pipeline.watching import Watcher
from sapo.tagger.tagger import Tagger
from sapo.training.data import default_template
from sapo.training.data_warnings import warn_of
from sapo.training.plan import make_plan
from sapo.training.run import start

MANY = 10  # number of blocks that messages recommend


@dataclass(frozen=True, slots=True)
class StepData:
    """The training data of a step."""

    name: str  # the names of its files
    sentences: Sequence[Sentence]
    template: str | Path
    needs: tuple[str, ...]  # the columns that its features use


@dataclass(frozen=True, slots=True)
class CrossBlock:
    """The sentences `first`, ..., `last` - 1 of the input, and the training sentences that overlap with them."""

    number: int  # counted from 1
    first: int
    last: int
    without: tuple[int, ...]


def read_step_data(step: TrainedStep) -> StepData:
    """Read all files of a step; their label is the last column, or where the format has it.

    Raises SapoError if a file has no sentences, or not the columns of the first one.
    """
    name = ",".join(map(str, step.files))
    sentences: list[Sentence] = []
    for path in step.files:
        before = len(sentences)
        sentences.extend(read(path))
        if len(sentences) == before:
            raise SapoError(f"{path}: has no sentences")
        expected, found = list(sentences[0].columns), list(sentences[before].columns)
        if found != expected:
            raise SapoError(
                f"{path}: has the columns {', '.join(found)} before the label, but {step.files[0]} has "
                f"{', '.join(expected)}"
            )
    block = block_from_sentences(sentences, name)
    # chosen once, for all sentences, because the models of all blocks must have the same features
    template = step.template or default_template(block)
    text, source = template_text(template)
    return StepData(name, sentences, template, parse_templates(text, block.columns, source).columns)


def cut(sentences: int, blocks: int) -> list[range]:
    """Cut a number of sentences into consecutive blocks of nearly equal size.

    >>> cut(5, 2)
    [range(0, 2), range(2, 5)]
    """
    return [range(sentences * i // blocks, sentences * (i + 1) // blocks) for i in range(blocks)]


def plan_blocks(data: StepData, words: Sequence[Words], cross: int, source: str, watcher: Watcher) -> list[CrossBlock]:
    """Return the blocks of the input, `cross` of them.

    If `cross` is 0 there is one block, and SapoError is raised if any training sentence overlaps with it. SapoError is
    also raised if nothing is left to train on for some block.
    """
    watcher.say(f"comparing {len(data.sentences):,} sentences of {data.name} with {len(words):,} of {source}")
    if cross > len(words):
        raise SapoError(f"{source}: has {len(words)} sentences, which cannot be cut into {cross} blocks")
    ranges = cut(len(words), cross or 1)
    overlapping = left_out([sentence.words for sentence in data.sentences], [words[r.start : r.stop] for r in ranges])
    if not cross and overlapping[0]:
        example = " ".join(data.sentences[overlapping[0][0]].words)
        raise SapoError(
            f"{data.name}: {len(overlapping[0]):,} of {len(data.sentences):,} sentences overlap with {source}, "
            f"the first is '{example:.60}'; use --cross {MANY}, or --cross 1 to train without them"
        )
    for number, without in enumerate(overlapping, 1):
        if len(without) == len(data.sentences):
            raise SapoError(
                f"{data.name}: all sentences overlap with block {number} of {source}, none is left to train on; "
                f"use --cross with more than {len(ranges)} blocks"
            )
    return [CrossBlock(i, r.start, r.stop, o) for i, (r, o) in enumerate(zip(ranges, overlapping, strict=True), 1)]


def trained_taggers(
    data: StepData, blocks: Sequence[CrossBlock], column: str, watcher: Watcher, **settings: Any
) -> Iterator[tuple[Tagger, list[CrossBlock]]]:
    """Train and yield one tagger after another, each with the blocks that it tags.

    Blocks that leave out the same training sentences share a tagger.
    """
    groups: dict[tuple[int, ...], list[CrossBlock]] = {}
    for block in blocks:
        groups.setdefault(block.without, []).append(block)
    for without, members in groups.items():
        which = ", ".join(str(member.number) for member in members)
        what = f"{column}, block {which} of {len(blocks)}" if len(members) < len(blocks) else column
        left = set(without)
        sentences = [sentence for number, sentence in enumerate(data.sentences) if number not in left]
        watcher.say(
            f"{what}: training on {len(sentences):,} sentences, {len(left):,} left out because they overlap "
            f"with the {sum(block.last - block.first for block in members):,} to tag"
        )
        watcher.training(what)
        plan = make_plan(sentences, template=data.template, **settings)
        outcome = start(plan, check=partial(warn_of, plan)).finish([watcher])
        if outcome.stop.interrupted:  # training keeps what it has learned, but half a file is of no use
            raise KeyboardInterrupt
        yield outcome.tagger, members
