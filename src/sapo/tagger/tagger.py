"""Use a trained model: tag sentences, texts and files, with n-best taggings and probabilities."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from sapo.errors import OptionError
from sapo.jit.arrays import Doubles
from sapo.search.chain import check_search
from sapo.tagger import decoding
from sapo.tagger.decoding import Tagging
from sapo.tagger.file import load_model, save_model
from sapo.tagger.forced import Forced
from sapo.tagger.model import Model

if TYPE_CHECKING:
    from sapo.corpus.annotations import TaggedSpan
    from sapo.evaluate.scores import Scores
    from sapo.tagger.files import ReadingOptions
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

    @classmethod
    def from_pretrained(cls, name: str, *, revision: str | None = None) -> "Tagger":
        """Load a tagger from a repository of the Hugging Face hub, or from a directory with its files."""
        from sapo.tagger.hub import from_pretrained

        return from_pretrained(name, revision=revision)

    def push_to_hub(self, name: str, *, private: bool = False) -> str:
        """Upload the model, with a card made from its record, to a repository of the hub; return its address."""
        from sapo.tagger.hub import push_to_hub

        return push_to_hub(self, name, private=private)

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

    def with_bias(self, label: str, value: float) -> "Tagger":
        """Return a tagger with the same weights that adds this value to the score of the label at every token.

        A positive bias on O finds fewer spans, of which more are correct; a negative one finds more spans.

        >>> import sapo
        >>> tagger = sapo.train([(["a", "dog"], ["O", "B-X"])], template="pos", epochs=2)
        >>> tagger.with_bias("O", 100).tag(["a", "dog"])
        ['O', 'O']
        """
        return Tagger(self.model.with_bias(label, value))

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
        for corpus in decoding.encoded_batches(self.model, sentences, forced=forced):
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
        search = check_search(search, n)
        corpus = decoding.encoded_sentence(self.model, tokens, forced)
        return decoding.taggings(self.model, corpus, 0, decoding.candidates(self.model, corpus, 0, n, search, width))

    def probability(
        self,
        tokens: Sequence[Any],
        tags: Sequence[str] | None = None,
        *,
        span: tuple[int, int, str] | None = None,
    ) -> float:
        """Return the exact probability of a tagging, or of a span (start, end, type), over all taggings.

        Neither need be the best. A tagging that the model forbids has the probability 0. A span is the tokens start,
        ..., end - 1; the spans of a tagging are those that conlleval finds in it, in any scheme, even if the tagging
        breaks its scheme. Raises SapoError if the tags or the span do not fit the model or the sentence.

        >>> import sapo
        >>> tagger = sapo.train([(["in", "Oslo"], ["O", "B-LOC"]), (["at", "home"], ["O", "O"])], template="ner")
        >>> best = tagger.nbest(["in", "Oslo"])[0]
        >>> tagger.probability(["in", "Oslo"], best.tags) == best.probability
        True
        >>> 0.5 < tagger.probability(["in", "Oslo"], span=(1, 2, "LOC")) < 1
        True
        """
        corpus = decoding.encoded_sentence(self.model, tokens)
        if tags is not None and span is None:
            return decoding.tagging_probability(self.model, corpus, 0, tags)
        if tags is None and span is not None:
            return decoding.span_probability(self.model, corpus, 0, *span)
        raise OptionError("probability: give either tags or a span")

    def marginals(self, tokens: Sequence[Any], *, forced: Forced | None = None) -> list[dict[str, float]]:
        """Return the exact probability of each label, for each token.

        The probabilities are over all taggings, or over those with the `forced` tags.

        >>> import sapo
        >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
        >>> first, second = tagger.marginals(["the", "dog"])
        >>> first["DT"] > 0.5, round(sum(first.values()), 6)
        (True, 1.0)
        """
        corpus = decoding.encoded_sentence(self.model, tokens, forced)
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
            for corpus in decoding.encoded_batches(self.model, sentences)
            for sentence in range(corpus.sentences)
        ]

    def spans(self, tokens: Sequence[Any]) -> "list[TaggedSpan]":
        """Return the spans of the best tagging, each with its exact probability over all taggings.

        >>> import sapo
        >>> tagger = sapo.train([(["in", "Oslo"], ["O", "B-LOC"]), (["at", "home"], ["O", "O"])], template="ner")
        >>> [(span.start, span.end, span.type) for span in tagger.spans(["in", "Oslo"])]
        [(1, 2, 'LOC')]
        """
        corpus = decoding.encoded_sentence(self.model, tokens)
        return decoding.spans_of(self.model, corpus, decoding.best_tags(self.model, corpus))[0]

    def evaluate(self, path: Any, *, strict: bool = False, **reading: "Unpack[ReadingOptions]") -> "Scores":
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
        from sapo.tagger.files import evaluate  # which tagging need not load

        return evaluate(self, path, strict=strict, **reading)


def as_tagger(model: Tagger | str | Path) -> Tagger:
    """Return a tagger itself, or load it from a model file."""
    return model if isinstance(model, Tagger) else Tagger.load(model)
