"""Use a trained model: tag sentences, texts and files, with n-best taggings and probabilities."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapo.corpus.blocks import Block
from sapo.errors import SapoError
from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Doubles
from sapo.search.chain import check_search
from sapo.search.lattice import ALL_LABELS, Lattice, Parameters
from sapo.search.topn import Candidates
from sapo.tagger import decoding
from sapo.tagger.decoding import Tagging, encoded_batches
from sapo.tagger.file import load_model, save_model
from sapo.tagger.forced import Forced, force_sentences, forced_of_each
from sapo.tagger.model import Model

if TYPE_CHECKING:
    from sapo.corpus.annotations import TaggedSpan
    from sapo.evaluate.scores import Scores
    from sapo.tagger.text import Cut, TaggedText
    from sapo.text.splitter import Splitter

SHOWN = 6  # labels


class Tagger:
    """A trained model that tags sentences and files. Its methods may be called from several threads at once.

    >>> import sapo
    >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
    >>> tagger.tag(["the", "dog"])
    ['DT', 'NN']
    >>> tagger
    <Tagger of word with 2 labels: DT, NN>
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._splitter: Splitter | None = None

    def __repr__(self) -> str:
        shown = ", ".join(self.labels[:SHOWN]) + (", ..." if len(self.labels) > SHOWN else "")
        return f"<Tagger of {', '.join(self.columns) or 'features'} with {len(self.labels)} labels: {shown}>"

    @classmethod
    def load(cls, path: str | Path) -> "Tagger":
        """Load a model file, as written by `save`. Raise SapoError if it is missing or damaged."""
        return cls(load_model(path))

    def save(self, path: str | Path) -> None:
        """Save the model as a file, which `Tagger.load` and the command `sapo` can read.

        >>> import sapo
        >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     tagger.save(directory + "/pos.sapo")
        ...     Tagger.load(directory + "/pos.sapo").labels
        ('DT', 'NN')
        """
        save_model(self.model, path)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a token: ('word',) for strings, ('word', 'pos') for pairs, () for ready-made features."""
        return tuple(self.model.encoder.columns)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels as they are shown; the model may have learned other ones (see `sapo.tagger.model.Model`)."""
        return self.model.outer_labels

    @property
    def splitter(self) -> "Splitter":
        """Cuts text into sentences and tokens, as in the training data of the model."""
        from sapo.text.splitter import Splitter  # most uses have no text: loading waits until then

        if self._splitter is None or self._splitter.rules is not self.model.text_rules:
            self._splitter = Splitter(self.model.text_rules)
        return self._splitter

    @property
    def parameters(self) -> Parameters:
        """The weights for tagging, including the bias."""
        return self.model.tagging

    def with_bias(self, label: str, value: float) -> "Tagger":
        """Return a tagger with the same weights that adds this value to the score of the label at every token.

        A positive bias on O finds fewer spans, of which more are correct; a negative one finds more spans.

        >>> import sapo
        >>> tagger = sapo.train([(["a", "dog"], ["O", "B-X"])], template="pos", epochs=2)
        >>> tagger.with_bias("O", 100).tag(["a", "dog"])
        ['O', 'O']
        """
        return Tagger(self.model.with_bias(label, value))

    def exact(self) -> "Tagger":
        """Return a tagger with the same weights that looks at all labels of every token.

        A model that was trained with short lists of labels has not learned to work without them; see
        docs/how-to/many-labels.md.

        >>> import sapo
        >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"])], template="pos", epochs=2)
        >>> tagger.exact().tag(["a", "dog"])
        ['DT', 'NN']
        """
        parameters = dataclasses.replace(self.model.parameters, lists=ALL_LABELS)
        return Tagger(dataclasses.replace(self.model, parameters=parameters))

    def tag(self, tokens: Sequence[Any], *, forced: Forced | None = None) -> list[str]:
        """Return the tags of one sentence.

        Its tokens are strings, tuples or features, as in training (see `columns`). `forced` has the tags that are
        known, by token index: {3: "B-NP"}, or {3: ["B-NP", "O"]} if it is one of several.

        >>> import sapo
        >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
        >>> tagger.tag(["the", "dog"], forced={0: "NN"})
        ['NN', 'NN']
        """
        return self.tag_many([tokens], forced=None if forced is None else [forced])[0]

    def tag_many(
        self, sentences: Iterable[Sequence[Any]], *, forced: Iterable[Forced | None] | None = None
    ) -> list[list[str]]:
        """Return the tags of many sentences; much faster than calling `tag` for each.

        `forced` has the known tags of each sentence, or None.

        >>> import sapo
        >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
        >>> tagger.tag_many([["the", "dog"], ["a", "cat"]])
        [['DT', 'NN'], ['DT', 'NN']]
        """
        result: list[list[str]] = []
        for corpus in self._encoded_batches(sentences, forced):
            tags = decoding.label_names(self.model, decoding.best_tags(self.model, corpus))
            result.extend(tags[a:b] for a, b in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True))
        return result

    def tag_text(
        self, text: str, *, probabilities: bool = False, nbest: int = 0, cut: "Cut | None" = None
    ) -> "TaggedText":
        """Tag raw text: return its sentences, tokens and spans, with their offsets in the text.

        `probabilities` adds those of tags and spans, over all taggings; `nbest` adds that many taggings of each
        sentence. Text is cut as the training data was, or by `cut`: a function that takes a text and returns its
        sentences, as lists of (start, end) of their tokens. Raises SapoError if the model needs more than words.

        >>> import sapo
        >>> pairs = [(["in", "Oslo", "."], ["O", "B-LOC", "O"]), (["at", "home", "."], ["O", "O", "O"])]
        >>> tagger = sapo.train(pairs, template="ner")
        >>> [(span.text, span.start, span.end, span.type) for span in tagger.tag_text("We are in Oslo.").spans]
        [('Oslo', 10, 14, 'LOC')]
        """
        from sapo.tagger.text import check_text

        return self.tag_texts([check_text(text)], probabilities=probabilities, nbest=nbest, cut=cut)[0]

    def tag_texts(
        self, texts: Iterable[str], *, probabilities: bool = False, nbest: int = 0, cut: "Cut | None" = None
    ) -> "list[TaggedText]":
        """Tag many texts as `tag_text` does; much faster than calling it for each."""
        from sapo.tagger.text import check_words_only, cut_texts, find, tagged_texts

        check_words_only(self.model)
        if nbest:
            check_search("topn", nbest)
        parts = cut_texts(texts, cut or self.splitter)
        return tagged_texts(parts, find(self.model, parts.words(), probabilities=probabilities, nbest=nbest))

    def nbest(
        self, tokens: Sequence[Any], n: int = 5, *, search: str = "topn", width: int = 50, forced: Forced | None = None
    ) -> list[Tagging]:
        """Return the n best taggings of a sentence, best first, with their probabilities.

        The searches topn and astar are exact; beam, of this width, is not. `forced` has the tags that are known. Raises
        SapoError if n is less than 1, or the search is unknown.

        >>> import sapo
        >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
        >>> [tagging.tags for tagging in tagger.nbest(["the", "dog"], 2)]
        [['DT', 'NN'], ['NN', 'NN']]
        """
        corpus, candidates = self._top_n(tokens, n, search, width, forced)
        return decoding.taggings(self.model, corpus, 0, candidates)

    def probability(self, tokens: Sequence[Any], tags: Sequence[str]) -> float:
        """Return the exact probability of one tagging over all taggings: the `exact_probability` that `nbest` gives.

        It is 0 if the model forbids the tagging. Raises SapoError if the model does not have a tag, or if there are not
        as many tags as tokens.

        >>> import sapo
        >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
        >>> best = tagger.nbest(["the", "dog"])[0]
        >>> tagger.probability(["the", "dog"], best.tags) == best.exact_probability
        True
        """
        corpus = self.encode(tokens)
        return decoding.tagging_probability(self.model, corpus, 0, tags)

    def top_n_mass(self, tokens: Sequence[Any], n: int = 5, *, search: str = "topn", width: int = 50) -> float:
        """Return the total probability of the n best taggings. If it is near 1, `nbest` leaves out little.

        >>> import sapo
        >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
        >>> round(tagger.top_n_mass(["the", "dog"], 4), 6)
        1.0
        """
        corpus, candidates = self._top_n(tokens, n, search, width)
        return decoding.sentence_distribution(self.model, corpus, 0).top_n_mass(candidates)

    def marginals(self, tokens: Sequence[Any], *, forced: Forced | None = None) -> list[dict[str, float]]:
        """Return the exact probability of each label, for each token.

        The probabilities are over all taggings, or over those with the `forced` tags.

        >>> import sapo
        >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
        >>> first, second = tagger.marginals(["the", "dog"])
        >>> first["DT"] > 0.5, round(sum(first.values()), 6)
        (True, 1.0)
        """
        corpus = self.encode(tokens, forced=forced)
        return decoding.by_label(self.model, decoding.marginal(self.model, corpus, 0))

    def marginal_arrays(self, sentences: Iterable[Sequence[Any]]) -> list[Doubles]:
        """Return the marginals of many sentences as arrays [tokens, labels], in the order of `labels`.

        >>> import sapo
        >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
        >>> [array.shape for array in tagger.marginal_arrays([["the", "dog"], ["dog"]])]
        [(2, 2), (1, 2)]
        """
        return [
            decoding.marginal(self.model, corpus, sentence)
            for corpus in self._encoded_batches(sentences)
            for sentence in range(corpus.sentences)
        ]

    def top_n_marginals(
        self, tokens: Sequence[Any], n: int = 5, *, search: str = "topn", width: int = 50
    ) -> list[dict[str, float]]:
        """Return the probability of each label over the n best taggings only, for each token.

        >>> import sapo
        >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
        >>> tagger.top_n_marginals(["the", "dog"], 1)
        [{'DT': 1.0, 'NN': 0.0}, {'DT': 0.0, 'NN': 1.0}]
        """
        _, candidates = self._top_n(tokens, n, search, width)
        return decoding.by_label(self.model, decoding.marginal_among(self.model, candidates))

    def spans(self, tokens: Sequence[Any]) -> "list[TaggedSpan]":
        """Return the spans of the best tagging, each with its exact probability over all taggings.

        >>> import sapo
        >>> tagger = sapo.train([(["in", "Oslo"], ["O", "B-LOC"]), (["at", "home"], ["O", "O"])], template="ner")
        >>> [(span.start, span.end, span.type) for span in tagger.spans(["in", "Oslo"])]
        [(1, 2, 'LOC')]
        """
        corpus = self.encode(tokens)
        return decoding.spans_of(self.model, corpus, decoding.best_tags(self.model, corpus))[0]

    def span_probability(self, tokens: Sequence[Any], start: int, end: int, type: str) -> float:
        """Return the exact probability that the tokens start, ..., end - 1 are a span of this type.

        The probability is over all taggings, and the span need not be in the best one. The spans of a tagging are those
        that conlleval finds in it, in any scheme, even if the tagging breaks its scheme.

        >>> import sapo
        >>> tagger = sapo.train([(["in", "Oslo"], ["O", "B-LOC"]), (["at", "home"], ["O", "O"])], template="ner")
        >>> 0.5 < tagger.span_probability(["in", "Oslo"], 1, 2, "LOC") < 1
        True
        """
        from sapo.search.marginals import check_span, span_reading
        from sapo.tags.spans import Span

        corpus = self.encode(tokens)
        check_span(start, end, corpus.tokens)
        reading, wanted = span_reading(self.model.labels), [Span(start, end, type)]
        return float(
            decoding.sentence_distribution(self.model, corpus, 0, exact=True).span_probabilities(reading, wanted)[0]
        )

    def read_blocks(self, path: str | Path, *, labeled: bool = False, **reading: Any) -> Iterator[Block]:
        """Read a file in blocks, in the same way as the training file unless `reading` has other options."""
        from sapo.tagger.files import read_blocks

        return read_blocks(self, path, labeled=labeled, **reading)

    def evaluate(self, path: Any, *, strict: bool = False, **reading: Any) -> "Scores":
        """Tag labeled data, and return the scores of the tags.

        The data is the path of a file, a table, pairs of tokens and tags, or sentences of (word, tag) tuples. `strict`
        counts only well-formed spans; `reading` says how to read the file (format, label, columns, encoding).

        >>> import sapo
        >>> from sapo.corpus.sample import COLUMNS, sample_path
        >>> tagger = sapo.train(sample_path("train"), template="pos", columns=COLUMNS, label="pos", epochs=5)
        >>> name, value = tagger.evaluate(sample_path("test")).main
        >>> name, value > 0.8
        ('accuracy', True)
        """
        from sapo.tagger.files import evaluate

        return evaluate(self, path, strict=strict, **reading)

    def gold_lattices(self, path: str | Path, **reading: Any) -> Iterator[tuple[Lattice, list[str]]]:
        """Yield the lattice of each sentence of a labeled file, as `lattices` does, with its learned gold tags."""
        return decoding.gold_lattices(self, self.read_blocks(path, labeled=True, **reading))

    def encode(self, tokens: Sequence[Any], *, forced: Forced | None = None) -> EncodedCorpus:
        """Return one sentence as integers: the features of each token that the model knows.

        >>> import sapo
        >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
        >>> tagger.encode(["the", "dog"]).tokens
        2
        """
        return next(self._encoded_batches([tokens], None if forced is None else [forced]))

    def lattices(self, sentences: Iterable[Sequence[Any]]) -> Iterator[Lattice]:
        """Yield the lattice of each sentence, for `sapo.search` and `sapo.search.marginals`.

        Its labels are those that the model learns, `tagger.model.labels`; the shown ones (`labels`) may be others.
        Scores are divided by the temperature of the model, so that they give calibrated probabilities.

        >>> import sapo
        >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
        >>> [lattice.node.shape for lattice in tagger.lattices([["the", "dog"]])]
        [(2, 2)]
        """
        for corpus in self._encoded_batches(sentences):
            for sentence in range(corpus.sentences):
                yield decoding.calibrated_lattice(self.model, corpus, sentence, exact=True)

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
        search = check_search(search, n)
        corpus = self.encode(tokens, forced=forced)
        return corpus, decoding.candidates(self.model, corpus, 0, n, search, width)
