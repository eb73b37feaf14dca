"""Sentences and templates as features, the slow and obvious way, and short cuts into the encoder."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from sapo.corpus.blocks import Block, Sentence, block_from_sentences
from sapo.features.building import build_encoder
from sapo.features.encoded import EncodedCorpus
from sapo.features.encoder import TemplateEncoder
from sapo.features.strings import StringTable
from sapo.features.template import TemplateSet
from sapo.features.words import WORD_FUNCTIONS


@dataclass(frozen=True, slots=True)
class Twin:
    """Features by their names: no numbers, no tables."""

    templates: TemplateSet

    def token(self, sentence: Sentence, at: int) -> list[str]:
        found = []
        for template in self.templates.templates:
            values = [self._values(sentence, at + atom.offset, atom.view) for atom in template.atoms]
            for joined in itertools.product(*values):
                found.append(f"{template} = {' & '.join(joined)}" if joined else str(template))
        return found

    def corpus(self, sentences: Sequence[Sentence]) -> list[list[str]]:
        return [self.token(sentence, at) for sentence in sentences for at in range(len(sentence))]

    @staticmethod
    def _values(sentence: Sentence, place: int, view: object) -> list[str]:
        if place < 0:
            return [f"<{-place} before the start>"]
        if place >= len(sentence):
            return [f"<{place - len(sentence) + 1} past the end>"]
        values = [sentence.columns[view.column][place]]  # type: ignore[attr-defined]
        for name, number in view.functions:  # type: ignore[attr-defined]
            arguments = () if number is None else (number,)
            results = [WORD_FUNCTIONS[name].apply(value, *arguments) for value in values]
            values = [
                value
                for result in results
                if result is not None
                for value in (result if isinstance(result, list) else [result])
            ]
        return values


@pytest.fixture(scope="session")
def twin() -> type[Twin]:
    return Twin


@pytest.fixture(scope="session")
def as_block() -> Callable[[Sequence[Sentence]], Block]:
    """Sentences as a block; those without tags get the tag X."""

    def make(sentences: Sequence[Sentence]) -> Block:
        return block_from_sentences(
            Sentence(sentence.columns, sentence.tags or ("X",) * len(sentence)) for sentence in sentences
        )

    return make


@pytest.fixture(scope="session")
def build() -> Callable[..., tuple[TemplateEncoder, EncodedCorpus]]:
    def make(blocks: Sequence[Block], templates: TemplateSet, min_count: int = 1) -> object:
        return build_encoder(blocks, templates, StringTable(), min_count=min_count)

    return make  # type: ignore[return-value]


@pytest.fixture(scope="session")
def named() -> Callable[[TemplateEncoder, EncodedCorpus], list[Counter[str]]]:
    """The features of each token by name."""

    def make(encoder: TemplateEncoder, corpus: EncodedCorpus) -> list[Counter[str]]:
        names = encoder.feature_names(range(encoder.features))
        return [
            Counter(names[row] for row in corpus.rows[a:b].tolist())
            for a, b in itertools.pairwise(corpus.row_offsets.tolist())
        ]

    return make
