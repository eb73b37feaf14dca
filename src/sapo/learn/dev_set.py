"""The dev set: weights in, scores out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sapo.encode.encoded import EncodedCorpus
from sapo.evaluate import Scores, score
from sapo.kernels.types import Ints
from sapo.search.decode import tag_corpus
from sapo.search.lattice import Parameters


@dataclass(frozen=True, slots=True)
class DevSet:
    """The sentences that training is evaluated on after each pass.

    `labels` begins with the labels of the training data; labels that occur only in the dev set follow. `shown` maps
    each label that the weights know to its index in `labels`, if the two differ.
    """

    corpus: EncodedCorpus
    labels: Sequence[str]
    shown: Ints | None = None  # [labels that the weights know]
    look: Callable[[EncodedCorpus], EncodedCorpus] | None = None  # encodes the sentences with a network as it is now

    def evaluate(self, parameters: Parameters) -> Scores:
        """Return the scores of these weights on the sentences."""
        return self.tag(parameters)[1]

    def tag(self, parameters: Parameters) -> tuple[Ints, Scores]:
        """Return the tags of all tokens, as indices into `labels`, and their scores."""
        corpus = self.corpus if self.look is None else self.look(self.corpus)
        tags = tag_corpus(corpus, parameters)
        found = tags if self.shown is None else self.shown[tags]
        return found, score(self.labels, corpus.gold, found, corpus.offsets)
