"""Explain why a token has its tag and not another.

The score of a tagging is a sum of weights, so the difference between two taggings is a sum of weights as well. An
explanation compares two taggings: the best one in which the token has the tag, and the best one in which it has the
rival tag. It lists every weight in which the two differ: those of the token one by one, and those of each other token
whose tag changes too as one sum. Together they are exactly the difference between the two scores.

Tags are those that the model shows. Weights belong to the labels that it learned; if a learned label has another name,
it follows the tag in brackets: B-NP [S-NP].
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.blocks import plain_sentence
from sapo.errors import DataError, ModelError, OptionError, did_you_mean
from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Ints
from sapo.search.lattice import Lattice, make_lattice
from sapo.search.topn import viterbi
from sapo.tagger.decoding import encoded_sentence
from sapo.tagger.model import Model
from sapo.tagger.tagger import Tagger, as_tagger


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one feature, transition, edge feature or bias adds to the score of the tag, and to that of the rival."""

    kind: str  # feature, transition, edge feature or bias
    name: str
    value: float  # of the feature: its count, or the value that a ready-made feature has
    weight: float  # for the tag
    rival_weight: float

    @property
    def difference(self) -> float:
        """What this adds to the difference between the two scores."""
        return self.value * (self.weight - self.rival_weight)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another token at which the two taggings differ, with the sums of what it adds to the difference."""

    token: int
    word: str
    tag: str
    rival: str
    features: float
    transitions: float  # including edge features; of the step on the far side from the explained token
    bias: float = 0.0
    learned: str = ""  # the label that the model learned for the tag
    rival_learned: str = ""

    @property
    def difference(self) -> float:
        """What this token adds to the difference between the two scores."""
        return self.features + self.transitions + self.bias


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a token has `tag` rather than `rival`. Tokens count from 0. See `explain`."""

    words: tuple[str, ...]
    token: int
    tag: str
    rival: str
    chosen: str  # the tag that the model predicts
    tags: tuple[str, ...]  # the best tagging in which the token has the tag
    rival_tags: tuple[str, ...]  # the best tagging in which it has the rival
    known: int  # number of the token's features that the model knows
    contributions: tuple[Contribution, ...]  # the strongest contributions, strongest first
    others: int  # number of contributions that are not listed
    others_difference: float  # what these add together
    elsewhere: tuple[Elsewhere, ...]
    difference: float  # between the scores of the two taggings: the sum of all the above
    learned: tuple[str, ...] = ()  # `tags` as learned labels; empty if the model shows the labels that it learned
    rival_learned: tuple[str, ...] = ()
    temperature: float = 1.0  # of the model: divides scores before they become probabilities

    @property
    def log_ratio(self) -> float:
        """The log of `ratio`: the difference between the scores, divided by the temperature."""
        return self.difference / self.temperature

    @property
    def ratio(self) -> float:
        """How many times as probable as its rival the tagging is; agrees with the exact probabilities of `nbest`."""
        return math.exp(self.log_ratio) if self.log_ratio < 700 else math.inf

    def as_dict(self) -> dict[str, Any]:
        """Return the explanation as a dictionary, to be written as JSON; a ratio that is too large becomes None."""
        listed = asdict(self)
        for name in ("contributions", "elsewhere"):
            for entry, one in zip(listed[name], getattr(self, name), strict=True):
                entry["difference"] = one.difference
        return {**listed, "ratio": self.ratio if self.ratio < math.inf else None}


def explain(
    tagger: Tagger | str | Path,
    tokens: Sequence[Any],
    token: int,
    *,
    against: str | None = None,
    tag: str | None = None,
    top: int = 15,
) -> Explanation:
    """Explain why a token (the first is 0) has its tag and not another.

    `tagger` may also be the path of a model.
    `tag` is by default the one that the model predicts, and `against` the one in the best tagging that gives the token
    another tag. The `top` strongest contributions are listed one by one, the others as one sum. Raises SapoError if the
    model is a network, does not have one of the tags, or forbids every tagging with one of them.

    >>> import sapo
    >>> tagger = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")
    >>> why = explain(tagger, ["the", "dog"], 1, top=3)
    >>> why.tag, why.rival, why.difference > 0, len(why.contributions)
    ('NN', 'DT', True, 3)
    """
    tagger = as_tagger(tagger)
    tagger.model.linear_encoder("its scores are not sums of feature weights, so they cannot be explained")
    tokens = plain_sentence(tokens, "the sentence")
    model = tagger.model
    _check(model.outer_labels, tokens, token, against, tag, top)
    corpus = encoded_sentence(model, tokens)
    lattice = make_lattice(corpus, 0, model.tagging)
    shown = model.shown or model.labels
    free = viterbi(lattice).paths
    if not len(free):
        raise ModelError("the model forbids every tagging of this sentence")
    path = free[0] if tag is None else _best_with(lattice, token, shown, only=tag)
    name = shown[path[token]]
    if name == against:
        raise OptionError(f"the tag and its rival are both '{name}'; name two different ones")
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
        model.temperature,
    )


def full_name(shown: str, learned: str) -> str:
    """Return the name of a label, followed by the learned name if that is another one.

    >>> full_name("B-NP", "S-NP"), full_name("I-NP", "I-NP")
    ('B-NP [S-NP]', 'I-NP')
    """
    return shown if learned in ("", shown) else f"{shown} [{learned}]"


class _Weighed:
    """The weights of two taggings of a sentence, at each token."""

    def __init__(self, model: Model, corpus: EncodedCorpus, path: Ints, rival: Ints) -> None:
        self.model, self.corpus, self.path, self.rival = model, corpus, path.tolist(), rival.tolist()
        self.shown = model.shown or model.labels

    def features(self, token: int) -> list[Contribution]:
        """Return the contributions of a token's features; one that occurs several times is listed once."""
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
        """Return the contribution of the bias, if the two tags of a token differ in it."""
        tag, rival = (self.shown[path[token]] for path in (self.path, self.rival))
        mine, theirs = (float(np.float32(self.model.bias.get(name, 0.0))) for name in (tag, rival))
        return [Contribution("bias", f"{tag}, against {rival}", 1.0, mine, theirs)] if mine != theirs else []

    def step(self, token: int) -> list[Contribution]:
        """Return the contributions of the transition into a token, and of its edge features.

        There is no transition into the first token or beyond the last.
        """
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
        """Yield the weight of an edge feature for each step from label to label; most pairs of labels have none."""
        parameters = self.model.parameters
        start, end = parameters.pairs.offsets[row : row + 2]
        for before, after in steps:
            here = parameters.pairs.codes[start:end] == before * parameters.labels + after
            yield float(parameters.pair_weights[start:end, 0][here].sum(dtype=float))

    def elsewhere(self, token: int, words: Sequence[str]) -> Iterable[Elsewhere]:
        """Yield each other token that differs, with the step on its far side; the near one belongs to its neighbor."""
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
    """Return the best tagging in which the token has the label `only`, or any label but `never`.

    Raises SapoError if the model forbids all of them.
    """
    allowed = [label != never if only is None else label == only for label in labels]
    node = lattice.node.copy()
    node[token, ~np.array(allowed)] = -np.inf
    found = viterbi(Lattice(node, lattice.edge)).paths
    if not len(found):
        wanted = f"the tag '{only}'" if only is not None else f"any other tag than '{never}'"
        raise ModelError(f"the model allows no tagging of this sentence that gives the token {wanted}")
    best: Ints = found[0]
    return best


def _check(
    labels: Sequence[str], tokens: Sequence[Any], token: int, against: str | None, tag: str | None, top: int
) -> None:
    if not len(tokens):
        raise DataError("the sentence has no tokens")
    if not 0 <= token < len(tokens):
        raise OptionError(f"token must be an index from 0 to {len(tokens) - 1}, not {token}")
    if top < 0:
        raise OptionError(f"top must be 0 or more, not {top}")
    for label in (tag, against):
        if label is not None and label not in labels:
            raise OptionError(f"the model has no label '{label}'{did_you_mean(label, labels)}")
    if len(labels) == 1:
        raise ModelError(f"the model has only the label '{labels[0]}': there is nothing to explain")


def _word(token: Any, number: int, strings: bool) -> str:
    """Return a token as text. A token of ready-made features has no word, and is shown by its number."""
    if not strings:
        return f"#{number + 1}"
    return token if isinstance(token, str) else str(token[0])
