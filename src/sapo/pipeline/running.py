"""A column file and steps in, the file with one more column for each step out."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus import LABEL, Block, block_sentences, format_of, read_blocks
from sapo.corpus.columns import name_columns
from sapo.corpus.files import check_writable, show_path, write_file
from sapo.encode.strings import StringTable
from sapo.errors import SapoError
from sapo.kernels.types import Ints
from sapo.learn.settings import AUTO
from sapo.pipeline.lessons import CrossBlock, Lesson, plan, read_lesson, taught
from sapo.pipeline.steps import ReadyStep, Step, check_names
from sapo.pipeline.watching import Watcher
from sapo.pipeline.widening import sentences_of, widened, with_column
from sapo.tagger.tagger import Tagger
from sapo.training.plan import make_settings


@dataclass(frozen=True, slots=True)
class Report:
    """What a pipeline has done."""

    columns: tuple[str, ...]  # of the file that was written, in its order; the gold tag is called 'label'
    sentences: int
    tokens: int
    left_out: dict[str, tuple[int, ...]]  # of a trained step: how many training sentences each block did without


def run_pipeline(
    source: str | Path,
    target: str | Path,
    steps: Iterable[Step],
    *,
    columns: Sequence[str] | None = None,
    labelled: bool = True,
    format: str | None = None,
    cross: int = 0,
    threads: int = 1,
    watcher: Watcher | None = None,
    **settings: Any,
) -> Report:
    """Add a column for each step, which the steps after it may use.

    The last of several columns of `source` is the gold tag, unless `labelled` is false, and stays last. With `cross`,
    steps that are trained on the spot tag in so many blocks, each by a model that was trained without what overlaps
    with the block; without it, training data that overlaps with `source` is refused. `settings` are those of
    `sapo.train` (epochs, seed ...), for these steps.
    """
    watcher = watcher or Watcher()
    steps = tuple(steps)
    _check_options(steps, cross, threads, settings)
    check_writable(target)
    first, blocks = _read_input(source, columns, labelled, format)
    check_names(steps, first.columns, first.name)
    have = [name for name in first.columns if name != LABEL]
    teachers = []
    for step in steps:
        teachers.append(_teacher(step, have, first.name))
        have.append(step.column)
    plans: list[list[CrossBlock]] = [[] for _ in steps]
    batches: Iterable[list[Block]] = ([block] for block in blocks)  # ready models take any length, piece by piece
    if any(isinstance(teacher, Lesson) for teacher in teachers):
        held = list(blocks)  # lessons need to know all of the input
        words = [sentence.words for block in held for sentence in block_sentences(block)]
        plans = [
            plan(teacher, words, cross, first.name, watcher) if isinstance(teacher, Lesson) else []
            for teacher in teachers
        ]
        batches = [held]
    sentences = tokens = 0
    with write_file(target) as stream:
        for batch in batches:
            for step, teacher, cross_blocks in zip(steps, teachers, plans, strict=True):
                if isinstance(teacher, Lesson):
                    pairs = taught(teacher, cross_blocks, step.column, watcher, **settings)
                else:
                    pairs = iter([(teacher, [CrossBlock(1, 0, sum(map(_count, batch)), ())])])
                batch = _tag(batch, step.column, pairs, threads)
            for block in batch:
                stream.write(widened(block))
                sentences += _count(block)
                tokens += int(block.offsets[-1])
            watcher.tagged(tokens)
    return Report(
        (*have, LABEL) if LABEL in first.columns else tuple(have),
        sentences,
        tokens,
        {
            step.column: tuple(len(part.without) for part in parts)
            for step, parts in zip(steps, plans, strict=True)
            if parts
        },
    )


def _check_options(steps: tuple[Step, ...], cross: int, threads: int, settings: dict[str, Any]) -> None:
    if not steps:
        raise SapoError("a pipeline needs a step, such as pos=pos.sapo")
    if not isinstance(cross, Integral) or cross < 0:
        raise SapoError(f"cross must be a number of blocks, 0 or more, not {cross}")
    if cross and all(isinstance(step, ReadyStep) for step in steps):
        raise SapoError("cross is for steps that are trained on the spot, and these are all ready models")
    if not isinstance(threads, Integral) or threads < 1:
        raise SapoError(f"threads must be at least 1, not {threads}")
    make_settings({key: value for key, value in settings.items() if (key, value) != ("rate", AUTO)})


def _read_input(
    source: str | Path, columns: Sequence[str] | None, labelled: bool, format: str | None
) -> tuple[Block, Iterator[Block]]:
    chosen = format_of(source, format)
    if chosen != "columns":
        raise SapoError(
            f"{show_path(source)}: a pipeline adds columns to a column file, and this is {chosen}; "
            "make one with sapo convert"
        )
    blocks = read_blocks(source, format=chosen, labelled=False)
    leading = []  # what stands before the first sentence is copied, too
    for block in blocks:
        leading.append(block)
        if _count(block):
            break
    else:
        raise SapoError(f"{show_path(source)}: holds no sentence")
    first = leading[0]
    count = len(first.columns)
    if columns is not None and len(columns) != count:
        raise SapoError(
            f"{first.name}: has {count} column{'s' * (count > 1)}, but {len(columns)} are named ({', '.join(columns)})"
        )
    names = name_columns(count, None, columns, labelled and count > 1, first.name)
    if LABEL in names[:-1]:
        raise SapoError(f"{first.name}: the gold tag must be the last column, not column {names.index(LABEL)}")
    named = (dataclasses.replace(block, columns=names) for block in itertools.chain(leading, blocks))
    return dataclasses.replace(first, columns=names), named


def _teacher(step: Step, have: Sequence[str], source: str) -> Tagger | Lesson:
    """What a step tags with. It must find its columns in the input or among those of the steps before it."""
    teacher: Tagger | Lesson
    if isinstance(step, ReadyStep):
        teacher, needs, name = (tagger := Tagger.load(step.model)), tagger.columns, str(step.model)
        if not needs:
            raise SapoError(f"{name}: was trained on ready-made features and cannot tag a file; use it from Python")
    else:
        teacher = read_lesson(step)
        needs, name = teacher.needs, teacher.name
    for column in needs:
        if column not in have:
            raise SapoError(
                f"step '{step.column}': {name} needs the column '{column}', but {source} and the steps before have "
                f"only {', '.join(have)} (the gold tag does not count)"
            )
    return teacher


def _tag(
    blocks: Sequence[Block], column: str, pairs: Iterator[tuple[Tagger, list[CrossBlock]]], threads: int
) -> list[Block]:
    """The blocks with a column of tags, each sentence tagged by the tagger of its cross-block."""
    sentence_ends = [0, *itertools.accumulate(map(_count, blocks))]
    tags: list[Ints] = [np.full(int(block.offsets[-1]), -1, np.int32) for block in blocks]
    labels = StringTable()
    for tagger, parts in pairs:
        numbers = labels.add(tagger.labels)
        pieces = []
        for part in parts:
            for at, (block, base) in enumerate(zip(blocks, sentence_ends[:-1], strict=True)):
                first, last = max(part.first - base, 0), min(part.last - base, _count(block))
                if first < last:
                    pieces.append((at, int(block.offsets[first]), sentences_of(block, first, last)))
        found = tagger.tag_blocks((piece for _, _, piece in pieces), threads=threads)
        for (at, begin, _), (_, ids) in zip(pieces, found, strict=True):
            tags[at][begin : begin + len(ids)] = numbers[ids]
    names = labels.strings()
    return [with_column(block, column, ids, names) for block, ids in zip(blocks, tags, strict=True)]


def _count(block: Block) -> int:
    return len(block.offsets) - 1
