"""Encode what a model is to tag, a few hundred sentences at a time.

`encoded_batches` takes sentences from Python, `encoded_blocks` blocks of a file; `each_block` works on blocks in
several threads.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from sapo import kernels
from sapo.corpus import LABEL, Block
from sapo.corpus.tables import check_no_table
from sapo.corpus.tokens import plain_sentence, sentence_block
from sapo.encode.encoded import EncodedCorpus
from sapo.errors import SapoError
from sapo.model import Model

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
R = TypeVar("R")
TEXT = "split it first, or give it to Tagger.tag_text"
BATCH = 500  # number of sentences that are tagged at once


def block_of(model: Model, sentences: Sequence[Sequence[Any]], first: int = 0) -> Block:
    """Return sentences of strings or tuples as the block that the model reads; `first` came before, for messages."""
    # all columns of the training data; the features may need only some of them
    trained = [column for column in model.reader.get("columns") or () if column != LABEL]
    return sentence_block(sentences, tuple(model.encoder.columns), first=first, trained=trained)


def encoded_batches(model: Model, sentences: Iterable[Sequence[Any]], session: Any = None) -> Iterator[EncodedCorpus]:
    """Encode sentences from Python: lists of strings, tuples or features, as the model needs them.

    A session of the model's encoder remembers new words from call to call.
    """
    columns = tuple(model.encoder.columns)
    session = model.encoder.session() if session is None else session
    first = 0
    for batch in _batches(sentences):
        _prepare(model, sum(len(tokens) for tokens in batch))
        if columns:
            yield session.encode(block_of(model, batch, first))
        else:
            yield session.encode(batch, first=first)
        first += len(batch)


def encoded_blocks(model: Model, blocks: Iterable[Block], session: Any = None) -> Iterator[tuple[Block, EncodedCorpus]]:
    """Yield each block of a file with its features. A session remembers new words from file to file."""
    session = model.encoder.session() if session is None else session
    for block in blocks:
        _prepare(model, int(block.offsets[-1]))
        yield block, session.encode(block)


def each_block(
    model: Model, blocks: Iterable[Block], work: Callable[[Block, EncodedCorpus], R], threads: int, session: Any = None
) -> Iterator[tuple[Block, R]]:
    """Yield each block with the result of `work`, in order. The number of threads does not change the result.

    Only one thread uses the session.
    """
    if threads == 1:
        for block, corpus in encoded_blocks(model, blocks, session):
            yield block, work(block, corpus)
        return
    encoder = model.encoder
    kernels.compile_kernels()
    sessions = threading.local()

    def encode_and_work(block: Block) -> tuple[Block, R]:
        if not hasattr(sessions, "mine"):
            sessions.mine = encoder.session()
        return block, work(block, sessions.mine.encode(block))

    yield from in_threads(encode_and_work, blocks, threads)


def in_threads(work: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """Yield the results of `work` in the order of the items, holding only a few of them at a time.

    >>> list(in_threads(abs, [-1, -2], 2))
    [1, 2]
    """
    from concurrent.futures import ThreadPoolExecutor  # which tagging in one thread need not load

    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[R]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:  # after Ctrl-C nobody waits for what is being done
        pool.shutdown(wait=False, cancel_futures=True)


def _prepare(model: Model, tokens: int) -> None:
    """Announce the work to the kernels: Viterbi looks at every pair of labels once per token."""
    kernels.prepare(tokens=tokens, pairs=tokens * len(model.labels) ** 2)


def plain_sentences(sentences: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """Yield each sentence as a list or tuple of tokens; raise SapoError at anything that holds no sentences."""
    check_no_table(sentences, "sentences")
    if not isinstance(sentences, Iterable) or isinstance(sentences, Mapping):
        raise SapoError(f"sentences: expected a list of sentences, found {sentences!r:.40}")
    for number, sentence in enumerate(sentences, 1):
        yield plain_sentence(sentence, f"sentence {number}", TEXT)


def _batches(sentences: Iterable[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    plain = plain_sentences(sentences)
    while batch := list(islice(plain, BATCH)):
        yield batch
