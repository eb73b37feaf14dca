"""Strings in, tags out: a trained model in use."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sapo import kernels
from sapo.corpus import LABEL, Block, Sentence, block_from_sentences, format_of, read_blocks
from sapo.corpus.probable import RankedTagging, TaggedSpan
from sapo.corpus.schemes import Span, loose_spans, spans_to_tags
from sapo.encode.encoded import EncodedCorpus
from sapo.encode.encoder import TemplateEncoder
from sapo.encode.partial import MISSING, refuse_missing
from sapo.encode.ready import FeatureEncoder, FeatureSession
from sapo.encode.strings import StringTable
from sapo.encode.template import did_you_mean
from sapo.errors import SapoError
from sapo.evaluate import Scores, score
from sapo.forcing import Forced, forced_column, forced_lists, line_of_token, with_forced
from sapo.kernels.types import Doubles, Ints
from sapo.labelbias import biased_model, with_label_bias
from sapo.lattice import Lattice, Parameters, make_lattice
from sapo.learn import tag as tag_encoded
from sapo.model import Model, load_model, save_model
from sapo.probabilities import Distribution, check_span, distribution, span_reading, tempered, top_n_marginals
from sapo.search import SEARCHES, Candidates, search_n

if TYPE_CHECKING:
    from sapo.neural.encoder import NeuralEncoder

T = TypeVar("T")
R = TypeVar("R")
BATCH = 500  # sentences that are tagged in one go


@dataclass(frozen=True, slots=True)
class Tagging:
    """One of the n best taggings, with two probabilities that must not be mixed up."""

    tags: list[str]
    probability: float  # over these n only, the paper's P_k
    score: float
    exact_probability: float  # over all taggings


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
        """As they are shown; the model may have learned others (see `Model.shown`)."""
        return self.model.outer_labels

    @property
    def parameters(self) -> Parameters:
        """The weights that tag."""
        return with_label_bias(self.model)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a token must bring: ('word',) means strings, ('word', 'pos') pairs; () means ready-made features."""
        encoder = self.model.encoder
        return () if isinstance(encoder, FeatureEncoder) else tuple(encoder.columns)

    def with_bias(self, label: str, value: float) -> "Tagger":
        """A tagger where each token scores this much more with the label; it has the same weights.

        A bias on O above 0 finds fewer spans, and more of them are right; below 0 it finds more.

        >>> import sapo
        >>> tagger = sapo.train([(["a", "dog"], ["O", "B-X"])], template="pos", epochs=2)
        >>> tagger.with_bias("O", 100).tag(["a", "dog"])
        ['O', 'O']
        """
        return Tagger(biased_model(self.model, label, value))

    def tag(self, tokens: Sequence[Any], *, forced: Forced | None = None) -> list[str]:
        """The tags of one sentence. Its tokens are strings, tuples or features, as in training (or see `columns`).

        `forced` are tags that are known, by the number of the token: {3: "B-NP"}.
        """
        return self.tag_many([tokens], forced=None if forced is None else [forced])[0]

    def tag_many(
        self, sentences: Iterable[Sequence[Any]], *, forced: Sequence[Forced | None] | None = None
    ) -> list[list[str]]:
        """The tags of many sentences; much faster than one at a time. `forced` has known tags for each of them."""
        result: list[list[str]] = []
        for corpus in self._encoded_batches(sentences, forced):
            tags = self._names(self._tags(corpus))
            result.extend(tags[a:b] for a, b in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True))
        return result

    def nbest(
        self, tokens: Sequence[Any], n: int = 5, *, search: str = "topn", width: int = 50, forced: Forced | None = None
    ) -> list[Tagging]:
        """The n best taggings of a sentence, best first, with their probabilities among these n and among all.

        The searches topn and astar are exact, beam (of this width) is not. `forced` are tags that are known.
        """
        corpus, candidates = self._top_n(tokens, n, search, width, forced)
        return [
            Tagging(self._names(path), probability, value, exact)
            for path, probability, value, exact in zip(
                self.as_shown(candidates.paths),
                self._tempered(candidates).probabilities.tolist(),
                candidates.scores.tolist(),
                self._distribution(corpus, 0).probabilities(candidates),
                strict=True,
            )
        ]

    def top_n_mass(self, tokens: Sequence[Any], n: int = 5, *, search: str = "topn", width: int = 50) -> float:
        """How much of the probability of all taggings the n best have: near 1, `nbest` tells nearly all there is."""
        corpus, candidates = self._top_n(tokens, n, search, width)
        return self._distribution(corpus, 0).top_n_mass(candidates)

    def marginals(self, tokens: Sequence[Any], *, forced: Forced | None = None) -> list[dict[str, float]]:
        """For each token the probability of each label, over all taggings, or all that have the forced tags: exact."""
        return self._by_label(self._shown_marginal(self._distribution(self.encode(tokens, forced=forced), 0).marginal))

    def marginal_arrays(self, sentences: Iterable[Sequence[Any]]) -> list[Doubles]:
        """The same for many sentences, as arrays [tokens, labels]; the labels are those of `labels`, in their order."""
        return [
            self._shown_marginal(self._distribution(corpus, sentence).marginal)
            for corpus in self._encoded_batches(sentences)
            for sentence in range(corpus.sentences)
        ]

    def top_n_marginals(
        self, tokens: Sequence[Any], n: int = 5, *, search: str = "topn", width: int = 50
    ) -> list[dict[str, float]]:
        """For each token the probability of each label, over the n best taggings only."""
        _, candidates = self._top_n(tokens, n, search, width)
        marginal = top_n_marginals(self._tempered(candidates), len(self.model.labels))
        return self._by_label(self._shown_marginal(marginal))

    def spans(self, tokens: Sequence[Any]) -> list[TaggedSpan]:
        """The spans of the best tagging, each with its probability over all taggings: exact."""
        corpus = self.encode(tokens)
        return self._spans(corpus, self._tags(corpus))[0]

    def span_probability(self, tokens: Sequence[Any], start: int, end: int, type: str) -> float:
        """P(exactly the tokens start, ..., end - 1 are a span of this type), over all taggings, chosen or not: exact.

        A tagging has the spans that conlleval reads in it, in whatever scheme, also where it breaks its scheme.
        """
        corpus = self.encode(tokens)
        check_span(start, end, corpus.tokens)
        reading = span_reading(self.model.labels)
        return float(self._distribution(corpus, 0).span_probabilities(reading, [Span(start, end, type)])[0])

    def encode(self, tokens: Sequence[Any], *, forced: Forced | None = None) -> EncodedCorpus:
        """One sentence as integers: the features that the model knows of each token."""
        return next(self._encoded_batches([tokens], None if forced is None else [forced]))

    def lattices(self, sentences: Iterable[Sequence[Any]]) -> Iterator[Lattice]:
        """The scores of each sentence, for `sapo.search` and `sapo.probabilities`."""
        for corpus in self._encoded_batches(sentences):
            for sentence in range(corpus.sentences):
                yield make_lattice(corpus, sentence, self.parameters)

    def gold_lattices(self, path: str | Path, **reading: Any) -> Iterator[tuple[Lattice, list[str]]]:
        """The scores of each sentence of a labelled file, with its gold tags as the model learns them."""
        for block, corpus in self.encoded_blocks(self.read_blocks(path, labelled=True, **reading)):
            tags = block.strings(LABEL)
            for sentence in range(corpus.sentences):
                first, last = corpus.offsets[sentence : sentence + 2].tolist()
                yield make_lattice(corpus, sentence, self.parameters), self.learned_tags(tags[first:last])

    def learned_tags(self, tags: Sequence[str]) -> list[str]:
        """Gold tags in the scheme that the model learned."""
        scheme = self.model.constraints.scheme
        if not self.model.shown or scheme is None:
            return list(tags)
        return spans_to_tags(loose_spans(tags), len(tags), scheme)

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
        self.refuse_missing(labels, path)
        return score(labels, np.concatenate(golds), np.concatenate(found), offsets, strict=strict)

    def refuse_missing(self, labels: Sequence[str], path: str | Path) -> None:
        """The labels of a file that is evaluated must not have the mark of missing tags among them."""
        refuse_missing(labels, [self.model.record.get("missing", MISSING)], str(path))

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

    def tag_blocks(
        self,
        blocks: Iterable[Block],
        *,
        threads: int = 1,
        forced: str | None = None,
        search: str | None = None,
        width: int = 50,
    ) -> Iterator[tuple[Block, Ints]]:
        """Each block with the numbers of its tags, in order. The number of threads does not change the result.

        `forced` is a column with tags that are known, and '_' where none is. The best tagging is found by Viterbi, or
        by the search of this name (a beam of this width may miss it).
        """
        if search is None:
            return self._each_block(blocks, self._tags, threads, forced)
        _check_search(search, 1)

        def best(corpus: EncodedCorpus) -> Ints:
            found = [self._candidates(corpus, i, 1, search, width).paths[0] for i in range(corpus.sentences)]
            return self.as_shown(np.concatenate([np.empty(0, np.int32), *found]))

        return self._each_block(blocks, best, threads, forced)

    def nbest_blocks(
        self,
        blocks: Iterable[Block],
        n: int,
        *,
        search: str = "topn",
        width: int = 50,
        threads: int = 1,
        forced: str | None = None,
    ) -> Iterator[tuple[Block, list[list[RankedTagging]]]]:
        """Each block with the n best taggings of every sentence, as numbers of tags, and their probabilities."""
        _check_search(search, n)

        def rank(corpus: EncodedCorpus) -> list[list[RankedTagging]]:
            ranked = []
            for sentence in range(corpus.sentences):
                found = self._candidates(corpus, sentence, n, search, width)
                paths = self.as_shown(found.paths)
                shares = self._tempered(found).probabilities.tolist()
                exact = self._distribution(corpus, sentence).probabilities(found)
                ranked.append([RankedTagging(*values) for values in zip(paths, shares, exact, strict=True)])
            return ranked

        return self._each_block(blocks, rank, threads, forced)

    def marginal_blocks(
        self, blocks: Iterable[Block], *, threads: int = 1, forced: str | None = None
    ) -> Iterator[tuple[Block, tuple[Ints, Doubles]]]:
        """Each block with its tags, and the exact probabilities of all labels, [tokens, labels]."""

        def both(corpus: EncodedCorpus) -> tuple[Ints, Doubles]:
            marginal = np.empty((corpus.tokens, len(self.labels)), np.float64)
            for sentence in range(corpus.sentences):
                first, last = corpus.offsets[sentence : sentence + 2].tolist()
                marginal[first:last] = self._shown_marginal(self._distribution(corpus, sentence).marginal)
            return self._tags(corpus), marginal

        return self._each_block(blocks, both, threads, forced)

    def span_blocks(
        self, blocks: Iterable[Block], *, threads: int = 1, forced: str | None = None
    ) -> Iterator[tuple[Block, tuple[Ints, list[list[TaggedSpan]]]]]:
        """Each block with its tags, and the spans of every sentence with their exact probabilities."""

        def both(corpus: EncodedCorpus) -> tuple[Ints, list[list[TaggedSpan]]]:
            tags = self._tags(corpus)
            return tags, self._spans(corpus, tags)

        return self._each_block(blocks, both, threads, forced)

    def _each_block(
        self, blocks: Iterable[Block], work: Callable[[EncodedCorpus], R], threads: int, forced: str | None
    ) -> Iterator[tuple[Block, R]]:
        if threads == 1:
            for block, corpus in self.encoded_blocks(blocks, forced):
                yield block, work(corpus)
            return
        encoder = self._text_encoder()
        kernels.compile_kernels()
        sessions = threading.local()

        def encode_and_work(block: Block) -> tuple[Block, R]:
            if not hasattr(sessions, "mine"):
                sessions.mine = encoder.session()
            return block, work(self._forced_block(block, sessions.mine.encode(block), forced))

        yield from in_threads(encode_and_work, blocks, threads)

    def encoded_blocks(
        self, blocks: Iterable[Block], forced: str | None = None
    ) -> Iterator[tuple[Block, EncodedCorpus]]:
        """Each block with its features as numbers, and the forced tags of a column."""
        session = self._text_encoder().session()
        for block in blocks:
            kernels.prepare(int(block.offsets[-1]))
            yield block, self._forced_block(block, session.encode(block), forced)

    def _forced_block(self, block: Block, corpus: EncodedCorpus, forced: str | None) -> EncodedCorpus:
        if forced is None:
            return corpus
        return with_forced(corpus, forced_column(block, forced), self.model, partial(line_of_token, block))

    def _trained_columns(self) -> list[str]:
        """All columns of the training data, of which the features may need only some."""
        return [column for column in self.model.reader.get("columns") or () if column != LABEL]

    def _text_encoder(self) -> "TemplateEncoder | NeuralEncoder":
        if isinstance(self.model.encoder, FeatureEncoder):
            raise SapoError("this model was trained on ready-made features and cannot tag a file; use it from Python")
        return self.model.encoder

    def _encoded_batches(
        self, sentences: Iterable[Sequence[Any]], forced: Sequence[Forced | None] | None = None
    ) -> Iterator[EncodedCorpus]:
        first = 0
        for corpus in self._plain_batches(sentences):
            if forced is not None:
                tags = forced_lists(forced[first : first + corpus.sentences], corpus.offsets, first)
                corpus = with_forced(corpus, tags, self.model, partial(_token_number, corpus, first))
            first += corpus.sentences
            yield corpus
        if forced is not None and len(forced) != first:
            raise SapoError(f"forced tags: there are {len(forced)} for {first} sentences; give one (or None) for each")

    def _plain_batches(self, sentences: Iterable[Sequence[Any]]) -> Iterator[EncodedCorpus]:
        session = self.model.encoder.session()
        first = 0
        for batch in _batches(sentences):
            kernels.prepare(sum(len(tokens) for tokens in batch))
            if isinstance(session, FeatureSession):
                yield session.encode(batch, first=first)
            else:
                yield session.encode(sentence_block(batch, self.columns, first=first, trained=self._trained_columns()))
            first += len(batch)

    def _tags(self, corpus: EncodedCorpus) -> Ints:
        return self.as_shown(tag_encoded(corpus, self.parameters))

    def _candidates(self, corpus: EncodedCorpus, sentence: int, n: int, search: str, width: int) -> Candidates:
        """Of labels as the model learned them; `as_shown` translates."""
        return search_n(search, make_lattice(corpus, sentence, self.parameters), n=n, width=width)

    def as_shown(self, tags: Ints) -> Ints:
        """Places in `labels`, of labels as the model learned them."""
        places = self.model.shown_places
        return tags if places is None else places[tags]

    def _shown_marginal(self, marginal: Doubles) -> Doubles:
        """Of labels that are shown alike, the sum."""
        places = self.model.shown_places
        if places is None:
            return marginal
        shown = np.zeros((len(marginal), len(self.labels)))
        np.add.at(shown.T, places, marginal.T)
        return shown

    def _top_n(
        self, tokens: Sequence[Any], n: int, search: str, width: int, forced: Forced | None = None
    ) -> tuple[EncodedCorpus, Candidates]:
        _check_search(search, n)
        corpus = self.encode(tokens, forced=forced)
        return corpus, self._candidates(corpus, 0, n, search, width)

    def _tempered(self, candidates: Candidates) -> Candidates:
        return tempered(candidates, self.model.temperature)

    def _distribution(self, corpus: EncodedCorpus, sentence: int) -> Distribution:
        lattice = make_lattice(corpus, sentence, self.parameters)
        return distribution(lattice.tempered(self.model.temperature))

    def _spans(self, corpus: EncodedCorpus, tags: Ints) -> list[list[TaggedSpan]]:
        reading = span_reading(self.model.labels)
        result = []
        for sentence in range(corpus.sentences):
            first, last = corpus.offsets[sentence : sentence + 2].tolist()
            spans = loose_spans(self._names(tags[first:last]))
            shares = self._distribution(corpus, sentence).span_probabilities(reading, spans).tolist()
            result.append(
                [TaggedSpan(span.start, span.end, span.type, share) for span, share in zip(spans, shares, strict=True)]
            )
        return result

    def _by_label(self, marginal: Doubles) -> list[dict[str, float]]:
        return [dict(zip(self.labels, row, strict=True)) for row in marginal.tolist()]

    def _names(self, tags: Ints) -> list[str]:
        labels = self.labels
        return [labels[tag] for tag in tags.tolist()]


def _token_number(corpus: EncodedCorpus, first: int, token: int) -> str:
    sentence = int(np.searchsorted(corpus.offsets, token, side="right")) - 1
    return f"sentence {first + sentence}, token {token - int(corpus.offsets[sentence])}"


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
