"""Hold some hundred sentences as bytes with the place of every field. Readers return them, encoders take them."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from io import IOBase
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sapo.errors import DataError, check_limit, current_limits
from sapo.jit.arrays import Bools, Bytes, Ints, Longs

if TYPE_CHECKING:
    from sapo.corpus.exchange.documents import Cut

LABEL = "label"
Kind = TypeVar("Kind")


class Origin:
    """What a block that was read from a file knows of this file. Each format has its own, next to its reader."""

    __slots__ = ()

    def first_lines(self) -> Longs:
        """Return the number of the line in which each sentence begins; the first line is 1."""
        raise NotImplementedError

    def line_of(self, token: int, sentence: int) -> int:
        """Return the number of the line of a token, which is in this sentence of the block."""
        return int(self.first_lines()[sentence])

    def check_labels(self, labels: Sequence[str]) -> None:
        """Raise SapoError if a label cannot be written into such a file."""

    def texts(self) -> Sequence[str | None]:
        """Return the running text of each sentence, or an empty list if the file has none."""
        return ()

    def sentences(self, block: "Block") -> "Iterator[Sentence]":
        """Return the sentences of the block with all that the file knows of them, such as the running text."""
        return block_sentences(block)

    def document_starts(self, before: "Origin | None") -> Bools | None:
        """Return which sentences begin a document; None if the file does not say. `before`: of the block before it."""
        return None

    def cuts(self) -> "Sequence[Cut] | None":
        """Return the documents that the sentences were cut from, or None if the file has sentences and no texts."""
        return None

    def other_lines(self) -> int:
        """Count the lines that are neither tokens nor empty."""
        return 0

    def other_keys(self, label: str) -> Sequence[str]:
        """Return the keys that were not read as tokens, tags or columns; `label` is the key of the tags."""
        return ()


@dataclass(frozen=True, slots=True)
class Block:
    """Whole sentences. Field c of token t is `data[starts[t, c]:ends[t, c]]`."""

    name: str  # of the file, for messages
    columns: tuple[str, ...]  # the label column is called 'label'
    data: Bytes
    starts: Ints  # [tokens, columns]
    ends: Ints  # [tokens, columns]
    offsets: Longs  # [sentences + 1] into the tokens
    origin: Origin | None = None  # the file it was read from; None for sentences of Python
    features: tuple[Sequence[Any], ...] | None = None  # [sentences] ready-made features of each token, if it has them
    # columns that were made for this block by what is around it: see features/repetition.py
    made: Mapping[str, tuple[Bytes, Ints, Ints]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise SapoError if a sentence or a token is above its limit."""
        if not len(self.starts):
            return
        lengths, sizes = np.diff(self.offsets), self.ends - self.starts
        longest, largest = int(lengths.max()), int(sizes.max(initial=0))
        if longest > current_limits().tokens:
            check_limit("tokens", longest, self.place_of_sentence(int(lengths.argmax())), "tokens in a sentence")
        if largest > current_limits().token:
            place = self.place_of(int(sizes.argmax()) // sizes.shape[1])
            check_limit("token", largest, place, "bytes in a token")

    def column(self, name: str) -> tuple[Bytes, Ints, Ints]:
        """Return a column as bytes with the start and end of each field."""
        index = self.columns.index(name)
        return self.data, np.ascontiguousarray(self.starts[:, index]), np.ascontiguousarray(self.ends[:, index])

    def strings(self, name: str, most: int | None = None) -> list[str]:
        """Return a column as Python strings, or at most the first ones."""
        data, starts, ends = self.column(name)
        starts, ends = starts[:most], ends[:most]
        whole = data[: int(ends.max(initial=0))].tobytes()
        return [
            whole[a:b].decode("utf-8", "surrogatepass") for a, b in zip(starts.tolist(), ends.tolist(), strict=True)
        ]

    def running_texts(self) -> Iterator[tuple[list[str], str | None]]:
        """Yield the words of each sentence, and its running text; None where the file does not have it.

        >>> block = block_from_sentences([Sentence({"word": ("a", "dog")})])
        >>> list(block.running_texts())
        [(['a', 'dog'], None)]
        """
        words = self.strings("word" if "word" in self.columns else self.columns[0])
        texts = [] if self.origin is None else self.origin.texts()
        for begin, end, text in itertools.zip_longest(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), texts):
            yield words[begin:end], text

    def origin_as(self, kind: type[Kind]) -> Kind:
        """Return the origin, which must be of this kind: a writer takes the blocks of its own reader."""
        if not isinstance(self.origin, kind):
            raise TypeError(f"expected a block from {kind.__name__}, found {self.origin!r:.60}")
        return self.origin

    def sentences(self) -> "Iterator[Sentence]":
        """Return the sentences as Python strings, with all that their file knows of them."""
        return block_sentences(self) if self.origin is None else self.origin.sentences(self)

    def only(self, wanted: Bools) -> "Block":
        """Return a block with some of the sentences, for learning: it no longer knows where it came from."""
        lengths = np.diff(self.offsets)
        tokens = np.repeat(wanted, lengths)
        offsets = np.concatenate([[0], np.cumsum(lengths[wanted])]).astype(np.int64)
        features = self.features
        if features is not None:
            features = tuple(features[sentence] for sentence in np.flatnonzero(wanted).tolist())
        return Block(
            self.name, self.columns, self.data, self.starts[tokens], self.ends[tokens], offsets, features=features
        )

    def first_lines(self) -> Longs:
        """Return the line in which each sentence begins; of Python sentences, their numbers from 1."""
        if self.origin is None:
            return np.arange(1, len(self.offsets), dtype=np.int64)
        return self.origin.first_lines()

    def document_starts(self, before: "Block | None" = None) -> Bools:
        """Return which sentences begin a document; `before` is the block that comes before it in the file."""
        starts = None
        if self.origin is not None:
            starts = self.origin.document_starts(None if before is None else before.origin)
        return np.zeros(len(self.offsets) - 1, np.bool_) if starts is None else starts

    def check_labels(self, labels: Sequence[str]) -> None:
        """Raise SapoError if a label cannot be written into the file that the block was read from."""
        if self.origin is not None:
            self.origin.check_labels(labels)

    def place_of(self, token: int) -> str:
        """Return where a token stands, for messages: 'train.txt:812', or 'corpus: sentence 3, token 1'."""
        sentence = int(np.searchsorted(self.offsets, token, side="right")) - 1
        if self.origin is None:
            return f"{self.name}: sentence {sentence + 1}, token {token - int(self.offsets[sentence]) + 1}"
        return f"{self.name}:{self.origin.line_of(token, sentence)}"

    def place_of_sentence(self, sentence: int) -> str:
        """Return how a message about a sentence begins: 'train.jsonl:3: this sentence', or 'corpus: sentence 3'."""
        if self.origin is None:
            return f"{self.name}: sentence {sentence + 1}"
        return f"{self.name}:{self.origin.first_lines()[sentence]}: this sentence"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence as Python strings: its columns by name, and its tags if it has any."""

    columns: Mapping[str, tuple[str, ...]]
    tags: tuple[str, ...] | None = None
    text: str | None = None  # the running text, if known
    offsets: tuple[tuple[int, int], ...] | None = None  # start and end of each token in the text
    notes: tuple[tuple[int, str], ...] = ()  # lines to print before token i: comments, multiword tokens, empty nodes
    features: tuple[Any, ...] | None = None  # ready-made features of each token; there may be no columns then
    document: str | None = None  # the name of its document, if the file has one
    starts_document: bool = False  # a writer names the document before this sentence

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), self.features or ()))

    @property
    def words(self) -> tuple[str, ...]:
        """The column 'word', or else the first column; nothing if there are only features."""
        return self.columns.get("word", next(iter(self.columns.values()), ()))


def block_from_sentences(
    sentences: Iterable[Sentence],
    name: str = "corpus",
    origin: Origin | None = None,
    *,
    columns: tuple[str, ...] = ("word",),
    labeled: bool = False,
) -> Block:
    """Return sentences with the same columns as one block; their tags become the column 'label'.

    `columns` and `labeled` say what a block without sentences has.

    >>> block = block_from_sentences([Sentence({"word": ("a", "dog")}, ("DT", "NN"))])
    >>> block.columns, block.strings("label"), block.place_of(1)
    (('word', 'label'), ['DT', 'NN'], 'corpus: sentence 1, token 2')
    """
    listed = list(sentences)
    if listed:
        columns, labeled = tuple(listed[0].columns), listed[0].tags is not None
    ready = all(sentence.features is not None for sentence in listed) and (bool(listed) or not columns)
    values: list[str] = []
    lengths = []
    for number, sentence in enumerate(listed, 1):
        if tuple(sentence.columns) != columns or (sentence.tags is not None) != labeled:
            raise DataError(
                f"{name}: sentence {number} has the columns {', '.join(sentence.columns)}"
                f"{' with' if sentence.tags is not None else ' without'} tags, unlike those before it"
            )
        rows: list[Sequence[str]] = list(sentence.columns.values())
        if sentence.tags is not None:
            rows.append(sentence.tags)
        if len({len(row) for row in rows} | ({len(sentence)} if ready else set())) > 1:
            raise DataError(
                f"{name}: sentence {number} has columns of unequal length: "
                + ", ".join(f"{len(row)} {title}" for title, row in zip([*columns, "tags"], rows, strict=False))
            )
        lengths.append(len(sentence))
        values += rows[0] if len(rows) == 1 else chain.from_iterable(zip(*rows, strict=True))
    names = (*columns, LABEL) if labeled else columns
    features = tuple(sentence.features or () for sentence in listed) if ready else None
    return block_from_values(values, lengths, names, name, origin, features)


def block_from_values(
    values: Sequence[str],
    lengths: Sequence[int],
    columns: tuple[str, ...],
    name: str,
    origin: Origin | None = None,
    features: tuple[Any, ...] | None = None,
) -> Block:
    """Return a block of sentences of these lengths; `values` has all columns of the first token, then of the second.

    >>> block_from_values(["a", "dog", "no"], [2, 1], ("word",), "corpus").offsets.tolist()
    [0, 2, 3]
    """
    text = "".join(values)
    if text.isascii():
        data, sizes = text.encode(), list(map(len, values))
    else:
        pieces = [value.encode("utf-8", "surrogatepass") for value in values]
        data, sizes = b"".join(pieces), list(map(len, pieces))
    shape = (sum(lengths), len(columns))
    ends = np.cumsum(sizes, dtype=np.int64).astype(np.int32).reshape(shape)
    starts = np.zeros(ends.size, np.int32)
    starts[1:] = ends.ravel()[:-1]
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    return Block(name, columns, np.frombuffer(data, np.uint8), starts.reshape(shape), ends, offsets, origin, features)


def block_sentences(block: Block) -> Iterator[Sentence]:
    """Return the sentences of a block as Python strings.

    >>> sentences = [Sentence({"word": ("a", "dog")}, ("DT", "NN")), Sentence({"word": ("no",)}, ("DT",))]
    >>> list(block_sentences(block_from_sentences(sentences))) == sentences
    True
    """
    columns = {name: block.strings(name) for name in block.columns}
    tags = columns.pop(LABEL, None)
    borders = zip(block.offsets[:-1].tolist(), block.offsets[1:].tolist(), strict=True)
    for number, (begin, end) in enumerate(borders):
        yield Sentence(
            {name: tuple(values[begin:end]) for name, values in columns.items()},
            None if tags is None else tuple(tags[begin:end]),
            features=None if block.features is None else tuple(block.features[number]),
        )


def with_document_starts(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Yield the sentences; the first one of each document that has a name is marked.

    >>> named = [Sentence({"word": ("a",)}, document=name) for name in "xxy"]
    >>> [one.starts_document for one in with_document_starts(named)]
    [True, False, True]
    """
    last = None
    for sentence in sentences:
        starts = sentence.document is not None and sentence.document != last
        last = sentence.document
        yield replace(sentence, starts_document=True) if starts else sentence


TO_LIST = ("to_pylist", "as_py", "to_list", "tolist")  # the methods of Arrow, its scalars, pandas and polars, NumPy


def sentence_block(
    sentences: Sequence[Sequence[Any]],
    columns: Sequence[str],
    tags: Sequence[Any] = (),
    *,
    first: int = 0,
    trained: Sequence[str] = (),
) -> Block:
    """Return sentences of strings (one column) or tuples (several columns) as a block.

    `tags` has the tags of each sentence; `first` is how many sentences came before these, for messages. A token may
    also have all columns of the training data, `trained`.

    >>> sentence_block([["a", "dog"]], ["word"], [["DT", "NN"]]).columns
    ('word', 'label')
    """
    if not tags and (plain := _plain_values(sentences, len(columns))) is not None:
        return block_from_values(plain, list(map(len, sentences)), tuple(columns), "input")
    listed = []
    for number, tokens in enumerate(sentences):
        place = f"sentence {first + number + 1}"
        rows = [_row(token, columns, trained, f"{place}, token {count}") for count, token in enumerate(tokens, 1)]
        values = zip(*rows, strict=True) if rows else [() for _ in columns]
        listed.append(
            Sentence(dict(zip(columns, map(tuple, values), strict=True)), tuple(tags[number]) if tags else None)
        )
    return block_from_sentences(listed, "input")


def _plain_values(sentences: Sequence[Sequence[Any]], width: int) -> list[str] | None:
    """Return the values of all tokens in a row, or None unless each token is what a model of this width takes.

    Nearly all sentences are like that, and to look at each token on its own would take longer than to tag it.
    """
    tokens = list(chain.from_iterable(sentences))
    if width > 1:
        if not all(type(token) in (tuple, list) and len(token) == width for token in tokens):
            return None
        tokens = list(chain.from_iterable(tokens))
    return tokens if set(map(type, tokens)) <= {str} else None


def plain_sentence(tokens: Any, place: str, way: str = "split it first") -> Sequence[Any]:
    """Return the tokens of a sentence as a list or tuple: arrays and columns of tables become lists.

    Raises SapoError if this is not a sentence; a string is a sequence of letters. `way` is the way out then.

    >>> import numpy as np
    >>> plain_sentence(np.array(["no", "rain"]), "sentence 1")
    ['no', 'rain']
    """
    if isinstance(tokens, list | tuple):
        return tokens
    if isinstance(tokens, str):
        raise DataError(f"{place}: expected a list of tokens, found the string {tokens[:40]!r}; {way}")
    check_no_table(tokens, place)
    for method in TO_LIST:
        if hasattr(tokens, method):
            return plain_sentence(getattr(tokens, method)(), place, way)
    if not isinstance(tokens, Iterable) or isinstance(tokens, bytes | Mapping | Set | IOBase):
        raise DataError(f"{place}: expected a list of tokens, found {tokens!r:.40}")
    return list(tokens)


def check_labels(labels: Sequence[str], place: str) -> None:
    """Raise SapoError if a label is not valid Unicode: models and files could not hold it."""
    try:
        "".join(labels).encode()
    except UnicodeEncodeError:
        (bad, *_) = [label for label in labels if not label.isascii() and re.search("[\ud800-\udfff]", label)]
        raise DataError(
            f"{place}: the tag {bad!a} has half of a surrogate pair, which is not valid text; correct it"
        ) from None


def _row(token: Any, columns: Sequence[str], trained: Sequence[str], place: str) -> tuple[str, ...]:
    row = (token,) if isinstance(token, str) else tuple(token) if isinstance(token, (tuple, list)) else ()
    if len(row) == len(trained) != len(columns):
        row = tuple(value for value, column in zip(row, trained, strict=True) if column in columns)
    if len(row) != len(columns) or not all(isinstance(value, str) for value in row):
        wanted = "a string" if len(columns) == 1 else f"({', '.join(columns)}), {len(columns)} strings"
        tagged = len(columns) == 1 and len(row) == 2 and all(isinstance(value, str) for value in row)
        way = "; the model reads words alone: give [word for word, tag in sentence]" if tagged else ""
        raise DataError(f"{place}: expected {wanted}, found {token!r:.60}{way}")
    return row


PACKAGES = ("pandas", "polars", "pyarrow", "datasets")


def is_table(data: object) -> bool:
    """Return whether this is a table of a package that is known, which need not be installed.

    >>> is_table([["a", "dog"]])
    False
    """
    package = type(data).__module__.partition(".")[0]
    return package in PACKAGES and any(hasattr(data, name) for name in ("columns", "column_names"))


def check_no_table(data: object, place: str) -> None:
    """Raise SapoError if this is a table where sentences are expected: it iterates over the names of its columns."""
    if is_table(data):
        kind = f"{type(data).__module__.partition('.')[0]} {type(data).__name__}"
        raise DataError(
            f"{place}: expected lists of tokens, found a table ({kind}); read its sentences first: "
            "[one.words for one in sapo.read(table, labeled=False)]"
        )
