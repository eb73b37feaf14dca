"""Read, tag and evaluate files block by block, a few hundred sentences at a time, so that they may have any length."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from sapo.corpus.annotations import Annotation
from sapo.corpus.blocks import LABEL, Block, Sentence, is_table
from sapo.corpus.files import show_path
from sapo.corpus.formats import FORMATS, TABLE, format_of
from sapo.corpus.formats import read_blocks as read_any_blocks
from sapo.errors import DataError, ModelError, OptionError, did_you_mean
from sapo.features.strings import StringTable, label_ids
from sapo.tagger import decoding
from sapo.tagger.decoding import Output
from sapo.tagger.model import Model
from sapo.tags.labels import MISSING, have_common_label, listed, refuse_missing
from sapo.text.tokens import CHARACTERS

if TYPE_CHECKING:
    from sapo.evaluate.scores import Scores
    from sapo.tagger.tagger import Tagger

LINES = 200  # to look at
PIECE = 1 << 16  # bytes
Write = Callable[[Block, Annotation], Iterator[bytes]]
_ENDS_SENTENCE = re.compile(r"\w[.!?\u2026][\"')\]\u201d\u00bb]*")


class ReadingOptions(TypedDict, total=False):
    """How to read files."""

    format: str | None  # one of sapo.corpus.FORMATS; default: inferred from the file extension
    label: str | int | None  # the column of the labels, by name or number
    columns: Sequence[str] | None  # the names of the columns
    encoding: str | None  # of files that are not UTF-8


def check_reading(given: Mapping[str, object]) -> None:
    """Raise SapoError if an option is not one of `ReadingOptions`.

    >>> check_reading({"lable": "pos"})
    Traceback (most recent call last):
    ...
    sapo.errors.OptionError: unknown option 'lable'; did you mean 'label'?
    """
    for name in given:
        if name not in ReadingOptions.__annotations__:
            raise OptionError(f"unknown option '{name}'{did_you_mean(name, ReadingOptions.__annotations__)}")


def reading_of(model: Model, path: str | Path, given: dict[str, Any]) -> dict[str, Any]:
    """Return how to read a file. Options that are not given are as for the training file, if the format is the same."""
    how = dict(given)
    if not isinstance(path, str | Path):  # a table, whose columns have names
        return how
    trained = model.reader
    if format_of(path, how.get("format")) == trained.get("format"):
        for key in ("label", "columns"):
            if how.get(key) is None:
                how[key] = trained.get(key)
        if given.get("label") not in (None, LABEL) and given.get("columns") is None and how["columns"]:
            from sapo.corpus.columns import without_label

            how["columns"] = without_label(how["columns"])  # the label may be in another column now
    return how


def read_blocks(tagger: "Tagger", path: Any, *, labeled: bool = False, **reading: Any) -> Iterator[Block]:
    """Read a file or a table, in the same way as the training file unless `reading` has other options."""
    how = reading_of(tagger.model, path, reading)
    chosen = format_of(path, how.get("format")) if isinstance(path, str | Path) else None
    if chosen == "columns" and tagger.model.encoder.kind == "features":
        raise DataError(
            f"{show_path(path)}: a file of columns has no ready-made features, as the model needs; if it has them as "
            "CRFsuite writes them, use --format crfsuite"
        )
    if chosen is None or TABLE[chosen].cut:
        how["splitter"] = tagger.splitter
    blocks = read_any_blocks(path, labeled=labeled, **how)
    return _with_columns_of_model(blocks) if reading.get("columns") is None else blocks


def _with_columns_of_model(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield blocks; let an error say that it was the model, and not the user, who named the columns."""
    from sapo.corpus.columns import ColumnCountError

    try:
        yield from blocks
    except ColumnCountError as error:
        raise ColumnCountError(*error.parts, "the model was trained on") from None


def tagged_file(
    tagger: "Tagger",
    path: str | Path,
    output: Output,
    *,
    format: str | None = None,
    label: str | None = None,
    encoding: str | None = None,
    to: str | None = None,
    session: Any = None,
) -> Iterator[tuple[int, bytes]]:
    """Tag a file; yield the bytes to write, with the number of tokens that are done.

    Files keep their format, but text is written as columns, or as JSONL or CoNLL-U with `to`. A directory of texts is
    tagged as one file of these two. Raises SapoError if the tags cannot be written into such a file, or if a column
    file is running text. A session of the model's encoder remembers new words from file to file.
    """
    chosen = format_of(path, format)
    if chosen == "text":
        from sapo.tagger.text import check_words_only

        check_words_only(tagger.model)
        if Path(path).is_dir() and to not in ("jsonl", "conllu"):
            raise DataError(
                f"{path}: a directory is tagged as one JSONL file; add `to='jsonl'`, or name an output .jsonl"
            )
        blocks = read_blocks(tagger, path, labeled=False, format=chosen, encoding=encoding)
        return _tagged(tagger, blocks, output, _text_writer(tagger.model, to, label), session, check=to != "jsonl")
    if to not in (None, chosen):
        raise DataError(
            f"{show_path(path)}: {chosen} files are tagged as {chosen}; convert the result with sapo convert"
        )
    if chosen == "conllu":
        label = _conllu_label(tagger.model, label)
    blocks = read_blocks(tagger, path, labeled=False, format=chosen, label=label, encoding=encoding)
    refuse = format is None and chosen == "columns"
    writing = FORMATS[chosen].write
    return _tagged(tagger, blocks, output, writing, session, check=chosen != "jsonl", refuse_running_text=refuse)


def _conllu_label(model: Model, given: str | None) -> str:
    """Return where the tags of a model go in CoNLL-U; raise SapoError if that is unknown."""
    if given is None and model.reader.get("format") != "conllu":
        raise ModelError(
            "this model was not trained on CoNLL-U; say with `label` where its tags go (upos, xpos, Chunk)"
        )
    return given or model.reader.get("label") or "upos"


def tagged_text(
    tagger: "Tagger", text: str, output: Output, *, to: str | None = None, label: str | None = None
) -> Iterator[tuple[int, bytes]]:
    """Tag a text as `tagged_file` tags a file of text."""
    from sapo.corpus.plain_text import text_blocks
    from sapo.tagger.text import check_words_only

    check_words_only(tagger.model)
    blocks = text_blocks([text], "the text", tagger.splitter)
    return _tagged(tagger, blocks, output, _text_writer(tagger.model, to, label), check=to != "jsonl")


def _text_writer(model: Model, to: str | None, label: str | None) -> Write:
    """Return the function that writes tagged text as columns, JSONL or CoNLL-U."""
    if to == "conllu":
        from sapo.corpus.plain_text import conllu_writer

        return conllu_writer(_conllu_label(model, label))
    if to not in (None, "columns", "jsonl", "json"):
        raise OptionError(f"tagged text is written as columns, jsonl or conllu, not as '{to}'")
    write: Write = FORMATS["text" if to in (None, "columns") else "jsonl"].write
    return write


def _tagged(
    tagger: "Tagger",
    blocks: Iterator[Block],
    output: Output,
    write: Write,
    session: Any = None,
    *,
    check: bool,
    refuse_running_text: bool = False,
) -> Iterator[tuple[int, bytes]]:
    def checked() -> Iterator[Block]:
        for number, block in enumerate(blocks):
            if number == 0 and refuse_running_text:
                refuse_text(block, tagger.model)
            if number == 0 and check:
                block.check_labels(tagger.labels)
            yield block

    if output.exact:
        tagger = type(tagger)(tagger.model.exact())
    for block, annotation in decoding.tag_blocks(tagger, checked(), output, session):
        for piece in _joined(write(block, annotation)):
            yield 0, piece
        yield int(block.offsets[-1]), b""


def _joined(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in pieces that are worth writing."""
    waiting, size = [], 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= PIECE:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def refuse_text(block: Block, model: Model) -> None:
    """Raise SapoError if the first block of a column file is running text. Files with TABs are not looked at."""
    from sapo.corpus.scanner import ScannedOrigin

    if not isinstance(block.origin, ScannedOrigin) or block.origin.scanned.layout.tabs or not len(block.starts):
        return
    if len(block.columns) == 1:
        is_text = _uncut(block, model)
    else:
        is_text = _words_of_text(block) or (not _known_labels(block, model) and _mostly_lower_case(block))
    if is_text:
        raise DataError(
            f"{block.place_of(0)}: this looks like running text, not like columns; "
            "use `format='text'`, or `format='columns'` if it is a column file"
        )


def _words_of_text(block: Block) -> bool:
    """Return whether most lines end as sentences do, with a mark at the last word."""
    last = block.strings(block.columns[-1], LINES)
    return 2 * sum(_ENDS_SENTENCE.search(word) is not None for word in last) > len(last)


def _uncut(block: Block, model: Model) -> bool:
    """Return whether words of several characters go to a model of characters."""
    words = block.strings(block.columns[0], LINES)
    return model.text_rules.unit == CHARACTERS and 2 * sum(len(word) > 1 for word in words) > len(words)


def _known_labels(block: Block, model: Model) -> bool:
    """Return whether the file has labels of the model, or only lacks them and so may have words in lower case."""
    labels = set(model.outer_labels)
    if len(block.columns) + 1 == len(model.reader.get("columns") or ()):
        return True
    columns = [LABEL] if LABEL in block.columns else list(block.columns[1:])
    return any(not labels.isdisjoint(block.strings(column, LINES)) for column in columns)


def _mostly_lower_case(block: Block) -> bool:
    """Return whether most fields behind the first are words in lower case, as they are in text; tags are not."""
    fields = [field for column in block.columns[1:] for field in block.strings(column, LINES)]
    return 2 * sum(field[:1].islower() for field in fields) > len(fields)


def evaluate(tagger: "Tagger", data: Any, *, strict: bool = False, **reading: Unpack[ReadingOptions]) -> "Scores":
    """Tag a labeled file, a table, or labeled sentences from Python, and return the scores of the tags."""
    check_reading(reading)
    if not isinstance(data, str | Path) and not is_table(data):
        return _evaluate_pairs(tagger.model, data, strict=strict)
    path = data if isinstance(data, str | Path) else "table"
    labels = list(tagger.model.outer_labels)
    golds, found, sizes = [np.empty(0, np.int32)], [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
    blocks = read_blocks(tagger, data, labeled=True, **reading)
    for block, tags in decoding.each_block(tagger, blocks, decoding.best_tags):
        golds.append(label_ids(block, labels))
        found.append(tags)
        sizes.append(np.diff(block.offsets))
    offsets = np.cumsum(np.concatenate(sizes))
    if len(offsets) == 1:
        raise DataError(f"{path}: has no sentences")
    check_no_missing(tagger.model, labels, path)
    check_same_task(tagger.model, [labels[tag] for tag in np.unique(np.concatenate(golds)).tolist()], path)
    from sapo.evaluate.scores import score  # which tagging need not load

    return score(labels, np.concatenate(golds), np.concatenate(found), offsets, strict=strict)


def _evaluate_pairs(model: Model, data: Any, *, strict: bool) -> "Scores":
    """Tag labeled sentences from Python, and return the scores. Raise SapoError if they have another shape."""
    if not isinstance(data, Iterable) or isinstance(data, bytes | Mapping):
        raise DataError(
            f"evaluate: expected the path of a file, a table, or pairs of tokens and tags, found {data!r:.40}"
        )
    sentences = list(data)
    if not sentences:
        raise DataError("data: has no sentences")
    from sapo.corpus.labeled import read_pairs  # which tagging does not need
    from sapo.evaluate.scores import score

    tokens, tags = read_pairs([_pair(one, model) for one in sentences], "data")
    found = [best for corpus in decoding.encoded_batches(model, tokens) for best in decoding.best_tags(model, corpus)]
    golds = [tag for own in tags for tag in own]
    check_no_missing(model, sorted(set(golds)), "data")
    check_same_task(model, sorted(set(golds)), "data")
    table = StringTable(list(model.outer_labels))
    gold = table.add(golds)
    offsets = np.cumsum([0, *(len(own) for own in tags)])
    return score(table.strings(), gold, np.array(found, np.int32), offsets, strict=strict)


def _pair(sentence: Any, model: Model) -> Any:
    """Return a `Sentence` as a pair of tokens and tags, with the columns that the model reads; others as they are."""
    if not isinstance(sentence, Sentence):
        return sentence
    if sentence.features is not None and not model.encoder.columns:
        return sentence.features, sentence.tags
    names = tuple(model.encoder.columns)
    if missing := [name for name in names if name not in sentence.columns]:
        raise DataError(f"data: has no column '{missing[0]}', which the features need")
    values = [sentence.columns[name] for name in names]
    return (values[0] if len(names) == 1 else list(zip(*values, strict=True))), sentence.tags


def check_no_missing(model: Model, labels: Sequence[str], path: str | Path) -> None:
    """Raise SapoError if the file to evaluate has missing tags."""
    refuse_missing(labels, [model.record.get("missing", MISSING)], str(path))


def check_same_task(model: Model, labels: Sequence[str], path: str | Path) -> None:
    """Raise SapoError if the file to evaluate has no label that the model knows."""
    if not have_common_label(model.outer_labels, labels):
        raise DataError(
            f"{path}: the model knows none of its labels ({listed(labels)}); it has {listed(model.outer_labels)}; "
            "give data of its task, or the label's column with `label`"
        )
