"""Training files in, taggers out, each for those sentences of the input that it never saw."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from sapo.training.plan import make_plan
from sapo.training.run import start

MANY = 10  # blocks to advise


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a step is trained on."""

    name: str  # of its files
    sentences: Sequence[Sentence]
    template: str | Path
    needs: tuple[str, ...]  # columns


@dataclass(frozen=True, slots=True)
class CrossBlock:
    """Sentences of the input from `first` to before `last`, and the training sentences that overlap with them."""

    number: int  # from 1
    first: int
    last: int
    without: tuple[int, ...]


def read_lesson(step: TrainedStep) -> Lesson:
    """Read all files of a step; the label is the last column, or as the format has it."""
    name = ",".join(map(str, step.files))
    sentences: list[Sentence] = []
    for path in step.files:
        before = len(sentences)
        sentences.extend(read(path))
        if len(sentences) == before:
            raise SapoError(f"{path}: holds no sentence")
        expected, found = list(sentences[0].columns), list(sentences[before].columns)
        if found != expected:
            raise SapoError(
                f"{path}: has the columns {', '.join(found)} before the label, but {step.files[0]} has "
                f"{', '.join(expected)}"
            )
    block = block_from_sentences(sentences, name)
    # chosen once, on all sentences: the models of all blocks must have the same features
    template = step.template or default_template(block)
    text, source = template_text(template)
    return Lesson(name, sentences, template, parse_templates(text, block.columns, source).columns)


def cut(sentences: int, blocks: int) -> list[range]:
    """Cut so many sentences into blocks that follow each other and are of nearly equal size.

    >>> cut(5, 2)
    [range(0, 2), range(2, 5)]
    """
    return [range(sentences * i // blocks, sentences * (i + 1) // blocks) for i in range(blocks)]


def plan(lesson: Lesson, words: Sequence[Words], cross: int, source: str, watcher: Watcher) -> list[CrossBlock]:
    """The blocks of the input; without `cross` one, with which nothing may overlap."""
    watcher.say(f"comparing {len(lesson.sentences):,} sentences of {lesson.name} with {len(words):,} of {source}")
    if cross > len(words):
        raise SapoError(f"{source}: has {len(words)} sentences, which cannot be cut into {cross} blocks")
    ranges = cut(len(words), cross or 1)
    overlapping = left_out([sentence.words for sentence in lesson.sentences], [words[r.start : r.stop] for r in ranges])
    if not cross and overlapping[0]:
        example = " ".join(lesson.sentences[overlapping[0][0]].words)
        raise SapoError(
            f"{lesson.name}: {len(overlapping[0]):,} of {len(lesson.sentences):,} sentences overlap with {source}, "
            f"the first is '{example:.60}'; use --cross {MANY}, or --cross 1 to train without them"
        )
    for number, without in enumerate(overlapping, 1):
        if len(without) == len(lesson.sentences):
            raise SapoError(
                f"{lesson.name}: all sentences overlap with block {number} of {source}, none is left to train on; "
                f"use --cross with more than {len(ranges)} blocks"
            )
    return [CrossBlock(i, r.start, r.stop, o) for i, (r, o) in enumerate(zip(ranges, overlapping, strict=True), 1)]


def taught(
    lesson: Lesson, blocks: Sequence[CrossBlock], column: str, watcher: Watcher, **settings: Any
) -> Iterator[tuple[Tagger, list[CrossBlock]]]:
    """One tagger after the other, each with the blocks it is for. Blocks that leave out the same share one."""
    groups: dict[tuple[int, ...], list[CrossBlock]] = {}
    for block in blocks:
        groups.setdefault(block.without, []).append(block)
    for without, members in groups.items():
        which = ", ".join(str(member.number) for member in members)
        what = f"{column}, block {which} of {len(blocks)}" if len(members) < len(blocks) else column
        left = set(without)
        sentences = [sentence for number, sentence in enumerate(lesson.sentences) if number not in left]
        watcher.say(
            f"{what}: training on {len(sentences):,} sentences, {len(left):,} left out because they overlap "
            f"with the {sum(block.last - block.first for block in members):,} to tag"
        )
        watcher.training(what)
        outcome = start(make_plan(sentences, template=lesson.template, **settings)).finish([watcher])
        if outcome.stop.interrupted:  # training keeps what it has; a half-done file is no use
            raise KeyboardInterrupt
        yield outcome.tagger, members
