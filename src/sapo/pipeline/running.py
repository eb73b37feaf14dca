"""Run a pipeline: add a column to a column file, JSONL or text for each step."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus import LABEL, Block, block_sentences, format_of, read, read_blocks
from sapo.corpus.columns import name_columns
from sapo.corpus.files import check_writable, show_path, write_file
from sapo.corpus.labelled import first_and_all
from sapo.encode.strings import StringTable
from sapo.errors import SapoError
from sapo.kernels.types import Ints
from sapo.learn.settings import AUTO
from sapo.pipeline.step_data import CrossBlock, StepData, plan_blocks, read_step_data, trained_taggers
from sapo.pipeline.steps import ReadyStep, Step, check_names
from sapo.pipeline.watching import Watcher
from sapo.pipeline.widening import sentences_of, widened, widened_records, with_column
from sapo.tagger.recognise import refuse_text
from sapo.tagger.tagger import Tagger
from sapo.text import Splitter, learn_rules
from sapo.training.plan import make_settings


@dataclass(frozen=True, slots=True)
class Report:
    """A summary of what a pipeline did."""

    columns: tuple[str, ...]  # the columns that were written, in order; the gold tag is called 'label'
    sentences: int
    tokens: int
    left_out: dict[str, tuple[int, ...]]  # by trained step: the number of training sentences left out for each block


def run_pipeline(
    source: str | Path,
    target: str | Path,
    steps: Iterable[Step],
    *,
    columns: Sequence[str] | None = None,
    labelled: bool = True,
    format: str | None = None,
    to: str | None = None,
    cross: int = 0,
    threads: int = 1,
    watcher: Watcher | None = None,
    **settings: Any,
) -> Report:
    """Read `source`, add a column for each step, and write the result to `target`.

    Each step may use the columns of the steps before it. If `source` is a column file with several columns, the last
    one is the gold tag, and stays last; `labelled=False` says that there is no gold tag. JSONL gets a key for each
    step. Text (`format="text"`) is cut as the first step needs it, and becomes columns, or JSONL: `to`, or the file
    extension of `target`.

    Steps that are trained as part of the pipeline must not tag sentences that they were trained on. With `cross`, they
    tag `source` in that many blocks, each with a model that was trained without the sentences that overlap with the
    block. Otherwise, SapoError is raised if the training data overlaps with `source`. `settings` are options of
    `sapo.train` (epochs, seed ...) for these steps.

    >>> import tempfile
    >>> from sapo.pipeline import parse_step
    >>> temporary = tempfile.TemporaryDirectory()
    >>> directory = Path(temporary.name)
    >>> _ = (directory / "train.txt").write_text("no DT\\nrain NN\\n\\n")
    >>> _ = (directory / "input.txt").write_text("rain\\n\\n")
    >>> step = parse_step(f"pos={directory / 'train.txt'}")
    >>> report = run_pipeline(directory / "input.txt", directory / "output.txt", [step], epochs=2)
    >>> report.columns, (directory / "output.txt").read_text()
    (('word', 'pos'), 'rain NN\\n\\n')
    >>> temporary.cleanup()
    """
    watcher = watcher or Watcher()
    steps = tuple(steps)
    _check_options(steps, cross, threads, settings)
    check_writable(target)
    chosen = format_of(source, format)
    if chosen == "columns":
        first, blocks = _read_columns(source, columns, labelled)
        if format is None:
            _refuse_text(first, steps[0])
    else:
        first, blocks = _read_records(source, chosen, columns, steps[0])
    write = _writer(chosen, target, to, [step.column for step in steps])
    check_names(steps, first.columns, first.name)
    have = [name for name in first.columns if name != LABEL]
    tag_sources = []
    for step in steps:
        tag_sources.append(_tag_source(step, have, first.name))
        have.append(step.column)
    plans: list[list[CrossBlock]] = [[] for _ in steps]
    # ready models tag input of any length, block by block
    batches: Iterable[list[Block]] = ([block] for block in blocks)
    if any(isinstance(tag_source, StepData) for tag_source in tag_sources):
        held = list(blocks)  # overlaps are only known once all of the input is read
        words = [sentence.words for block in held for sentence in block_sentences(block)]
        plans = [
            plan_blocks(tag_source, words, cross, first.name, watcher) if isinstance(tag_source, StepData) else []
            for tag_source in tag_sources
        ]
        batches = [held]
    sentences = tokens = 0
    with write_file(target) as stream:
        for batch in batches:
            for step, tag_source, cross_blocks in zip(steps, tag_sources, plans, strict=True):
                if isinstance(tag_source, StepData):
                    pairs = trained_taggers(tag_source, cross_blocks, step.column, watcher, **settings)
                else:
                    pairs = iter([(tag_source, [CrossBlock(1, 0, sum(map(_count, batch)), ())])])
                batch = _tag(batch, step.column, pairs, threads)
            for block in batch:
                stream.write(write(block))
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


def _writer(chosen: str, target: str | Path, to: str | None, added: Sequence[str]) -> Callable[[Block], bytes]:
    """Return the function that writes a block."""
    if chosen == "text":
        to = to or format_of(target)
        if to not in ("columns", "jsonl"):
            raise SapoError(f"tagged text is written as columns or jsonl, not as '{to}'")
        return partial(widened_records, added=added, as_columns=to == "columns")
    if to not in (None, chosen):
        raise SapoError(f"a file that is {chosen} is tagged as {chosen}; convert it with sapo convert")
    return widened if chosen == "columns" else partial(widened_records, added=added, as_columns=False)


def _refuse_text(first: Block, step: Step) -> None:
    """Raise SapoError if a column file is running text, as far as the model of the first step can tell."""
    if isinstance(step, ReadyStep):
        refuse_text(first, Tagger.load(step.model).model)


def _read_records(
    source: str | Path, chosen: str, columns: Sequence[str] | None, step: Step
) -> tuple[Block, Iterator[Block]]:
    """Read JSONL or text; text is cut as the first step needs it."""
    name = show_path(source)
    if chosen not in ("jsonl", "text"):
        raise SapoError(
            f"{name}: a pipeline tags column files, JSONL and text, and this is {chosen}; "
            "make a column file with sapo convert"
        )
    if columns is not None:
        raise SapoError(f"{name}: the names of columns are for column files, and this is {chosen}; leave them out")
    if isinstance(step, ReadyStep):
        splitter = Tagger.load(step.model).splitter
    else:
        splitter = Splitter(learn_rules((one.words, one.text) for path in step.files for one in read(path)))
    return first_and_all(read_blocks(source, format=chosen, labelled=False, splitter=splitter), name)


def _read_columns(source: str | Path, columns: Sequence[str] | None, labelled: bool) -> tuple[Block, Iterator[Block]]:
    blocks = read_blocks(source, format="columns", labelled=False)
    leading = []  # what comes before the first sentence is copied, too
    for block in blocks:
        leading.append(block)
        if _count(block):
            break
    else:
        raise SapoError(f"{show_path(source)}: has no sentences")
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


def _tag_source(step: Step, have: Sequence[str], source: str) -> Tagger | StepData:
    """Return what a step tags with: a tagger, or the data to train one on.

    Raises SapoError if the input and the steps before it do not have the columns that it needs.
    """
    tag_source: Tagger | StepData
    if isinstance(step, ReadyStep):
        tag_source, needs, name = (tagger := Tagger.load(step.model)), tagger.columns, str(step.model)
        if not needs:
            raise SapoError(
                f"{name}: was trained on ready-made features, which a column file does not have; use it with sapo tag"
            )
    else:
        tag_source = read_step_data(step)
        needs, name = tag_source.needs, tag_source.name
    for column in needs:
        if column not in have:
            raise SapoError(
                f"step '{step.column}': {name} needs the column '{column}', but {source} and the steps before have "
                f"only {', '.join(have)} (the gold tag does not count)"
            )
    return tag_source


def _tag(
    blocks: Sequence[Block], column: str, pairs: Iterator[tuple[Tagger, list[CrossBlock]]], threads: int
) -> list[Block]:
    """Return the blocks with a further column of tags; each sentence is tagged by the tagger of its cross-block."""
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
