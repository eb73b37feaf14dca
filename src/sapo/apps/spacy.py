"""Use a model as a component of a spaCy pipeline: `nlp.add_pipe("sapo", config={"model": "ner.sapo"})`.

spaCy finds the factory by the entry point `spacy_factories`. The component tags spaCy's own tokens. A model of spans
sets entities and adds to those that are there, as spaCy's own recognizer does; a model of words sets `token.tag_`, or
`token.pos_` if all its labels are universal POS tags. Probabilities are in `span._.probability` and
`token._.probability`. With several sapo components, the last one that sees a span sets its probability. Tokens that
are blanks only are not given to the model.
"""

import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.parts_of_speech import IDS as UPOS
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, Span, Token
from spacy.training import Example

from sapo.errors import DataError, ModelError
from sapo.tagger.tagger import Tagger
from sapo.tags.schemes import looks_like_spans
from sapo.tags.spans import span_borders

FILE = "model.sapo"  # in the directory of a saved pipeline
# Where the columns of a model come from; the first is always the word.
ATTRIBUTES = {"pos": "tag_", "xpos": "tag_", "upos": "pos_", "lemma": "lemma_", "feats": "morph", "deprel": "dep_"}


class SapoComponent:
    """A component that tags documents with a model."""

    def __init__(self, name: str, model: str | None, probabilities: bool) -> None:
        self.name = name
        self.probabilities = probabilities
        self.tagger: Tagger | None = None if model is None else Tagger.load(model)
        for kind in (Span, Token):
            if not kind.has_extension("probability"):
                kind.set_extension("probability", default=None)

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]))

    def pipe(self, docs: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Tag many documents, some at a time, which is much faster than one by one."""
        waiting = iter(docs)
        while batch := list(islice(waiting, batch_size)):
            self._tag(batch)
            yield from batch

    def _tag(self, docs: list[Doc]) -> None:
        tagger = self._loaded()
        parts = [part for doc in docs for part in self._sentences(doc)]  # blanks are no words
        sentences = [[self._token(token, tagger) for token in part] for part in parts]
        tags = tagger.tag_many(sentences)
        marks_spans = looks_like_spans(tagger.labels)
        found: dict[int, list[Span]] = {}
        for part, tokens, given in zip(parts, sentences, tags, strict=True):
            if marks_spans:
                borders = span_borders(given)
                sure = (
                    {(one.start, one.end): one.probability for one in tagger.spans(tokens)}
                    if borders and self.probabilities
                    else {}
                )
                for start, end, kind in borders:
                    span = Span(part[0].doc, part[start].i, part[end - 1].i + 1, label=kind)
                    span._.probability = sure.get((start, end))
                    found.setdefault(id(span.doc), []).append(span)
            else:
                self._set_words(part, tokens, given, tagger)
        if marks_spans:
            for doc in docs:
                _add_entities(doc, found.get(id(doc), []))

    def _set_words(self, part: list[Token], tokens: list[Any], tags: list[str], tagger: Tagger) -> None:
        universal = _are_universal(tagger.labels)
        sure = tagger.marginals(tokens) if self.probabilities else [{}] * len(tags)
        for token, tag, shares in zip(part, tags, sure, strict=True):
            if universal:
                token.pos_ = tag
            else:
                token.tag_ = tag
            token._.probability = shares.get(tag)

    def _token(self, token: Token, tagger: Tagger) -> Any:
        if len(tagger.columns) <= 1:
            return token.text
        return (token.text, *(self._column(token, column) for column in tagger.columns[1:]))

    def _column(self, token: Token, column: str) -> str:
        if column not in ATTRIBUTES:
            raise DataError(
                f"component '{self.name}': the model needs the column '{column}', which spaCy does not have; use a "
                f"model of words, or of {', '.join(ATTRIBUTES)}"
            )
        value = str(getattr(token, ATTRIBUTES[column]))
        if not value:
            raise DataError(
                f"component '{self.name}': the model needs the column '{column}', but token.{ATTRIBUTES[column]} is "
                "empty; add a component that sets it before this one"
            )
        return value

    def _sentences(self, doc: Doc) -> list[list[Token]]:
        """Return the words of each sentence: of those of spaCy, or where the model would begin one."""
        if doc.has_annotation("SENT_START"):
            parts = list(doc.sents)
        else:
            cut = self._loaded().splitter(doc.text)
            starts = {part[0][0] for part in cut if len(part)}
            begins = [0, *(token.i for token in doc if token.i and token.idx in starts)]
            parts = [doc[a:b] for a, b in zip(begins, [*begins[1:], len(doc)], strict=True)]
        words = ([token for token in part if not token.is_space] for part in parts)
        return [part for part in words if part]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the model; empty without one."""
        return () if self.tagger is None else tuple(self.tagger.labels)

    def score(self, examples: Iterable[Example], **_options: object) -> dict[str, Any]:
        """Return the scores that `nlp.evaluate` shows, under the names of spaCy's own components."""
        if looks_like_spans(self.labels):
            return dict(get_ner_prf(examples))
        return dict(Scorer.score_token_attr(examples, "pos" if _are_universal(self.labels) else "tag"))

    def _loaded(self) -> Tagger:
        if self.tagger is None:
            raise ModelError(f'component \'{self.name}\' has no model; give it one: config={{"model": "ner.sapo"}}')
        return self.tagger

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the model into the directory of a pipeline."""
        Path(path).mkdir(parents=True, exist_ok=True)
        self._loaded().save(Path(path) / FILE)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "SapoComponent":
        """Load the model from the directory of a pipeline."""
        self.tagger = Tagger.load(Path(path) / FILE)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the model as bytes."""
        with tempfile.TemporaryDirectory() as directory:
            self._loaded().save(Path(directory) / FILE)
            return (Path(directory) / FILE).read_bytes()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "SapoComponent":
        """Load the model from bytes."""
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / FILE).write_bytes(data)
            self.tagger = Tagger.load(Path(directory) / FILE)
        return self


def _are_universal(labels: Iterable[str]) -> bool:
    return set(UPOS).issuperset(labels)


def _add_entities(doc: Doc, found: list[Span]) -> None:
    """Add entities where the document has none yet."""
    taken = {token.i for span in doc.ents for token in span}
    new = [span for span in found if not taken.intersection(range(span.start, span.end))]
    doc.ents = (*doc.ents, *new)


@Language.factory("sapo", default_config={"model": None, "probabilities": True})  # type: ignore[untyped-decorator]
def make_component(nlp: spacy.Language, name: str, model: str | None, probabilities: bool) -> SapoComponent:
    """Make the component; spaCy calls this with the config of `nlp.add_pipe`."""
    return SapoComponent(name, model, probabilities)
