"""Turn a string into another: lemmas, pronunciations, normalized spellings.

There are two stages. A chain over the characters labels each with an edit (tags/edits.py), and its n best taggings are
candidates, together with the outputs of frequent rules for ends and beginnings, and with outputs that the form had in
training. A ranker scores the candidates by features of the whole output. Each feature is hashed to one of SIZE weights.
"""

import json
import math
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.files import show_path
from sapo.errors import ModelError
from sapo.jit.arrays import Floats, Longs, offsets_of
from sapo.learn.structured import softmax_of_scores
from sapo.search.lists import CandidateLists, score_list
from sapo.tagger.arrayfile import load_arrays, save_arrays
from sapo.tagger.decoding import candidates, encoded_batches
from sapo.tagger.file import model_bytes, model_from_bytes
from sapo.tagger.model import Model
from sapo.tags.edits import Rule, apply_labels, apply_rule, lowered, rule_of

WHAT = "a model of edits"
SIZE = 1 << 22  # weights of the ranker
NBEST = 8  # taggings of the chain
RULES = 15  # candidates that rules make
LONGEST_END = 8  # characters of the form that features look at, from its end
REMEMBERED = 1_000_000  # results that a model keeps
BATCH = 1000  # items whose features are made at once
NEVER = 20  # the logarithm of a probability of 0

Numbers = np.ndarray[Any, np.dtype[np.uint64]]
Key = tuple[str, tuple[str, ...]]  # form and context


@dataclass(frozen=True, slots=True)
class EditItem:
    """A string to be turned into another, such as a word into its lemma.

    >>> EditItem("Houses", ("NOUN", "Number=Plur"), "house").context
    ('NOUN', 'Number=Plur')
    """

    form: str
    context: tuple[str, ...] = ()  # what else is known, such as part of speech and morphology; the first matters most
    output: str | None = None  # the gold output; only training needs it
    count: int = 1  # how often it occurs

    @property
    def key(self) -> Key:
        return self.form, self.context


@dataclass(frozen=True, slots=True)
class RankedOutput:
    """One of the n best outputs. Its probability is over the candidates that the model has ranked."""

    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class Chain:
    """The first stage: a tagger of characters."""

    model: Model
    edits: tuple[str, ...]  # what the numbers mean that are its labels

    def outputs(self, keys: Sequence[Key], *, empty: bool) -> list[dict[str, float]]:
        """Return the outputs of the NBEST best taggings of each form, best first, each with its share among them."""
        names = [self.edits[int(label)] for label in self.model.labels]
        found = []
        sentences = iter(keys)
        for corpus in encoded_batches(self.model, [characters(*key) for key in keys]):
            for number, (form, _) in enumerate(islice(sentences, corpus.sentences)):
                best = candidates(self.model, corpus, number, NBEST, "topn", NBEST)
                mass: dict[str, float] = {}
                for path, share in zip(best.paths.tolist(), softmax_of_scores(best.scores).tolist(), strict=True):
                    output = apply_labels(form, [names[label] for label in path])
                    if output or empty:
                        mass[output] = mass.get(output, 0.0) + share
                found.append(mass)
        return found


def characters(form: str, context: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the tokens of the chain, with the columns that features/presets/edits.txt expects.

    >>> characters("Is", ("AUX",))
    [('i', 'AUX', 'AUX', 'firstC', '2'), ('s', 'AUX', 'AUX', 'C', '1')]
    """
    base = lowered(form)
    case = "c" if form[:1] == base[:1] else "A" if len(form) > 1 and form.isupper() else "C"
    first, whole = (context[0] if context else "") or "_", "|".join(context) or "_"
    size = len(base)
    return [
        (letter, first, whole, f"first{case}" if i == 0 else case, str(min(size - i, 6)))
        for i, letter in enumerate(base)
    ]


@dataclass(frozen=True)
class EditMemory:
    """What training has seen: rules, and the outputs of forms."""

    rules: Mapping[Rule, int]  # how many forms have it
    outputs: Mapping[str, Sequence[str]]  # of a form
    seen: Mapping[str, int]  # how many forms have this output
    seen_with: Mapping[tuple[str, str], int]  # the same, with the first value of the context
    by_end: Mapping[str, list[tuple[int, Rule]]] = field(init=False)
    longest: int = field(init=False)  # characters of an end

    def __post_init__(self) -> None:
        by_end: dict[str, list[tuple[int, Rule]]] = defaultdict(list)
        for rule, count in self.rules.items():
            by_end[rule.end].append((count, rule))
        object.__setattr__(self, "by_end", dict(by_end))
        object.__setattr__(self, "longest", max(map(len, by_end), default=0))

    def by_rules(self, form: str) -> list[str]:
        """Return the outputs of the rules that fit the form: frequent ones and those with long ends first."""
        fitting = [
            (count * (1 + size * size), rule)
            for base in {form: 0, lowered(form): 0}
            for size in range(min(self.longest, len(base)) + 1)
            for count, rule in self.by_end.get(base[len(base) - size :], ())
        ]
        fitting.sort(key=lambda pair: -pair[0])
        made: dict[str, None] = {}
        for _, rule in fitting:
            output = apply_rule(form, rule)
            if output:
                made[output] = None
                if len(made) == RULES:
                    break
        return list(made)


@dataclass(frozen=True, slots=True)
class Proposal:
    """The candidates of an item."""

    form: str
    first: str  # value of the context
    whole: str  # context
    outputs: list[str]
    chain: dict[str, float]  # what the chain found, best first
    gold: int = -1  # the place of the right candidate while training


def propose(keys: Sequence[Key], chain: Chain | None, known: EditMemory) -> list[Proposal]:
    """Return the candidates of each item.

    What a form had as output in other contexts is a candidate while training, too: otherwise the ranker would see
    irregular outputs only where they are right, and prefer them everywhere.
    """
    empty = "" in known.seen
    found: list[dict[str, float]] = [{} for _ in keys] if chain is None else chain.outputs(keys, empty=empty)
    proposals = []
    for (form, context), best in zip(keys, found, strict=True):
        outputs = dict.fromkeys([*best, *known.by_rules(form), *known.outputs.get(form, ())])
        if not outputs:
            outputs[form] = None
        first = context[0] if context else ""
        proposals.append(Proposal(form, first, "|".join(context), list(outputs), best))
    return proposals


def lists_of(proposals: Sequence[Proposal], known: EditMemory) -> CandidateLists:
    """Return the features of all candidates."""
    parts = [_rows(proposals[at : at + BATCH], known) for at in range(0, len(proposals), BATCH)]
    sizes = np.concatenate([np.zeros(0, np.int64), *(sizes for sizes, _ in parts)])
    rows = np.concatenate([np.zeros(0, np.int64), *(rows for _, rows in parts)])
    offsets = offsets_of(np.array([len(one.outputs) for one in proposals], np.int64))
    return CandidateLists(offsets, offsets_of(sizes), rows, np.empty(0, np.float32))


def _rows(proposals: Sequence[Proposal], known: EditMemory) -> tuple[Longs, Longs]:
    """Return the number of features of each candidate, and the features."""
    each = np.repeat(np.arange(len(proposals)), [len(one.outputs) for one in proposals])
    outputs = [output for one in proposals for output in one.outputs]
    first = _hashed([one.first for one in proposals])[each]
    whole = _hashed([one.whole for one in proposals])[each]
    forms = [one.form for one in proposals]
    form, output = _hashed(forms)[each], _hashed(outputs)
    rule = _hashed(["\0".join(rule_of(one.form, text)) for one in proposals for text in one.outputs])
    counts = _numbers(_seen(known, one, text) for one in proposals for text in one.outputs)
    ranks = _numbers(_rank(one, text) for one in proposals for text in one.outputs)
    columns = _Columns(len(each))
    columns.add(rule)
    columns.add(rule, first)
    columns.add(rule, whole)
    for ending, exists in _endings(forms, LONGEST_END):
        for values in ((), (first,), (whole,)):
            columns.add(rule, ending[each], *values, where=exists[each])
    for values in ((), (first,), (whole,)):
        columns.add(rule, form, *values)
    for beginning, exists in _endings([text[:4][::-1] for text in forms], 4):
        columns.add(rule, beginning[each], where=exists[each])
    for ending, exists in _endings(outputs, 6):
        columns.add(ending, first, where=exists)
        columns.add(ending, whole, where=exists)
    columns.add(output)
    columns.add(output, first)
    columns.add(counts[:, 0])
    columns.add(counts[:, 0], first)
    for values in ((first,), (rule,), (whole,)):
        columns.add(counts[:, 1], *values)
    columns.add(ranks[:, 0])
    columns.add(ranks[:, 0], first)
    columns.add(ranks[:, 1])
    columns.add(ranks[:, 1], counts[:, 1])
    columns.add(ranks[:, 0], counts[:, 1], first)
    table = np.stack(columns.rows, axis=1)
    kept = table >= 0
    return kept.sum(axis=1), table[kept]


class _Columns:
    """Features of all candidates, one kind after the other; -1 if a candidate has none of this kind."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: list[Longs] = []

    def add(self, *values: Numbers, where: "np.ndarray[Any, np.dtype[np.bool_]] | None" = None) -> None:
        hashed = np.full(self.size, len(self.rows) + 1, np.uint64)
        for value in values:
            hashed = _mixed(hashed, value)
        rows = (hashed & np.uint64(SIZE - 1)).astype(np.int64)
        self.rows.append(rows if where is None else np.where(where, rows, -1))


def _mixed(hashed: Numbers, value: Numbers) -> Numbers:
    """Combine two numbers; the product wraps at 2**64."""
    mixed: Numbers = (hashed * np.uint64(0x9E3779B97F4A7C15)) ^ value
    mixed = mixed * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(31))


def _hashed(texts: Sequence[str]) -> Numbers:
    return np.array([zlib.crc32(text.encode("utf-8", "surrogatepass")) for text in texts], np.uint64)


def _numbers(rows: Iterable[tuple[int, int]]) -> Numbers:
    return np.array(list(rows), np.uint64).reshape(-1, 2)


def _endings(texts: Sequence[str], longest: int) -> "Iterable[tuple[Numbers, np.ndarray[Any, np.dtype[np.bool_]]]]":
    """Yield hashes of the last 1, 2, ... characters of each text, and which texts have as many."""
    short = [text[-longest:] for text in texts]
    codes = np.frombuffer("".join([*short, " "]).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    sizes = np.array([len(text) for text in short], np.int64)
    ends, hashed = np.cumsum(sizes), np.zeros(len(short), np.uint64)
    for size in range(1, longest + 1):
        exists = sizes >= size
        hashed = _mixed(hashed, codes[np.where(exists, ends - size, 0)])
        yield hashed, exists


def _seen(known: EditMemory, item: Proposal, text: str) -> tuple[int, int]:
    """Return how many forms have this output, at most 3; while training without the item itself."""
    own = item.gold >= 0 and item.outputs[item.gold] == text
    counts = known.seen.get(text, 0) - own, known.seen_with.get((text, item.first), 0) - own
    return min(max(counts[0], 0), 3), min(max(counts[1], 0), 3)


def _rank(item: Proposal, text: str) -> tuple[int, int]:
    """Return the rank of an output among those of the chain, and its probability as bits."""
    share = item.chain.get(text)
    if share is None:
        return NBEST + 1, NEVER
    return list(item.chain).index(text), int(min(12.0, -math.log2(max(share, 1e-9))))


class EditModel:
    """Turns strings into strings. `sapo.training.edits.train_edits` makes it."""

    def __init__(self, chain: Chain | None, known: EditMemory, weights: Floats) -> None:
        self.chain = chain
        self.known = known
        self.weights = weights  # [SIZE] of the ranker
        self._remembered: dict[Key, str] = {}

    def predict_many(self, items: Iterable[EditItem]) -> list[str]:
        """Return the best output of each item. Equal items are computed once, and remembered from call to call."""
        keys = [item.key for item in items]
        remembered = self._remembered
        new = [key for key in dict.fromkeys(keys) if key not in remembered]
        if len(remembered) + len(new) > REMEMBERED:
            remembered = self._remembered = {}
            new = list(dict.fromkeys(keys))
        for at in range(0, len(new), BATCH):
            some = new[at : at + BATCH]
            for key, ranked in zip(some, self._ranked(some), strict=True):
                remembered[key] = ranked[0].text
        return [remembered[key] for key in keys]

    def nbest(self, item: EditItem, n: int = 5) -> list[RankedOutput]:
        """Return the n best outputs, best first.

        Probabilities are over all candidates of the item (about twenty), and not over all strings.
        """
        return self._ranked([item.key])[0][:n]

    def _ranked(self, keys: Sequence[Key]) -> list[list[RankedOutput]]:
        """Return all candidates of each item, best first. An empty form has itself as its only candidate."""
        proposals = iter(propose([key for key in keys if key[0]], self.chain, self.known))
        whole = [next(proposals) if key[0] else Proposal("", "", "", [""], {}) for key in keys]
        lists = lists_of(whole, self.known)
        scores = np.empty(int(lists.offsets[-1]))
        score_list(lists, 0, len(scores), self.weights, 1.0, scores)
        result = []
        for one, (first, last) in zip(whole, pairwise(lists.offsets.tolist()), strict=True):
            order = np.argsort(-scores[first:last], kind="stable")
            shares = softmax_of_scores(scores[first:last][order]).tolist()
            result.append([RankedOutput(one.outputs[k], p) for k, p in zip(order.tolist(), shares, strict=True)])
        return result

    def save(self, path: str | Path) -> None:
        """Write the model to a file, whole or not at all."""
        arrays, meta = self.to_arrays()
        save_arrays(path, {"kind": "edits", **meta}, arrays)

    @classmethod
    def load(cls, path: str | Path) -> "EditModel":
        """Read a model. Raises SapoError if the file is another one, or damaged."""
        header, arrays = load_arrays(path, WHAT)
        if header.get("kind") != "edits":
            raise ModelError(f"{show_path(path)}: not {WHAT}; make one with sapo edits train")
        try:
            return cls.from_arrays(arrays, header)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            raise ModelError(f"{show_path(path)}: not {WHAT}: its parts do not fit together ({error})") from None

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, object]]:
        """Return the model as arrays and a value of JSON, for a file."""
        known = self.known
        texts = {
            "edits": list(self.chain.edits) if self.chain else [],
            "rules": [[*rule, count] for rule, count in known.rules.items()],
            "outputs": {form: list(outputs) for form, outputs in known.outputs.items()},
            "seen": dict(known.seen),
            "seen_with": [[*pair, count] for pair, count in known.seen_with.items()],
        }
        rows = np.flatnonzero(self.weights).astype(np.int32)
        arrays: dict[str, np.ndarray] = {
            "edits.texts": np.frombuffer(json.dumps(texts).encode(), np.uint8),
            "edits.rows": rows,
            "edits.weights": self.weights[rows],
        }
        if self.chain is not None:
            arrays["edits.chain"] = np.frombuffer(model_bytes(self.chain.model), np.uint8)
        return arrays, {"edits": 1}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], meta: Mapping[str, object]) -> "EditModel":
        """Return the model that `to_arrays` has stored. Raise ValueError, KeyError or TypeError if it is damaged."""
        if meta["edits"] != 1:
            raise ValueError("edits of another version")
        texts = json.loads(arrays["edits.texts"].tobytes())
        rows, values = arrays["edits.rows"], arrays["edits.weights"]
        if rows.dtype != np.int32 or values.dtype != np.float32 or rows.shape != values.shape or rows.ndim != 1:
            raise ValueError("weights of edits")
        if len(rows) and not (rows.min() >= 0 and rows.max() < SIZE and bool(np.isfinite(values).all())):
            raise ValueError("weights of edits")
        weights = np.zeros(SIZE, np.float32)
        weights[rows] = values
        rules = {Rule(*map(_text, rule)): int(count) for *rule, count in texts["rules"]}
        outputs = {_text(form): [_text(one) for one in some] for form, some in texts["outputs"].items()}
        seen = {_text(output): int(count) for output, count in texts["seen"].items()}
        pairs = {(_text(output), _text(first)): int(count) for output, first, count in texts["seen_with"]}
        chain = None
        if "edits.chain" in arrays:
            model = model_from_bytes(arrays["edits.chain"].tobytes(), name="the chain of edits")
            edits = tuple(_text(edit) for edit in texts["edits"])
            if not all(label.isdecimal() and int(label) < len(edits) for label in model.labels):
                raise ValueError("labels of edits")
            chain = Chain(model, edits)
        return cls(chain, EditMemory(rules, outputs, seen, pairs), weights)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a string was expected")
    return value
