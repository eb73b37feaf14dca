"""Encode and decode sentences with a model: the best tagging, the n best, marginals and spans.

`encoded_batches` takes sentences from Python, `encoded_blocks` blocks of a file; `each_block` decodes blocks in
several threads.

A model may have learned other labels than it shows (see `Model.shown`). Results are in terms of the shown labels,
except for `Candidates` and `Distribution`, which belong to the lattice and have the learned ones.

What only probabilities need is imported where it is used, since the first tag of a process should not wait for it.
"""

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from sapo import jit
from sapo.corpus.blocks import LABEL, Block, check_no_table, plain_sentence, sentence_block
from sapo.errors import DataError, OptionError, did_you_mean
from sapo.features.encoded import EncodedCorpus
from sapo.features.encoder import TemplateEncoder
from sapo.jit.arrays import Doubles, Ints, Longs
from sapo.search.chain import check_search, search_n
from sapo.search.decoding import tag_corpus
from sapo.search.lattice import Lattice, make_lattice
from sapo.search.topn import Candidates
from sapo.tagger.forced import Forced, force_block, force_sentences, forced_of_each
from sapo.tagger.model import Model

if TYPE_CHECKING:
    from concurrent.futures import Future

    from sapo.corpus.annotations import Annotation, RankedTagging, TaggedSpan, Taggings
    from sapo.search.marginals import Distribution


T = TypeVar("T")
R = TypeVar("R")
TEXT = "split it first, or give it to Tagger.tag_text"
BATCH = 500  # number of sentences that are tagged at once


def block_of(model: Model, sentences: Sequence[Sequence[Any]], first: int = 0) -> Block:
    """Return sentences of strings or tuples as the block that the model reads; `first` came before, for messages."""
    # all columns of the training data; the features may need only some of them
    trained = [column for column in model.reader.get("columns") or () if column != LABEL]
    return sentence_block(sentences, tuple(model.encoder.columns), first=first, trained=trained)


def encoded_batches(
    model: Model,
    sentences: Iterable[Sequence[Any]],
    session: Any = None,
    *,
    forced: Iterable[Forced | None] | None = None,
    documents: Sequence[int] | None = None,
) -> Iterator[EncodedCorpus]:
    """Encode sentences from Python: lists of strings, tuples or features, as the model needs them.

    A session of the model's encoder remembers new words from call to call. `forced` has the known tags of each
    sentence, or None; `documents` is how many of the sentences each document has, by default all of them.
    """
    columns = tuple(model.encoder.columns)
    session = model.encoder.session() if session is None else session
    known = None if forced is None else forced_of_each(forced)
    first = 0
    batches: Iterable[list[Sequence[Any]] | Block] = _batches(sentences)
    if columns:
        batches = with_repetition(model, _batch_blocks(model, batches), documents)
    for batch in batches:
        if isinstance(batch, Block):
            size = len(batch.offsets) - 1
            _prepare(model, int(batch.offsets[-1]))
            corpus = session.encode(batch)
        else:
            size = len(batch)
            _prepare(model, sum(len(tokens) for tokens in batch))
            corpus = session.encode(batch, first=first)
        last = first + size
        yield corpus if known is None else force_sentences(corpus, known[first:last], model, first=first)
        first = last
    if known is not None and len(known) != first:
        raise OptionError(f"forced tags: there are {len(known)} for {first} sentences; give one (or None) for each")


def _batch_blocks(model: Model, batches: Iterable[Any]) -> Iterator[Block]:
    first = 0
    for batch in batches:
        yield block_of(model, batch, first)
        first += len(batch)


def with_repetition(model: Model, blocks: Iterable[Block], documents: Sequence[int] | None = None) -> Iterator[Block]:
    """Yield the blocks with what the first pass tagged the same words nearby, if the model has a first pass.

    A block is held until the sentences after it are tagged, so blocks of any size give the same result. `documents`
    is how many sentences each document has; by default, the blocks know where a document begins.
    """
    if model.first is None or not isinstance(model.encoder, TemplateEncoder):
        return iter(blocks)
    first, knowledge = model.first, model.encoder.templates.knowledge
    begins = None if documents is None else np.cumsum([0, *documents])

    def tagged(blocks: Iterable[Block]) -> Iterator[tuple[Block, Sequence[str]]]:
        for block, corpus in encoded_blocks(first, blocks):
            yield block, label_names(first, best_tags(first, corpus))

    return with_repeated_column(tagged(blocks), knowledge.words, str(knowledge.repeated), begins)


def with_repeated_column(
    tagged: Iterable[tuple[Block, Sequence[str]]], words: str, column: str, begins: Longs | None = None
) -> Iterator[Block]:
    """Yield blocks, given with the tags of a first pass, with the columns that repetition adds, by its first column."""
    from sapo.features.repetition import TaggedSentence, column_fields, column_names, repeated_columns

    held: deque[Block] = deque()

    def sentences() -> Iterator[TaggedSentence]:
        before, number = None, 0
        for block, tags in tagged:
            held.append(block)
            strings, size = block.strings(words), len(block.offsets) - 1
            starts = block.document_starts(before)
            if begins is not None:
                starts = np.isin(np.arange(number, number + size), begins)
            for (begin, end), new in zip(itertools.pairwise(block.offsets.tolist()), starts.tolist(), strict=True):
                yield TaggedSentence(strings[begin:end], tags[begin:end], new)
            before, number = block, number + size

    def finished() -> Iterator[Block]:
        while held and len(rows) >= len(held[0].offsets) - 1:
            block = held.popleft()
            size = len(block.offsets) - 1
            made = dict(block.made)
            for number, name in enumerate(column_names(column)):
                made[name] = column_fields([value for row in rows[:size] for value in row[number]])
            del rows[:size]
            yield replace(block, made=made)

    rows: list[tuple[list[str], list[str]]] = []
    for row in repeated_columns(sentences()):
        rows.append(row)
        yield from finished()
    yield from finished()


def encoded_sentence(model: Model, tokens: Sequence[Any], forced: Forced | None = None) -> EncodedCorpus:
    """Encode one sentence from Python; `forced` has the tags that are known."""
    return next(encoded_batches(model, [tokens], forced=None if forced is None else [forced]))


def encoded_blocks(model: Model, blocks: Iterable[Block], session: Any = None) -> Iterator[tuple[Block, EncodedCorpus]]:
    """Yield each block of a file with its features. A session remembers new words from file to file."""
    session = model.encoder.session() if session is None else session
    for block in with_repetition(model, blocks):
        _prepare(model, int(block.offsets[-1]))
        yield block, session.encode(block)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What to find for each sentence: its tags, its n best taggings, or tags with probabilities of tags or spans."""

    nbest: int = 0
    marginals: bool = False
    spans: bool = False
    search: str | None = None  # Viterbi for the best tagging, topn for the n best
    width: int = 50  # of a beam
    threads: int = 1  # the result does not depend on them
    forced: str | None = None  # a column of known tags, with '_' for tokens whose tag is not known
    exact: bool = False  # look at all labels of every token


TAGS = Output()  # the best tagging of each sentence


class HasModel(Protocol):
    """A tagger. The tagger of a `Trainer` has a new model after each update."""

    @property
    def model(self) -> Model:
        """The current model."""


def each_block(
    tagger: HasModel,
    blocks: Iterable[Block],
    decode: Callable[[Model, EncodedCorpus], R],
    *,
    threads: int = 1,
    forced: str | None = None,
    session: Any = None,
) -> Iterator[tuple[Block, R]]:
    """Yield each block with the result of `decode`, in order. The number of threads does not change the result.

    `forced` is a column of known tags, as in `Output`. A session of the model's encoder remembers new words from file
    to file; only one thread uses it.
    """

    def work(block: Block, corpus: EncodedCorpus) -> tuple[Block, R]:
        model = tagger.model
        return block, decode(model, corpus if forced is None else force_block(corpus, block, forced, model))

    if threads == 1:
        yield from itertools.starmap(work, encoded_blocks(tagger.model, blocks, session))
        return
    encoder = tagger.model.encoder
    jit.compile_kernels()
    sessions = threading.local()

    def encode_and_work(block: Block) -> tuple[Block, R]:
        if not hasattr(sessions, "mine"):
            sessions.mine = encoder.session()
        return work(block, sessions.mine.encode(block))

    yield from in_threads(encode_and_work, with_repetition(tagger.model, blocks), threads)


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
    finally:  # after Ctrl-C, do not wait for work in progress
        pool.shutdown(wait=False, cancel_futures=True)


def _prepare(model: Model, tokens: int) -> None:
    """Announce the work to the kernels: Viterbi looks at every pair of labels once per token."""
    jit.prepare(tokens=tokens, pairs=tokens * len(model.labels) ** 2)


def plain_sentences(sentences: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """Yield each sentence as a list or tuple of tokens; raise SapoError at anything that holds no sentences."""
    check_no_table(sentences, "sentences")
    if not isinstance(sentences, Iterable) or isinstance(sentences, Mapping):
        raise DataError(f"sentences: expected a list of sentences, found {sentences!r:.40}")
    for number, sentence in enumerate(sentences, 1):
        yield plain_sentence(sentence, f"sentence {number}", TEXT)


def _batches(sentences: Iterable[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    plain = plain_sentences(sentences)
    while batch := list(itertools.islice(plain, BATCH)):
        yield batch


FEW = 300  # taggings of a sentence: with more, all sentences of a block would fill the memory


def best_tags(model: Model, corpus: EncodedCorpus) -> Ints:
    """Return the tags of all tokens, found by Viterbi."""
    return model.as_shown(tag_corpus(corpus, model.tagging))


def searched_tags(model: Model, corpus: EncodedCorpus, *, search: str, width: int) -> Ints:
    """Return the tags of all tokens, found by the named search; beam search, of this width, may miss the best."""
    found = [candidates(model, corpus, i, 1, search, width).paths[0] for i in range(corpus.sentences)]
    return model.as_shown(np.concatenate([np.empty(0, np.int32), *found]))


def sentence_lattice(model: Model, corpus: EncodedCorpus, sentence: int, *, exact: bool = False) -> Lattice:
    """Return the scores of one sentence; with many labels only of those worth looking at, unless it is `exact`."""
    return make_lattice(corpus, sentence, model.tagging, exact=exact)


def calibrated_lattice(model: Model, corpus: EncodedCorpus, sentence: int, *, exact: bool = False) -> Lattice:
    """Return the scores of one sentence, divided by the temperature of the model."""
    return sentence_lattice(model, corpus, sentence, exact=exact).tempered(model.temperature)


def lattices(model: Model, sentences: Iterable[Sequence[Any]]) -> Iterator[Lattice]:
    """Yield the lattice of each sentence, for `sapo.search` and `sapo.search.marginals`.

    Its labels are those that the model learned, `model.labels`. Scores are divided by the temperature of the model, so
    that they give calibrated probabilities.

    >>> import sapo
    >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
    >>> [lattice.node.shape for lattice in lattices(tagger.model, [["the", "dog"]])]
    [(2, 2)]
    """
    for corpus in encoded_batches(model, sentences):
        for sentence in range(corpus.sentences):
            yield calibrated_lattice(model, corpus, sentence, exact=True)


def candidates(model: Model, corpus: EncodedCorpus, sentence: int, n: int, search: str, width: int) -> Candidates:
    """Return the n best taggings of one sentence."""
    lattice = sentence_lattice(model, corpus, sentence)
    jit.prepare(pairs=(width if search == "beam" else n) * lattice.node.size)
    return search_n(search, lattice, n=n, width=width)


def sentence_distribution(model: Model, corpus: EncodedCorpus, sentence: int, *, exact: bool = False) -> "Distribution":
    """Return all taggings of one sentence with their probabilities."""
    from sapo.search.marginals import distribution

    lattice = calibrated_lattice(model, corpus, sentence, exact=exact)
    jit.prepare(pairs=3 * lattice.node.size * lattice.labels)  # to sum takes as long as three searches
    return distribution(lattice)


def tagging_probability(model: Model, corpus: EncodedCorpus, sentence: int, tags: Sequence[str]) -> float:
    """Return the probability of a tagging, given in shown labels, over all taggings of a sentence.

    Raises SapoError if the tags do not fit the model or the sentence.
    """
    first, last = corpus.offsets[sentence : sentence + 2].tolist()
    tags = plain_sentence(tags, "tags")
    if len(tags) != last - first:
        raise OptionError(f"there are {len(tags)} tags for {last - first} tokens; give one for each token")
    for position, tag in enumerate(tags):
        if tag not in model.outer_labels:
            hint = did_you_mean(str(tag), model.outer_labels)
            raise OptionError(f"tags: token index {position}: the model has no label '{tag}'{hint}")
    learned, numbers = learned_tags(model, tags), {label: number for number, label in enumerate(model.labels)}
    path = [numbers.get(label, -1) for label in learned]
    # the model never shows a tagging that breaks the scheme, or that needs a label it has not learned
    if -1 in path or label_names(model, model.as_shown(np.array(path, np.int32))) != list(tags):
        return 0.0
    return sentence_distribution(model, corpus, sentence).probability(path)


def learned_tags(model: Model, tags: Sequence[str]) -> list[str]:
    """Return tags in the scheme that the model learned, which may not be the one that it shows."""
    scheme = model.constraints.scheme
    if not model.shown or scheme is None:
        return list(tags)
    from sapo.tags.spans import loose_spans, spans_to_tags

    return spans_to_tags(loose_spans(tags), len(tags), scheme)


@dataclass(frozen=True, slots=True)
class Tagging:
    """One of the n best taggings of a sentence, with two different probabilities.

    >>> Tagging(["DT", "NN"], probability=0.7, p_k=0.9, score=4.2).tags
    ['DT', 'NN']
    """

    tags: list[str]
    probability: float  # among all taggings
    p_k: float  # among these n taggings only, as in the paper
    score: float


def gold_lattices(tagger: HasModel, blocks: Iterable[Block]) -> Iterator[tuple[Lattice, list[str]]]:
    """Yield the lattice of each sentence of labeled blocks, with its gold tags as learned labels."""
    for block, corpus in encoded_blocks(tagger.model, blocks):
        model, tags = tagger.model, block.strings(LABEL)
        for sentence in range(corpus.sentences):
            first, last = corpus.offsets[sentence : sentence + 2].tolist()
            yield calibrated_lattice(model, corpus, sentence, exact=True), learned_tags(model, tags[first:last])


def taggings(model: Model, corpus: EncodedCorpus, sentence: int, found: Candidates) -> list[Tagging]:
    """Return the candidates of a sentence with the names of their tags, and their probabilities."""
    each = ranked(model, found, sentence_distribution(model, corpus, sentence))
    return [
        Tagging(label_names(model, one.tags), one.probability, one.p_k, score)
        for one, score in zip(each, found.scores.tolist(), strict=True)
    ]


def all_ranked(model: Model, corpus: EncodedCorpus, *, n: int, search: str, width: int) -> "Iterable[Taggings]":
    """Return the n best taggings of every sentence; for a large n each is searched when its turn comes."""
    found = (candidates(model, corpus, sentence, n, search, width) for sentence in range(corpus.sentences))
    each = (ranked(model, one, sentence_distribution(model, corpus, i)) for i, one in enumerate(found))
    return each if n > FEW else list(each)


def ranked(model: Model, found: Candidates, distribution: "Distribution") -> "list[RankedTagging]":
    """Return the candidates of a sentence with their probabilities."""
    from sapo.corpus.annotations import RankedTagging
    from sapo.search.marginals import tempered

    p_k = tempered(found, model.temperature).p_k.tolist()
    exact = distribution.probabilities(found)
    return [RankedTagging(*values) for values in zip(model.as_shown(found.paths), exact, p_k, strict=True)]


def marginal(model: Model, corpus: EncodedCorpus, sentence: int) -> Doubles:
    """Return P(the token has the label), [tokens, labels], over all taggings of one sentence."""
    return shown_marginal(model, sentence_distribution(model, corpus, sentence).marginal)


def all_marginals(model: Model, corpus: EncodedCorpus) -> Doubles:
    """Return P(the token has the label), [tokens, labels], for the tokens of all sentences."""
    found = np.empty((corpus.tokens, len(model.outer_labels)), np.float64)
    for sentence in range(corpus.sentences):
        first, last = corpus.offsets[sentence : sentence + 2].tolist()
        found[first:last] = marginal(model, corpus, sentence)
    return found


def spans_of(model: Model, corpus: EncodedCorpus, tags: Ints) -> "list[list[TaggedSpan]]":
    """Return the spans that these tags mark in each sentence, with their probabilities over all taggings."""
    from sapo.corpus.annotations import TaggedSpan
    from sapo.search.marginals import span_reading
    from sapo.tags.schemes import as_prefixed
    from sapo.tags.spans import loose_spans

    reading, names = span_reading(model.labels), as_prefixed(model.outer_labels)
    result = []
    for sentence in range(corpus.sentences):
        first, last = corpus.offsets[sentence : sentence + 2].tolist()
        spans = loose_spans([names[tag] for tag in tags[first:last].tolist()])
        shares = sentence_distribution(model, corpus, sentence, exact=True).span_probabilities(reading, spans).tolist()
        result.append(
            [TaggedSpan(span.start, span.end, span.type, share) for span, share in zip(spans, shares, strict=True)]
        )
    return result


def span_probability(model: Model, corpus: EncodedCorpus, sentence: int, start: int, end: int, type: str) -> float:
    """Return the probability over all taggings that the tokens start, ..., end - 1 are a span of this type."""
    from sapo.search.marginals import check_span, span_reading
    from sapo.tags.spans import Span

    first, last = corpus.offsets[sentence : sentence + 2].tolist()
    check_span(start, end, last - first)
    reading, whole = span_reading(model.labels), sentence_distribution(model, corpus, sentence, exact=True)
    return float(whole.span_probabilities(reading, [Span(start, end, type)])[0])


@dataclass(frozen=True, slots=True)
class BestTagging:
    """The best tagging of a sentence. All probabilities are over all taggings."""

    tags: list[str]
    probabilities: list[float]  # of each tag
    spans: "list[TaggedSpan]"  # if the labels mark them
    log_probability: float  # of the whole tagging
    expected_spans: float  # how many spans the model expects in the sentence


def best_taggings(model: Model, sentences: Iterable[Sequence[Any]], session: Any = None) -> Iterator[BestTagging]:
    """Tag many sentences, and give the probabilities of what was found; all sentences of a batch are summed at once."""
    from sapo.corpus.annotations import TaggedSpan
    from sapo.search.marginals import span_reading
    from sapo.search.sums import sum_corpus
    from sapo.tags.schemes import Prefix, label_kinds, looks_like_spans
    from sapo.tags.spans import read_spans

    kinds = label_kinds(model.outer_labels) if looks_like_spans(model.outer_labels) else None
    for corpus in encoded_batches(model, sentences, session):
        sums = sum_corpus(corpus, model.tagging, model.temperature)
        probable, tags, offsets = shown_marginal(model, sums.marginal), model.as_shown(sums.tags), corpus.offsets
        shares = np.minimum(probable[np.arange(len(tags)), tags], 1.0).tolist()
        spans: list[TaggedSpan] = []
        owned, begun = np.zeros(len(offsets), np.int64), np.zeros(len(tags) + 1)
        if kinds is not None:
            found = read_spans(kinds, tags, offsets)
            owned = np.searchsorted(found.starts, offsets)  # the first span of each sentence
            before = np.repeat(offsets[:-1], np.diff(owned))
            places = (found.starts - before).tolist(), (found.ends - before).tolist()
            chances = np.zeros(len(found.starts))
            if len(chances):
                chances = np.minimum(sums.span_probabilities(span_reading(model.labels), found, kinds.type_names), 1.0)
            types = [kinds.type_names[number] for number in found.types.tolist()]
            spans = list(map(TaggedSpan, *places, types, chances.tolist()))
            begins = (kinds.prefixes == Prefix.BEGIN) | (kinds.prefixes == Prefix.SINGLE)
            begun[1:] = np.cumsum(probable[:, begins].sum(axis=1))
        names, edges, firsts = label_names(model, tags), offsets.tolist(), owned.tolist()
        expected = np.maximum(np.diff(begun[offsets]), 0.0).tolist()
        for i, log_best in enumerate(sums.log_best.tolist()):
            own = slice(edges[i], edges[i + 1])
            yield BestTagging(names[own], shares[own], spans[firsts[i] : firsts[i + 1]], log_best, expected[i])


def tag_blocks(
    tagger: HasModel, blocks: Iterable[Block], output: Output = TAGS, session: Any = None
) -> "Iterator[tuple[Block, Annotation]]":
    """Yield each block with its tags, or with whatever else `output` asks for, in order.

    If it asks for more than some hundred taggings, each sentence is searched when its turn comes.
    """
    if output.search is not None or output.nbest:
        output = replace(output, search=check_search(output.search or "topn", output.nbest or 1))
    decode = partial(annotate, output=output)
    return each_block(tagger, blocks, decode, threads=output.threads, forced=output.forced, session=session)


def annotate(model: Model, corpus: EncodedCorpus, output: Output) -> "Annotation":
    """Return what a model adds to a block, as its file format writes it."""
    from sapo.corpus.annotations import Annotation

    labels = model.outer_labels
    if output.nbest:
        best = all_ranked(model, corpus, n=output.nbest, search=output.search or "topn", width=output.width)
        return Annotation(None, labels, taggings=best)
    if output.search is not None:
        return Annotation(searched_tags(model, corpus, search=output.search, width=output.width), labels)
    tags = best_tags(model, corpus)
    marginals = all_marginals(model, corpus) if output.marginals else None
    return Annotation(tags, labels, marginals, spans_of(model, corpus, tags) if output.spans else None)


def label_names(model: Model, tags: Ints) -> list[str]:
    """Return the names of tags, which are indices in `outer_labels`."""
    labels = model.outer_labels
    return [labels[tag] for tag in tags.tolist()]


def by_label(model: Model, marginal: Doubles) -> list[dict[str, float]]:
    """Return each row of probabilities as a dictionary from label to probability."""
    return [dict(zip(model.outer_labels, row, strict=True)) for row in marginal.tolist()]


def shown_marginal(model: Model, marginal: Doubles) -> Doubles:
    """Add up the probabilities of labels that are shown by the same name."""
    places = model.shown_places
    if places is None:
        return marginal
    shown = np.zeros((len(marginal), len(model.outer_labels)))
    np.add.at(shown.T, places, marginal.T)
    return shown
