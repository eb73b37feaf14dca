"""A tagger, a sentence and a token in, out why it has its tag and not another.

The score of a tagging is a sum of weights, so the difference between two taggings is one, too. Two taggings are set
against each other: the best one in which the token has the tag, and the best one in which it has the rival's. Every
weight that the two do not share is told: those of the token one by one, those of other tokens that get another tag as
well in one sum a token. Together they are the difference, and nothing is left out.

Tags are those that the model shows. Weights belong to labels as it learned them; where that is another one, it stands
behind the tag in brackets: B-NP [S-NP].
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sapo.corpus.tokens import check_sentence
from sapo.encode.encoded import EncodedCorpus
from sapo.errors import SapoError, did_you_mean
from sapo.kernels.types import Ints
from sapo.model import Model
from sapo.search import viterbi
from sapo.search.lattice import Lattice, make_lattice
from sapo.tagger.tagger import Tagger


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one feature, transition, edge feature or the bias of a label adds for the tag, and what for the rival."""

    kind: str  # feature, transition, edge feature or bias
    name: str
    value: float  # of the feature: 1, or how often it is there; ready-made ones bring their own
    weight: float  # for the tag
    rival_weight: float

    @property
    def difference(self) -> float:
        return self.value * (self.weight - self.rival_weight)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another token where the two taggings differ: the sums of what it adds."""

    token: int
    word: str
    tag: str
    rival: str
    features: float
    transitions: float  # with edge features; of the step away from the explained token
    bias: float = 0.0
    learned: str = ""  # the label that the model learned for the tag
    rival_learned: str = ""

    @property
    def difference(self) -> float:
        return self.features + self.transitions + self.bias


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a token has `tag` rather than `rival`. Tokens count from 0."""

    words: tuple[str, ...]
    token: int
    tag: str
    rival: str
    chosen: str  # the tag that the model gives
    tags: tuple[str, ...]  # the best tagging in which the token has the tag
    rival_tags: tuple[str, ...]  # the best one in which it has the rival
    known: int  # features of the token that the model knows
    contributions: tuple[Contribution, ...]  # the strongest ones, strongest first
    others: int  # how many are left out of these
    others_difference: float  # and what they add
    elsewhere: tuple[Elsewhere, ...]
    difference: float  # between the scores of the two taggings: the sum of all that is told here
    learned: tuple[str, ...] = ()  # the tagging in the labels that the model learned; empty where they are the same
    rival_learned: tuple[str, ...] = ()

    @property
    def ratio(self) -> float:
        """How many times as probable the first tagging is, where scores are logarithms of probabilities."""
        return math.exp(self.difference) if self.difference < 700 else math.inf

    def as_dict(self) -> dict[str, Any]:
        """For JSON; a ratio that no number can hold is None."""
        told = asdict(self)
        for name in ("contributions", "elsewhere"):
            for entry, one in zip(told[name], getattr(self, name), strict=True):
                entry["difference"] = one.difference
        return {**told, "ratio": self.ratio if self.ratio < math.inf else None}


def explain(
    tagger: Tagger,
    tokens: Sequence[Any],
    token: int,
    *,
    against: str | None = None,
    tag: str | None = None,
    top: int = 15,
) -> Explanation:
    """Why does this token (0 is the first) have its tag?

    `tag` is by default the one that the model chooses, `against` that of the best tagging in which the token has
    another tag. The `top` strongest contributions are told one by one, the others in one sum.

    >>> import sapo
    >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
    >>> why = explain(tagger, ["the", "dog"], 1, top=3)
    >>> why.tag, why.rival, why.difference > 0, len(why.contributions)
    ('NN', 'DT', True, 3)
    """
    tagger.model.linear_encoder("its scores are no sums of weights of features, and cannot be explained")
    check_sentence(tokens, "the sentence")
    model = tagger.model
    _check(model.outer_labels, tokens, token, against, tag, top)
    corpus = tagger.encode(tokens)
    lattice = make_lattice(corpus, 0, tagger.parameters)
    shown = model.shown or model.labels
    free = viterbi(lattice).paths
    if not len(free):
        raise SapoError("the model forbids every tagging of this sentence")
    path = free[0] if tag is None else _best_with(lattice, token, shown, only=tag)
    name = shown[path[token]]
    if name == against:
        raise SapoError(f"the tag and its rival are both '{name}'; name two different ones")
    rival = _best_with(lattice, token, shown, only=against, never=name)
    weighed = _Weighed(model, corpus, path, rival)
    parts = [*weighed.features(token), *weighed.bias(token), *weighed.step(token), *weighed.step(token + 1)]
    parts.sort(key=lambda part: -abs(part.difference))
    words = tuple(_word(one, number, bool(tagger.columns)) for number, one in enumerate(tokens))
    elsewhere = tuple(weighed.elsewhere(token, words))
    rest = [part.difference for part in parts[top:]]
    return Explanation(
        words,
        token,
        name,
        shown[rival[token]],
        shown[free[0][token]],
        tuple(shown[label] for label in path),
        tuple(shown[label] for label in rival),
        sum(part.kind == "feature" for part in parts),
        tuple(parts[:top]),
        len(rest),
        math.fsum(rest),
        elsewhere,
        math.fsum([*(part.difference for part in parts), *(one.difference for one in elsewhere)]),
        tuple(model.labels[label] for label in path) if model.shown else (),
        tuple(model.labels[label] for label in rival) if model.shown else (),
    )


def full_name(shown: str, learned: str) -> str:
    """How to name a label that has two names.

    >>> full_name("B-NP", "S-NP"), full_name("I-NP", "I-NP")
    ('B-NP [S-NP]', 'I-NP')
    """
    return shown if learned in ("", shown) else f"{shown} [{learned}]"


class _Weighed:
    """The weights that two taggings of a sentence take at each place."""

    def __init__(self, model: Model, corpus: EncodedCorpus, path: Ints, rival: Ints) -> None:
        self.model, self.corpus, self.path, self.rival = model, corpus, path.tolist(), rival.tolist()
        self.shown = model.shown or model.labels

    def features(self, token: int) -> list[Contribution]:
        """A feature that is there several times counts once, with the sum of its values."""
        start, end = self.corpus.row_offsets[token : token + 2]
        rows, place = np.unique(self.corpus.rows[start:end], return_inverse=True)
        values = self.corpus.values[start:end] if len(self.corpus.values) else np.ones(end - start)
        values = np.bincount(place, values, len(rows))
        columns = [self.path[token], self.rival[token]]
        weights = self.model.parameters.rows.gathered(rows)[:, columns].astype(float)
        names = self.model.encoder.feature_names(rows.tolist())
        return [
            Contribution("feature", name, value, weight, other)
            for name, value, (weight, other) in zip(names, values.tolist(), weights.tolist(), strict=True)
        ]

    def bias(self, token: int) -> list[Contribution]:
        """What the model has for or against the two tags everywhere."""
        tag, rival = (self.shown[path[token]] for path in (self.path, self.rival))
        mine, theirs = (float(np.float32(self.model.bias.get(name, 0.0))) for name in (tag, rival))
        return [Contribution("bias", f"{tag}, against {rival}", 1.0, mine, theirs)] if mine != theirs else []

    def step(self, token: int) -> list[Contribution]:
        """The transition into a token and its edge features; nothing leads into the first token or past the last."""
        if not 0 < token < len(self.path):
            return []
        mine, theirs = (tuple(path[token - 1 : token + 1]) for path in (self.path, self.rival))
        if mine == theirs:
            return []
        edges = self.model.parameters.edges
        steps = f"{self._arrow(mine)}, against {self._arrow(theirs)}"
        found = [Contribution("transition", steps, 1.0, float(edges[mine]), float(edges[theirs]))]
        if len(self.corpus.edge_row_offsets) > 1:
            start, end = self.corpus.edge_row_offsets[token : token + 2]
            rows, counts = np.unique(self.corpus.edge_rows[start:end], return_counts=True)
            names = self.model.encoder.edge_feature_names(rows.tolist())
            found += [
                Contribution("edge feature", f"{name} ({steps})", float(count), *self._pair_weights(row, mine, theirs))
                for name, row, count in zip(names, rows.tolist(), counts.tolist(), strict=True)
            ]
        return [part for part in found if part.weight or part.rival_weight]

    def _pair_weights(self, row: int, *steps: tuple[int, ...]) -> Iterable[float]:
        """What an edge feature weighs at each of the steps; most pairs of labels have no weight."""
        parameters = self.model.parameters
        start, end = parameters.pairs.offsets[row : row + 2]
        for before, after in steps:
            here = parameters.pairs.codes[start:end] == before * parameters.labels + after
            yield float(parameters.pair_weights[start:end, 0][here].sum(dtype=float))

    def elsewhere(self, token: int, words: Sequence[str]) -> Iterable[Elsewhere]:
        """Each further token, with the step on its far side: the near one belongs to its neighbour."""
        for other in range(len(self.path)):
            step = self.step(other if other < token else other + 1) if other != token else []
            if other == token or (self.path[other] == self.rival[other] and not step):
                continue
            mine, theirs = self.path[other], self.rival[other]
            yield Elsewhere(
                other,
                words[other],
                self.shown[mine],
                self.shown[theirs],
                _sum(self.features(other)),
                _sum(step),
                _sum(self.bias(other)),
                self.model.labels[mine],
                self.model.labels[theirs],
            )

    def _arrow(self, step: tuple[int, ...]) -> str:
        return " -> ".join(full_name(self.shown[label], self.model.labels[label]) for label in step)


def _sum(parts: Iterable[Contribution]) -> float:
    return math.fsum(part.difference for part in parts)


def _best_with(
    lattice: Lattice, token: int, labels: Sequence[str], *, only: str | None = None, never: str | None = None
) -> Ints:
    """The best tagging in which the token has one label, or has any but one."""
    allowed = [label != never if only is None else label == only for label in labels]
    node = lattice.node.copy()
    node[token, ~np.array(allowed)] = -np.inf
    found = viterbi(Lattice(node, lattice.edge)).paths
    if not len(found):
        wanted = f"the tag '{only}'" if only is not None else f"any other tag than '{never}'"
        raise SapoError(f"the model allows no tagging of this sentence that gives the token {wanted}")
    best: Ints = found[0]
    return best


def _check(
    labels: Sequence[str], tokens: Sequence[Any], token: int, against: str | None, tag: str | None, top: int
) -> None:
    if not len(tokens):
        raise SapoError("the sentence has no tokens: there is nothing to explain")
    if not 0 <= token < len(tokens):
        raise SapoError(f"token must be an index from 0 to {len(tokens) - 1}, not {token}")
    if top < 0:
        raise SapoError(f"top must be 0 or more, not {top}")
    for label in (tag, against):
        if label is not None and label not in labels:
            raise SapoError(f"the model has no label '{label}'{did_you_mean(label, labels)}")
    if len(labels) == 1:
        raise SapoError(f"the model has only the label '{labels[0]}': there is nothing to choose")


def _word(token: Any, number: int, strings: bool) -> str:
    """How to show a token; ready-made features do not tell which word they are of."""
    if not strings:
        return f"#{number + 1}"
    return token if isinstance(token, str) else str(token[0])
