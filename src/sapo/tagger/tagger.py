"""Strings in, tags out: a trained model in use."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sapo.corpus import Block, read_blocks
from sapo.corpus.predictions import RankedTagging, TaggedSpan
from sapo.encode.encoded import EncodedCorpus
from sapo.errors import SapoError
from sapo.evaluate import Scores
from sapo.kernels.types import Doubles, Ints
from sapo.model import Model, load_model, save_model
from sapo.search import Candidates, check_search
from sapo.search.lattice import Lattice, Parameters
from sapo.search.probabilities import check_span, span_reading
from sapo.tagger import decoding, files
from sapo.tagger.forced import Forced, force_sentences, forced_of_each
from sapo.tagger.streams import encoded_batches
from sapo.tags import Span


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
    def columns(self) -> tuple[str, ...]:
        """What a token must bring: ('word',) means strings, ('word', 'pos') pairs; () means ready-made features."""
        return tuple(self.model.encoder.columns)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels as they are shown; the model may have learned others (see `Model.shown`)."""
        return self.model.outer_labels

    @property
    def parameters(self) -> Parameters:
        """The weights that tag."""
        return self.model.tagging

    def with_bias(self, label: str, value: float) -> "Tagger":
        """A tagger where each token scores this much more with the label; it has the same weights.

        A bias on O above 0 finds fewer spans, and more of them are right; below 0 it finds more.

        >>> import sapo
        >>> tagger = sapo.train([(["a", "dog"], ["O", "B-X"])], template="pos", epochs=2)
        >>> tagger.with_bias("O", 100).tag(["a", "dog"])
        ['O', 'O']
        """
        return Tagger(self.model.with_bias(label, value))

    def tag(self, tokens: Sequence[Any], *, forced: Forced | None = None) -> list[str]:
        """The tags of one sentence. Its tokens are strings, tuples or features, as in training (or see `columns`).

        `forced` are tags that are known, by the number of the token: {3: "B-NP"}.
        """
        return self.tag_many([tokens], forced=None if forced is None else [forced])[0]

    def tag_many(
        self, sentences: Iterable[Sequence[Any]], *, forced: Iterable[Forced | None] | None = None
    ) -> list[list[str]]:
        """The tags of many sentences; much faster than one at a time. `forced` has known tags for each of them."""
        result: list[list[str]] = []
        for corpus in self._encoded_batches(sentences, forced):
            tags = decoding.label_names(self.model, decoding.best_tags(self.model, corpus))
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
            Tagging(decoding.label_names(self.model, one.tags), one.probability, value, one.exact_probability)
            for one, value in zip(
                decoding.ranked(self.model, corpus, 0, candidates), candidates.scores.tolist(), strict=True
            )
        ]

    def top_n_mass(self, tokens: Sequence[Any], n: int = 5, *, search: str = "topn", width: int = 50) -> float:
        """How much of the probability of all taggings the n best have: near 1, `nbest` tells nearly all there is."""
        corpus, candidates = self._top_n(tokens, n, search, width)
        return decoding.sentence_distribution(self.model, corpus, 0).top_n_mass(candidates)

    def marginals(self, tokens: Sequence[Any], *, forced: Forced | None = None) -> list[dict[str, float]]:
        """For each token the probability of each label, over all taggings, or all that have the forced tags: exact."""
        corpus = self.encode(tokens, forced=forced)
        return decoding.by_label(self.model, decoding.marginal(self.model, corpus, 0))

    def marginal_arrays(self, sentences: Iterable[Sequence[Any]]) -> list[Doubles]:
        """The same for many sentences, as arrays [tokens, labels]; the labels are those of `labels`, in their order."""
        return [
            decoding.marginal(self.model, corpus, sentence)
            for corpus in self._encoded_batches(sentences)
            for sentence in range(corpus.sentences)
        ]

    def top_n_marginals(
        self, tokens: Sequence[Any], n: int = 5, *, search: str = "topn", width: int = 50
    ) -> list[dict[str, float]]:
        """For each token the probability of each label, over the n best taggings only."""
        _, candidates = self._top_n(tokens, n, search, width)
        return decoding.by_label(self.model, decoding.marginal_among(self.model, candidates))

    def spans(self, tokens: Sequence[Any]) -> list[TaggedSpan]:
        """The spans of the best tagging, each with its probability over all taggings: exact."""
        corpus = self.encode(tokens)
        return decoding.spans_of(self.model, corpus, decoding.best_tags(self.model, corpus))[0]

    def span_probability(self, tokens: Sequence[Any], start: int, end: int, type: str) -> float:
        """P(exactly the tokens start, ..., end - 1 are a span of this type), over all taggings, chosen or not: exact.

        A tagging has the spans that conlleval reads in it, in whatever scheme, also where it breaks its scheme.
        """
        corpus = self.encode(tokens)
        check_span(start, end, corpus.tokens)
        reading, wanted = span_reading(self.model.labels), [Span(start, end, type)]
        return float(
            decoding.sentence_distribution(self.model, corpus, 0, exact=True).span_probabilities(reading, wanted)[0]
        )

    def read_blocks(self, path: str | Path, *, labelled: bool = False, **reading: Any) -> Iterator[Block]:
        """Read a file as the training file was read, unless told otherwise."""
        return read_blocks(path, labelled=labelled, **self.reading(path, reading))

    def reading(self, path: str | Path, told: dict[str, Any]) -> dict[str, Any]:
        """Return how to read a file: what is not told is as for the training file, if the format is the same."""
        return files.reading_of(self.model, path, told)

    def tag_blocks(
        self, blocks: Iterable[Block], *, search: str | None = None, width: int = 50, **how: Any
    ) -> Iterator[tuple[Block, Ints]]:
        """Yield each block with the numbers of its tags, in order.

        The best tagging is found by Viterbi, or by the search of this name (a beam of this width may miss it). With
        `threads` it is faster, and the same; `forced` is a column with tags that are known, and '_' where none is.
        """
        if search is None:
            return files.each_block(self, blocks, decoding.best_tags, **how)
        check_search(search, 1)
        return files.each_block(self, blocks, partial(decoding.searched_tags, search=search, width=width), **how)

    def nbest_blocks(
        self, blocks: Iterable[Block], n: int, *, search: str = "topn", width: int = 50, **how: Any
    ) -> Iterator[tuple[Block, list[list[RankedTagging]]]]:
        """Yield each block with the n best taggings of every sentence, as numbers of tags, and their probabilities."""
        check_search(search, n)
        return files.each_block(self, blocks, partial(decoding.all_ranked, n=n, search=search, width=width), **how)

    def marginal_blocks(self, blocks: Iterable[Block], **how: Any) -> Iterator[tuple[Block, tuple[Ints, Doubles]]]:
        """Yield each block with its tags, and the exact probabilities of all labels, [tokens, labels]."""
        return files.each_block(self, blocks, decoding.tags_and_marginals, **how)

    def span_blocks(
        self, blocks: Iterable[Block], **how: Any
    ) -> Iterator[tuple[Block, tuple[Ints, list[list[TaggedSpan]]]]]:
        """Yield each block with its tags, and the spans of every sentence with their exact probabilities."""
        return files.each_block(self, blocks, decoding.tags_and_spans, **how)

    def evaluate(self, path: str | Path, *, strict: bool = False, **reading: Any) -> Scores:
        """Tag a labelled file and compare."""
        return files.evaluate(self, self.read_blocks(path, labelled=True, **reading), path, strict=strict)

    def gold_lattices(self, path: str | Path, **reading: Any) -> Iterator[tuple[Lattice, list[str]]]:
        """Yield the scores of each sentence of a labelled file, with its gold tags as the model learns them."""
        return files.gold_lattices(self, self.read_blocks(path, labelled=True, **reading))

    def encode(self, tokens: Sequence[Any], *, forced: Forced | None = None) -> EncodedCorpus:
        """One sentence as integers: the features that the model knows of each token."""
        return next(self._encoded_batches([tokens], None if forced is None else [forced]))

    def lattices(self, sentences: Iterable[Sequence[Any]]) -> Iterator[Lattice]:
        """The scores of each sentence, for `sapo.search` and `sapo.search.probabilities`."""
        for corpus in self._encoded_batches(sentences):
            for sentence in range(corpus.sentences):
                yield decoding.sentence_lattice(self.model, corpus, sentence, exact=True)

    def _encoded_batches(
        self, sentences: Iterable[Sequence[Any]], forced: Iterable[Forced | None] | None = None
    ) -> Iterator[EncodedCorpus]:
        first = 0
        known = None if forced is None else forced_of_each(forced)
        for corpus in encoded_batches(self.model, sentences):
            last = first + corpus.sentences
            yield corpus if known is None else force_sentences(corpus, known[first:last], self.model, first=first)
            first = last
        if known is not None and len(known) != first:
            raise SapoError(f"forced tags: there are {len(known)} for {first} sentences; give one (or None) for each")

    def _top_n(
        self, tokens: Sequence[Any], n: int, search: str, width: int, forced: Forced | None = None
    ) -> tuple[EncodedCorpus, Candidates]:
        check_search(search, n)
        corpus = self.encode(tokens, forced=forced)
        return corpus, decoding.candidates(self.model, corpus, 0, n, search, width)
