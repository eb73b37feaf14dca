"""Train a stack of models, each on the held-out predictions of those before it.

A model that is trained as part of a pipeline must not tag sentences that it was trained on: its tags would be better
than those of new text, and the next model would rely on them too much. So the input is tagged in blocks, each by a
model that was trained without the sentences that overlap with the block. Two sentences overlap if

- they have the same text when spaces are ignored: the same sentence, perhaps with different tokens;
- or they share 8 tokens in a row;
- or they share 40 characters in a row, ignoring spaces, from the beginning of a token in each;
- or one of them has 2 to 7 tokens and is contained in the other: for example a short title, which has a header before
  it elsewhere.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Unpack

import numpy as np

from sapo.corpus.blocks import LABEL, Block, Sentence, block_from_sentences, block_sentences
from sapo.corpus.columns import ColumnCountError, name_columns
from sapo.corpus.conllu import COLUMNS
from sapo.corpus.files import check_writable, show_path, write_file
from sapo.corpus.formats import format_of, read, read_blocks
from sapo.corpus.labeled import first_and_all
from sapo.errors import DataError, ModelError, OptionError
from sapo.features.strings import StringTable
from sapo.features.template import parse_templates, template_text
from sapo.jit.arrays import Ints
from sapo.learn.records import Observer
from sapo.learn.settings import AUTO
from sapo.tagger.decoding import best_tags, each_block
from sapo.tagger.files import refuse_text
from sapo.tagger.stack import (
    ReadyStep,
    Step,
    TrainedStep,
    check_names,
    sentences_of,
    widened,
    widened_conllu,
    widened_records,
    with_column,
)
from sapo.tagger.tagger import Tagger
from sapo.text.learning import learn_rules
from sapo.text.splitter import Splitter
from sapo.training.data import default_template, warn_of
from sapo.training.plan import LearningOptions, make_plan, make_settings
from sapo.training.run import start

Words = Sequence[str]
RUN = 8  # this many equal tokens in a row are hardly a coincidence
CHARACTERS = 40  # about as long, however the text is divided into tokens
SHORTEST = 2  # a single token occurs in too many sentences to mean anything
MANY = 10  # number of blocks that messages recommend


class Watcher(Observer):
    """Watch a pipeline. This class does nothing; override the methods you need.

    >>> class Printer(Watcher):
    ...     def say(self, message):
    ...         print(message)
    >>> Printer().say("training pos")
    training pos
    """

    def say(self, message: str) -> None:
        """Called with a message when something is done."""

    def training(self, what: str) -> None:
        """Called before training; `what` is trained in the passes that follow."""

    def tagged(self, tokens: int) -> None:
        """Called with the number of tokens tagged so far."""


def overlap(one: Words, other: Words) -> bool:
    """Return whether a model that was trained on one of these sentences should not tag the other.

    >>> overlap(["IL-2", "gene", "-induced"], ["IL-2", "gene-induced"])
    True
    >>> overlap(["Globin", "genes", "."], ["TI", "-", "Globin", "genes", "."])
    True
    >>> overlap(["Globin", "genes", "."], ["Globin", "genes", "switch", "."])
    False
    """
    short = [tuple(words) for words in (one, other) if SHORTEST <= len(words) < RUN]
    return not _keys(one).isdisjoint(_keys(other)) or any(
        whole in _runs(words, len(whole)) for whole in short for words in (one, other) if len(words) > len(whole)
    )


def left_out(training: Sequence[Words], blocks: Sequence[Sequence[Words]]) -> list[tuple[int, ...]]:
    """Return for each block of sentences the indices of the training sentences that overlap with any of them.

    >>> left_out([["a", "b"], ["c", "d"], ["e"]], [[["ab"]], [["e"], ["x"]]])
    [(0,), (2,)]
    """
    # the blocks of a key are the bits of an integer, so that many blocks are joined in one step
    seen: dict[object, int] = {}  # the keys of the sentences to tag
    whole: dict[tuple[str, ...], int] = {}  # short sentences to tag
    inside: dict[tuple[str, ...], int] = {}  # short training sentences that a sentence to tag contains
    short = {tuple(words) for words in training if SHORTEST <= len(words) < RUN}
    lengths = sorted({len(words) for words in short})
    for number, block in enumerate(blocks):
        bit = 1 << number
        for words in block:
            for key in _keys(words):
                seen[key] = seen.get(key, 0) | bit
            if SHORTEST <= len(words) < RUN:
                whole[tuple(words)] = whole.get(tuple(words), 0) | bit
            for length in lengths:
                for run in _runs(words, length):
                    if run in short:
                        inside[run] = inside.get(run, 0) | bit
    lengths = sorted({len(words) for words in whole})
    found: list[list[int]] = [[] for _ in blocks]
    for number, words in enumerate(training):
        bits = inside.get(tuple(words), 0)
        for key in _keys(words):
            bits |= seen.get(key, 0)
        for length in lengths:
            for run in _runs(words, length):
                bits |= whole.get(run, 0)
        for block_number in _ones(bits):
            found[block_number].append(number)
    return [tuple(numbers) for numbers in found]


def _keys(words: Words) -> set[object]:
    """Return keys of a sentence; two sentences with a common key overlap."""
    text = "".join(words)
    keys: set[object] = {text, *_runs(words, RUN)}
    at = 0
    for word in words:
        if at + CHARACTERS > len(text):
            break
        keys.add(text[at : at + CHARACTERS])
        at += len(word)
    return keys


def _runs(words: Words, length: int) -> Iterator[tuple[str, ...]]:
    return (tuple(words[at : at + length]) for at in range(len(words) - length + 1))


def _ones(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


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
            raise DataError(f"{path}: has no sentences")
        expected, found = list(sentences[0].columns), list(sentences[before].columns)
        if found != expected:
            raise DataError(
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
        raise DataError(f"{source}: has {len(words)} sentences, which cannot be cut into {cross} blocks")
    ranges = cut(len(words), cross or 1)
    overlapping = left_out([sentence.words for sentence in data.sentences], [words[r.start : r.stop] for r in ranges])
    if not cross and overlapping[0]:
        example = " ".join(data.sentences[overlapping[0][0]].words)
        raise DataError(
            f"{data.name}: {len(overlapping[0]):,} of {len(data.sentences):,} sentences overlap with {source}, "
            f"the first is '{example:.60}'; use `cross={MANY}`, or `cross=1` to train without them"
        )
    for number, without in enumerate(overlapping, 1):
        if len(without) == len(data.sentences):
            raise DataError(
                f"{data.name}: all sentences overlap with block {number} of {source}, none is left to train on; "
                f"use `cross` with more than {len(ranges)} blocks"
            )
    return [CrossBlock(i, r.start, r.stop, o) for i, (r, o) in enumerate(zip(ranges, overlapping, strict=True), 1)]


def trained_taggers(
    data: StepData, blocks: Sequence[CrossBlock], column: str, watcher: Watcher, **settings: Unpack[LearningOptions]
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
        if outcome.stop.interrupted:  # training keeps what it has learned, but half a file is useless
            raise KeyboardInterrupt
        yield outcome.tagger, members


@dataclass(frozen=True, slots=True)
class PipelineReport:
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
    labeled: bool = True,
    format: str | None = None,
    to: str | None = None,
    cross: int = 0,
    watcher: Watcher | None = None,
    **settings: Unpack[LearningOptions],
) -> PipelineReport:
    """Read `source`, add a column for each step, and write the result to `target`.

    Each step may use the columns of the steps before it. If `source` is a column file with several columns, the last
    one is the gold tag, and stays last; `labeled=False` says that there is no gold tag. JSONL gets a key for each
    step. Text (`format="text"`) is cut as the first step needs it, and becomes columns, or JSONL: `to`, or the file
    extension of `target`.

    Steps that are trained as part of the pipeline must not tag sentences that they were trained on. With `cross`, they
    tag `source` in that many blocks, each with a model that was trained without the sentences that overlap with the
    block. Otherwise, SapoError is raised if the training data overlaps with `source`. `settings` are options of
    `sapo.train` (epochs, seed ...) for these steps; only `threads` is for tagging.

    >>> import tempfile
    >>> from sapo.tagger.stack import parse_step
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
    threads = settings.pop("threads", None)
    threads = 1 if threads is None else threads
    _check_options(steps, cross, threads)
    make_settings({key: value for key, value in settings.items() if (key, value) != ("rate", AUTO)})
    check_writable(target)
    chosen = format_of(source, format)
    if chosen == "conllu":
        first, blocks = _read_conllu(source, columns, steps)
    elif chosen == "columns":
        first, blocks = _read_columns(source, columns, labeled)
        if format is None and isinstance(steps[0], ReadyStep):
            refuse_text(first, Tagger.load(steps[0].model).model)
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
    return PipelineReport(
        (*have, LABEL) if LABEL in first.columns else tuple(have),
        sentences,
        tokens,
        {
            step.column: tuple(len(part.without) for part in parts)
            for step, parts in zip(steps, plans, strict=True)
            if parts
        },
    )


def _check_options(steps: tuple[Step, ...], cross: int, threads: int) -> None:
    if not steps:
        raise OptionError("a pipeline needs a step, such as pos=pos.sapo")
    if not isinstance(cross, Integral) or cross < 0:
        raise OptionError(f"cross must be a number of blocks, 0 or more, not {cross}")
    if cross and all(isinstance(step, ReadyStep) for step in steps):
        raise OptionError("cross is for steps that are trained on the spot, and these are all ready models")
    if not isinstance(threads, Integral) or threads < 1:
        raise OptionError(f"threads must be at least 1, not {threads}")


def _writer(chosen: str, target: str | Path, to: str | None, added: Sequence[str]) -> Callable[[Block], bytes]:
    """Return the function that writes a block."""
    if chosen == "text":
        to = to or format_of(target)
        if to not in ("columns", "jsonl"):
            raise OptionError(f"text with several columns is written as columns or jsonl, not as '{to}'")
        return partial(widened_records, added=added, as_columns=to == "columns")
    if to not in (None, chosen):
        raise DataError(f"{chosen} files are tagged as {chosen}; convert the result with sapo convert")
    if chosen == "conllu":
        return partial(widened_conllu, added=added)
    return widened if chosen == "columns" else partial(widened_records, added=added, as_columns=False)


def _read_conllu(
    source: str | Path, columns: Sequence[str] | None, steps: Sequence[Step]
) -> tuple[Block, Iterator[Block]]:
    """Read CoNLL-U without the columns that the steps fill, so that no step sees what it should predict."""
    name = show_path(source)
    if columns is not None:
        raise DataError(f"{name}: the columns of CoNLL-U have their names; leave the names of columns out")
    filled = {step.column for step in steps}
    kept = [at for at, column in enumerate(COLUMNS) if column not in filled]
    names = tuple(COLUMNS[at] for at in kept)
    read = read_blocks(source, format="conllu", labeled=False)
    return first_and_all(
        (
            dataclasses.replace(
                block,
                columns=names,
                starts=np.ascontiguousarray(block.starts[:, kept]),
                ends=np.ascontiguousarray(block.ends[:, kept]),
            )
            for block in read
        ),
        name,
    )


def _read_records(
    source: str | Path, chosen: str, columns: Sequence[str] | None, step: Step
) -> tuple[Block, Iterator[Block]]:
    """Read JSONL or text; text is cut as the first step needs it."""
    name = show_path(source)
    if chosen not in ("jsonl", "text"):
        raise DataError(
            f"{name}: a pipeline tags column files, CoNLL-U, JSONL and text, and this is {chosen}; "
            "make a column file with sapo convert"
        )
    if columns is not None:
        raise DataError(f"{name}: the names of columns are for column files, and this is {chosen}; leave them out")
    if isinstance(step, ReadyStep):
        splitter = Tagger.load(step.model).splitter
    else:
        splitter = Splitter(learn_rules((one.words, one.text) for path in step.files for one in read(path)))
    return first_and_all(read_blocks(source, format=chosen, labeled=False, splitter=splitter), name)


def _read_columns(source: str | Path, columns: Sequence[str] | None, labeled: bool) -> tuple[Block, Iterator[Block]]:
    blocks = read_blocks(source, format="columns", labeled=False)
    leading = []  # comments before the first sentence are copied, too
    for block in blocks:
        leading.append(block)
        if _count(block):
            break
    else:
        raise DataError(f"{show_path(source)}: has no sentences")
    first = leading[0]
    count = len(first.columns)
    if columns is not None and len(columns) != count:
        raise ColumnCountError(first.name, count, columns)
    names = name_columns(count, None, columns, labeled and count > 1, first.name)
    if LABEL in names[:-1]:
        raise DataError(f"{first.name}: the gold tag must be the last column, not column {names.index(LABEL)}")
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
            raise ModelError(
                f"{name}: was trained on ready-made features, which a column file does not have; use it with sapo tag"
            )
    else:
        tag_source = read_step_data(step)
        needs, name = tag_source.needs, tag_source.name
    for column in needs:
        if column not in have:
            raise DataError(
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
        found = each_block(tagger, (piece for _, _, piece in pieces), best_tags, threads=threads)
        for (at, begin, _), (_, ids) in zip(pieces, found, strict=True):
            tags[at][begin : begin + len(ids)] = numbers[ids]
    names = labels.strings()
    return [with_column(block, column, ids, names) for block, ids in zip(blocks, tags, strict=True)]


def _count(block: Block) -> int:
    return len(block.offsets) - 1
