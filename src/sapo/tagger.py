"""Strings in, tags out: a trained model in use."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sapo import kernels
from sapo.corpus import LABEL, Block, Sentence, block_from_sentences, format_of, read_blocks
from sapo.encode.encoded import EncodedCorpus
from sapo.encode.encoder import TemplateEncoder
from sapo.encode.ready import FeatureEncoder
from sapo.encode.strings import StringTable
from sapo.encode.template import did_you_mean
from sapo.errors import SapoError
from sapo.evaluate import Scores, score
from sapo.kernels.types import Ints
from sapo.lattice import make_lattice
from sapo.learn import tag as tag_encoded
from sapo.model import Model, load_model, save_model
from sapo.search import SEARCHES, Candidates, search_n

if TYPE_CHECKING:
    from sapo.neural.encoder import NeuralEncoder

T = TypeVar("T")
R = TypeVar("R")
BATCH = 500  # sentences that are tagged in one go


@dataclass(frozen=True, slots=True)
class Tagging:
    """One of the n best taggings. The probability is over these n only, the paper's P_k."""

    tags: list[str]
    probability: float
    score: float


class Tagger:
    """A model that tags. All methods may be called from several threads at once.

    >>> import sapo
    >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
    >>> tagger.tag(["the", "dog"])
    ['DT', 'NN']
    """

    def __init__(self, model: Model) -> None:
        self.model = model

    @classmethod
    def load(cls, path: str | Path) -> "Tagger":
        return cls(load_model(path))

    def save(self, path: str | Path) -> None:
        save_model(self.model, path)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.model.labels

    @property
    def columns(self) -> tuple[str, ...]:
        """What a token must bring: ('word',) means strings, ('word', 'pos') pairs; () means ready-made features."""
        encoder = self.model.encoder
        return () if isinstance(encoder, FeatureEncoder) else tuple(encoder.columns)

    def tag(self, tokens: Sequence[Any]) -> list[str]:
        """The tags of one sentence. Its tokens are strings, tuples or features, as in training (or see `columns`)."""
        return self.tag_many([tokens])[0]

    def tag_many(self, sentences: Iterable[Sequence[Any]]) -> list[list[str]]:
        """The tags of many sentences; much faster than one at a time."""
        result: list[list[str]] = []
        for corpus in self._encoded_batches(sentences):
            tags = self._names(self._tags(corpus))
            result.extend(tags[a:b] for a, b in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True))
        return result

    def nbest(self, tokens: Sequence[Any], n: int = 5, *, search: str = "topn", width: int = 50) -> list[Tagging]:
        """The n best taggings of a sentence, best first, with their probabilities among these n.

        The searches topn and astar are exact, beam (of this width) is not.
        """
        _check_search(search, n)
        corpus = next(self._encoded_batches([tokens]))
        return self._taggings(self._candidates(corpus, 0, n, search, width))

    def evaluate(self, path: str | Path, *, strict: bool = False, **reading: Any) -> Scores:
        """Tag a labelled file and compare."""
        labels = list(self.labels)
        golds, found, sizes = [np.empty(0, np.int32)], [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
        for block, tags in self.tag_blocks(self.read_blocks(path, labelled=True, **reading)):
            golds.append(label_ids(block, labels))
            found.append(tags)
            sizes.append(np.diff(block.offsets))
        offsets = np.cumsum(np.concatenate(sizes))
        if len(offsets) == 1:
            raise SapoError(f"{path}: holds no sentence")
        return score(labels, np.concatenate(golds), np.concatenate(found), offsets, strict=strict)

    def read_blocks(self, path: str | Path, *, labelled: bool = False, **reading: Any) -> Iterator[Block]:
        """Read a file as the training file was read, unless told otherwise."""
        return read_blocks(path, labelled=labelled, **self.reading(path, reading))

    def reading(self, path: str | Path, told: dict[str, Any]) -> dict[str, Any]:
        """How to read a file: what is not told is as for the training file, if the format is the same."""
        how = dict(told)
        trained = self.model.reader
        if format_of(path, how.get("format")) == trained.get("format"):
            for key in ("label", "columns"):
                if how.get(key) is None:
                    how[key] = trained.get(key)
        return how

    def tag_blocks(self, blocks: Iterable[Block], *, threads: int = 1) -> Iterator[tuple[Block, Ints]]:
        """Each block with the numbers of its tags, in order. The number of threads does not change the result."""
        if threads == 1:
            for block, corpus in self._encoded_blocks(blocks):
                yield block, self._tags(corpus)
            return
        encoder = self._text_encoder()
        kernels.compile_kernels()
        sessions = threading.local()

        def work(block: Block) -> tuple[Block, Ints]:
            if not hasattr(sessions, "mine"):
                sessions.mine = encoder.session()
            return block, self._tags(sessions.mine.encode(block))

        yield from in_threads(work, blocks, threads)

    def nbest_blocks(
        self, blocks: Iterable[Block], n: int, *, search: str = "topn", width: int = 50
    ) -> Iterator[tuple[Block, list[list[tuple[Ints, float]]]]]:
        """Each block with the n best taggings of every sentence, as numbers of tags, and their probabilities."""
        _check_search(search, n)
        for block, corpus in self._encoded_blocks(blocks):
            ranked = []
            for sentence in range(corpus.sentences):
                found = self._candidates(corpus, sentence, n, search, width)
                ranked.append(list(zip(found.paths, found.probabilities.tolist(), strict=True)))
            yield block, ranked

    def _encoded_blocks(self, blocks: Iterable[Block]) -> Iterator[tuple[Block, EncodedCorpus]]:
        session = self._text_encoder().session()
        for block in blocks:
            kernels.prepare(int(block.offsets[-1]))
            yield block, session.encode(block)

    def _trained_columns(self) -> list[str]:
        """All columns of the training data, of which the features may need only some."""
        return [column for column in self.model.reader.get("columns") or () if column != LABEL]

    def _text_encoder(self) -> "TemplateEncoder | NeuralEncoder":
        if isinstance(self.model.encoder, FeatureEncoder):
            raise SapoError("this model was trained on ready-made features and cannot tag a file; use it from Python")
        return self.model.encoder

    def _encoded_batches(self, sentences: Iterable[Sequence[Any]]) -> Iterator[EncodedCorpus]:
        encoder = self.model.encoder
        first = 0
        for batch in _batches(sentences):
            kernels.prepare(sum(len(tokens) for tokens in batch))
            if isinstance(encoder, FeatureEncoder):
                yield encoder.encode(batch, first=first)
            else:
                block = sentence_block(batch, self.columns, first=first, trained=self._trained_columns())
                yield encoder.session().encode(block)
            first += len(batch)

    def _tags(self, corpus: EncodedCorpus) -> Ints:
        return tag_encoded(corpus, self.model.parameters)

    def _candidates(self, corpus: EncodedCorpus, sentence: int, n: int, search: str, width: int) -> Candidates:
        lattice = make_lattice(corpus, sentence, self.model.parameters)
        return search_n(search, lattice, n=n, width=width)

    def _taggings(self, candidates: Candidates) -> list[Tagging]:
        return [
            Tagging(self._names(path), probability, value)
            for path, probability, value in zip(
                candidates.paths, candidates.probabilities.tolist(), candidates.scores.tolist(), strict=True
            )
        ]

    def _names(self, tags: Ints) -> list[str]:
        return [self.labels[tag] for tag in tags.tolist()]


def in_threads(work: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """The results in the order of the items, of which only a few are held at a time."""
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[R]] = deque()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _check_search(search: str, n: int) -> None:
    if not isinstance(n, Integral) or n < 1:
        raise SapoError(f"n must be at least 1, not {n}")
    if search not in SEARCHES:
        raise SapoError(f"unknown search '{search}'{did_you_mean(search, SEARCHES)}")


def sentence_block(
    sentences: Sequence[Sequence[Any]],
    columns: Sequence[str],
    tags: Sequence[Any] = (),
    *,
    first: int = 0,
    trained: Sequence[str] = (),
) -> Block:
    """Sentences of strings (one column) or tuples (several) as a block; `first` is the number of the first of them.

    A token may also bring all columns of the training data, `trained`.
    """
    listed = []
    for number, tokens in enumerate(sentences):
        place = f"sentence {first + number}"
        rows = [_row(token, columns, trained, f"{place}, token {position}") for position, token in enumerate(tokens)]
        values = zip(*rows, strict=True) if rows else [() for _ in columns]
        listed.append(
            Sentence(dict(zip(columns, map(tuple, values), strict=True)), tuple(tags[number]) if tags else None)
        )
    return block_from_sentences(listed, "input")


def check_sentence(tokens: Any, place: str) -> None:
    if isinstance(tokens, str):
        raise SapoError(f"{place}: expected a list of tokens, found the string {tokens[:40]!r}; split it first")
    if not isinstance(tokens, Sequence):
        raise SapoError(f"{place}: expected a list of tokens, found {tokens!r:.40}")


def _row(token: Any, columns: Sequence[str], trained: Sequence[str], place: str) -> tuple[str, ...]:
    row = (token,) if isinstance(token, str) else tuple(token) if isinstance(token, (tuple, list)) else ()
    if len(row) == len(trained) != len(columns):
        row = tuple(value for value, column in zip(row, trained, strict=True) if column in columns)
    if len(row) != len(columns) or not all(isinstance(value, str) for value in row):
        wanted = "a string" if len(columns) == 1 else f"({', '.join(columns)}), {len(columns)} strings"
        raise SapoError(f"{place}: expected {wanted}, found {token!r:.60}")
    return row


def label_ids(block: Block, labels: list[str]) -> Ints:
    """The numbers of a block's labels; labels that are new are added to the list."""
    table = StringTable(labels)
    ids = table.add_fields(*block.column(LABEL))
    labels.extend(table.strings(len(labels)))
    return ids


def _batches(sentences: Iterable[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    batch: list[Sequence[Any]] = []
    for number, sentence in enumerate(sentences):
        check_sentence(sentence, f"sentence {number}")
        batch.append(sentence)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
