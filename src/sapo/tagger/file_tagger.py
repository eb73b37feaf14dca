"""Blocks of a file in, the same blocks with tags out: a trained model that reads files as it read its training file."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sapo.corpus import LABEL, Block, format_of, read_blocks
from sapo.corpus.columns import without_label
from sapo.corpus.predictions import RankedTagging, TaggedSpan
from sapo.encode.encoded import EncodedCorpus
from sapo.encode.strings import label_ids
from sapo.errors import SapoError
from sapo.evaluate import Scores, score
from sapo.kernels.types import Doubles, Ints
from sapo.model import Model
from sapo.search import check_search
from sapo.search.lattice import Lattice, Parameters
from sapo.tagger import decoding, streams
from sapo.tagger.bias import with_label_bias
from sapo.tagger.forced import force_block
from sapo.tags import MISSING, loose_spans, refuse_missing, spans_to_tags

R = TypeVar("R")


class FileTagger:
    """What a `Tagger` does with files: some hundred sentences at a time, so that a file may be of any length."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    def labels(self) -> tuple[str, ...]:
        """As they are shown; the model may have learned others (see `Model.shown`)."""
        return self.model.outer_labels

    @property
    def parameters(self) -> Parameters:
        """The weights that tag."""
        return with_label_bias(self.model)

    def as_shown(self, tags: Ints) -> Ints:
        """Places in `labels`, of labels as the model learned them."""
        return decoding.as_shown(self.model, tags)

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
            if told.get("label") not in (None, LABEL) and told.get("columns") is None and how["columns"]:
                how["columns"] = without_label(how["columns"])  # it may stand elsewhere now
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
            return self._each_block(blocks, decoding.best_tags, threads, forced)
        check_search(search, 1)

        def best(model: Model, corpus: EncodedCorpus) -> Ints:
            return decoding.searched_tags(model, corpus, search, width)

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
        check_search(search, n)

        def rank(model: Model, corpus: EncodedCorpus) -> list[list[RankedTagging]]:
            return [
                decoding.ranked(model, corpus, i, decoding.candidates(model, corpus, i, n, search, width))
                for i in range(corpus.sentences)
            ]

        return self._each_block(blocks, rank, threads, forced)

    def marginal_blocks(
        self, blocks: Iterable[Block], *, threads: int = 1, forced: str | None = None
    ) -> Iterator[tuple[Block, tuple[Ints, Doubles]]]:
        """Each block with its tags, and the exact probabilities of all labels, [tokens, labels]."""

        def both(model: Model, corpus: EncodedCorpus) -> tuple[Ints, Doubles]:
            return decoding.best_tags(model, corpus), decoding.all_marginals(model, corpus)

        return self._each_block(blocks, both, threads, forced)

    def span_blocks(
        self, blocks: Iterable[Block], *, threads: int = 1, forced: str | None = None
    ) -> Iterator[tuple[Block, tuple[Ints, list[list[TaggedSpan]]]]]:
        """Each block with its tags, and the spans of every sentence with their exact probabilities."""

        def both(model: Model, corpus: EncodedCorpus) -> tuple[Ints, list[list[TaggedSpan]]]:
            tags = decoding.best_tags(model, corpus)
            return tags, decoding.spans_of(model, corpus, tags)

        return self._each_block(blocks, both, threads, forced)

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

    def gold_lattices(self, path: str | Path, **reading: Any) -> Iterator[tuple[Lattice, list[str]]]:
        """The scores of each sentence of a labelled file, with its gold tags as the model learns them."""
        for block, corpus in self.encoded_blocks(self.read_blocks(path, labelled=True, **reading)):
            tags = block.strings(LABEL)
            for sentence in range(corpus.sentences):
                first, last = corpus.offsets[sentence : sentence + 2].tolist()
                yield decoding.sentence_lattice(self.model, corpus, sentence), self.learned_tags(tags[first:last])

    def learned_tags(self, tags: Sequence[str]) -> list[str]:
        """Gold tags in the scheme that the model learned."""
        scheme = self.model.constraints.scheme
        if not self.model.shown or scheme is None:
            return list(tags)
        return spans_to_tags(loose_spans(tags), len(tags), scheme)

    def encoded_blocks(
        self, blocks: Iterable[Block], forced: str | None = None
    ) -> Iterator[tuple[Block, EncodedCorpus]]:
        """Each block with its features as numbers, and the forced tags of a column."""
        for block, corpus in streams.encoded_blocks(self.model, blocks):
            yield block, corpus if forced is None else force_block(corpus, block, forced, self.model)

    def _each_block(
        self, blocks: Iterable[Block], decode: Callable[[Model, EncodedCorpus], R], threads: int, forced: str | None
    ) -> Iterator[tuple[Block, R]]:
        def work(block: Block, corpus: EncodedCorpus) -> R:
            model = self.model  # that of a `Trainer` is another one after each update
            return decode(model, corpus if forced is None else force_block(corpus, block, forced, model))

        return streams.each_block(self.model, blocks, work, threads)
