"""Read and write column files: one token per line, fields separated by blanks or tabs, and empty lines."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from sapo.corpus.annotations import DEFAULT, Annotation, Placement, with_comments
from sapo.corpus.blocks import LABEL, Block, Sentence
from sapo.corpus.files import show_path
from sapo.corpus.scanner import ScannedOrigin, last_document, refuse_empty, scan_file, sentence_regions, splice
from sapo.errors import DataError, nearest
from sapo.jit.arrays import Bytes, Ints


def splice_tags(data: Bytes, cut_starts: Ints, cut_ends: Ints, pieces: Sequence[str], piece: Ints) -> bytes:
    """Return the data with `pieces[piece[t]]` in place of the bytes cut_starts[t] to cut_ends[t], for each token t."""
    if len(piece) != len(cut_starts):
        raise ValueError(f"{len(cut_starts)} tokens but {len(piece)} tags")
    if not len(piece):
        return data.tobytes()
    encoded = [text.encode("utf-8", "surrogatepass") for text in pieces]
    sizes = np.array([len(text) for text in encoded], np.int64)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]).astype(np.int32)
    out = np.empty(len(data) + int(sizes[piece].sum()), np.uint8)
    written = splice(
        data,
        np.ascontiguousarray(cut_starts),
        np.ascontiguousarray(cut_ends),
        np.frombuffer(b"".join(encoded), np.uint8),
        offsets,
        piece,
        out,
    )
    return out[:written].tobytes()


def write_ranked(
    block: Block, added: Annotation, write: Callable[[Block, Annotation], Iterator[bytes]]
) -> Iterator[bytes]:
    """Yield each sentence once for each of its n best taggings, with rank and probabilities as comments.

    `write` writes a block with tags in the same format.
    """
    regions = sentence_regions(block.origin_as(ScannedOrigin).scanned)
    for sentence, ranked in enumerate(added.taggings or ()):
        alone = _one_sentence(block, sentence, regions[sentence])
        for comments, tags in with_comments(ranked):
            yield comments.encode() + b"".join(write(alone, Annotation(tags, added.labels))) + b"\n\n"


def _one_sentence(block: Block, sentence: int, region: tuple[int, int]) -> Block:
    """Return a block of one sentence, with the comments and other lines in its region."""
    origin = block.origin_as(ScannedOrigin)
    scanned = origin.scanned
    first, last = block.offsets[sentence : sentence + 2].tolist()
    begin, end = region
    part = dataclasses.replace(
        scanned,
        data=scanned.data[begin:end],
        starts=scanned.starts[first:last] - begin,
        ends=scanned.ends[first:last] - begin,
        line_starts=scanned.line_starts[first:last] - begin,
        line_ends=scanned.line_ends[first:last] - begin,
        offsets=np.array([0, last - first]),
    )
    return dataclasses.replace(
        block,
        data=part.data,
        starts=part.starts,
        ends=part.ends,
        offsets=part.offsets,
        origin=dataclasses.replace(origin, scanned=part),
    )


HINT = "; if this is running text, use `format='text'`"
USUAL_NAMES = ("word", "pos", "chunk")


def read_blocks(
    path: str | Path, *, label: str | None = None, columns: Sequence[str] | None = None, labeled: bool = True
) -> Iterator[Block]:
    """Read a column file in blocks.

    `label` is the number (0 is the first, -1 the last) or name of the label's column; the default is the last column.
    `columns` names all columns. Without `labeled`, the file may lack the label and other columns.
    """
    name = show_path(path)
    names: tuple[str, ...] | None = None
    document: str | None = None
    for scanned in scan_file(path, hint="" if labeled else HINT):
        if names is None:
            names = name_columns(scanned.layout.columns, label, columns, labeled, name)
        if labeled:
            refuse_empty(scanned, names.index(LABEL), name)
        origin = ScannedOrigin(scanned, document=document)
        document = last_document(scanned.data.tobytes(), document)
        yield Block(name, names, scanned.data, scanned.starts, scanned.ends, scanned.offsets, origin)


class ColumnCountError(DataError):
    """A file has another number of columns than there are names for."""

    def __init__(self, source: str, count: int, names: Sequence[str], who: str = "`columns` names") -> None:
        super().__init__(f"{source}: has {count} column{'s' * (count != 1)}; {who} {len(names)}: {', '.join(names)}")
        self.parts = (source, count, names)


def name_columns(
    count: int, label: str | None, columns: Sequence[str] | None, labeled: bool, source: str
) -> tuple[str, ...]:
    """Return the names of a file's columns, with 'label' for that of the label.

    >>> name_columns(3, None, None, True, "train.txt")
    ('word', 'pos', 'label')
    >>> name_columns(4, "pos", ["word", "pos", "chunk", "ner"], True, "train.txt")
    ('word', 'label', 'chunk', 'ner')
    """
    if labeled and count == 1 and label is None:
        raise DataError(f"{source}: has one column; a training file needs a word and a label")
    if columns is not None and LABEL in columns and label is None:
        label = LABEL
    if columns is not None and len(columns) != count and labeled:
        raise ColumnCountError(source, count, columns)
    if columns is not None and len(columns) != count:
        # a file to be tagged may lack the label and more, or have columns that the training file had not
        names = list(columns)
        if count < len(names):
            names.pop(column_index(label, columns, len(columns), source))
        return tuple([*names, *(f"c{i}" for i in range(len(names), count))][:count])
    at = column_index(label, columns, count, source) if labeled or label is not None else None
    if columns is not None:
        names = [LABEL if i == at else name for i, name in enumerate(columns)]
        if len(set(names)) < count or len(set(columns)) < count:
            raise DataError(f"two columns have the same name in {', '.join(columns)} (label: {label})")
        return tuple(names)
    return tuple(LABEL if i == at else USUAL_NAMES[i] if i < len(USUAL_NAMES) else f"c{i}" for i in range(count))


def without_label(columns: Sequence[str]) -> list[str]:
    """Return the names of columns, with the label's under the name that it would have in a file without labels.

    >>> without_label(["word", "pos", "label"]), without_label(["word", "chunk", "label"])
    (['word', 'pos', 'chunk'], ['word', 'chunk', 'c2'])
    """
    usual = [name if name not in columns else f"c{at}" for at, name in enumerate(USUAL_NAMES)]
    usual += [f"c{at}" for at in range(len(usual), len(columns))]
    return [usual[at] if name == LABEL else name for at, name in enumerate(columns)]


def column_index(label: str | None, columns: Sequence[str] | None, count: int, source: str) -> int:
    """Return the index of the column that `label` names or numbers; `source` is the file, for messages.

    >>> column_index("-1", None, 3, "train.txt"), column_index("pos", None, 3, "train.txt")
    (2, 1)
    """
    if label is None:
        return count - 1
    if columns is not None and label in columns:
        return list(columns).index(label)
    if re.fullmatch(r"-?\d+", label):
        if not -count <= int(label) < count:
            raise DataError(f"{source}: there is no column {label}; it has {count}, from 0 to {count - 1}")
        return int(label) % count
    if label in USUAL_NAMES[:count] and columns is None:
        return USUAL_NAMES.index(label)
    names = USUAL_NAMES[:count] if columns is None else columns
    close = nearest(label, names)
    hint = f"did you mean '{close}'?" if close else f"the columns are {', '.join(names)}, or 0 to {count - 1}"
    raise DataError(f"{source}: there is no column '{label}'; {hint}")


def write(block: Block, added: Annotation) -> Iterator[bytes]:
    """Yield the block as it was read, with the tags as one more column, and probabilities as another.

    The tags of a conversion replace those of the file.
    """
    if added.taggings is not None:
        yield from write_ranked(block, added, write)
        return
    scanned = block.origin_as(ScannedOrigin).scanned
    if added.tags is None:
        yield scanned.data.tobytes()
        return
    if added.placement is not None:
        at = block.columns.index(LABEL)
        yield splice_tags(scanned.data, scanned.starts[:, at], scanned.ends[:, at], added.labels, added.tags)
        return
    separator = "\t" if scanned.layout.tabs else " "
    probabilities = added.probabilities(block.offsets)
    pieces, numbers = [separator + tag for tag in added.labels], added.tags
    if probabilities is not None:
        pairs = zip(added.names(), probabilities, strict=True)
        pieces = [f"{separator}{tag}{separator}{probability}" for tag, probability in pairs]
        numbers = np.arange(len(pieces), dtype=np.int32)
    yield splice_tags(scanned.data, scanned.line_ends, scanned.line_ends, pieces, numbers)


def write_sentence(sentence: Sentence, placement: Placement = DEFAULT) -> str:
    r"""Return a sentence with a TAB between its columns, the tags last. Values may then hold blanks.

    The first sentence of a document has its name before it, as a comment.

    >>> write_sentence(Sentence({"word": ("New York", "sleeps")}, ("NNP", "VBZ")))
    'New York\tNNP\nsleeps\tVBZ\n\n'
    """
    rows = [*sentence.columns.values(), *([sentence.tags] if sentence.tags is not None else [])]
    strange = r"[\t\r\n\ufeff]" if len(rows) > 1 else r"[\t\r\n\ufeff ]"
    for row in rows:
        for value in row:
            if not value or value != value.strip() or re.search(strange, value):
                raise DataError(f"{value!r} cannot be written to a column file; use JSONL for such tokens")
    if "-DOCSTART-" in rows[0]:
        raise DataError("'-DOCSTART-' cannot be a word of a column file, where it ends a document; use JSONL")
    if len(rows) > 2 and len(sentence) and rows[0][0] == "#" and rows[2][0] == "=":
        raise DataError("a sentence that begins with '# ... =' would be read as a comment; use JSONL")
    # a lone column would read the comment as a word
    named = f"# newdoc = {sentence.document}\n" if sentence.starts_document and len(rows) > 1 and len(sentence) else ""
    return named + "".join("\t".join(token) + "\n" for token in zip(*rows, strict=True)) + "\n"
