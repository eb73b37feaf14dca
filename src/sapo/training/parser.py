"""Train a dependency parser, and parse with it: trees, n-best trees, and the features that speak for an arc.

>>> tree = Tree((2, 3, 0), ("det", "nsubj", "root"))
>>> cats = TreeSentence(("the", "cat", "sleeps"), ("DET", "NOUN", "VERB"), ("_",) * 3, ("_",) * 3, tree)
>>> parser = Parser.train([cats], epochs=3, bits=12)
>>> parser.parse(cats) == tree
True
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapo import jit
from sapo.errors import DataError, ModelError, OptionError
from sapo.features.clusters import Clusters
from sapo.jit.arrays import Doubles, Floats, Ints, Longs, offsets_of
from sapo.learn.settings import Settings
from sapo.learn.structured import FlatWeights, PartCandidates, PartRows, PartStructure, learn_structure
from sapo.search import transitions
from sapo.search.transitions import (
    ACTIONS,
    CLUSTER_TEMPLATES,
    NUMBERS,
    SHIFT,
    TEMPLATES,
    TO_LEFT,
    TO_RIGHT,
    TO_ROOT,
    WORD_COLUMNS,
    EncodedTrees,
    Grammar,
    code_of,
    open_beam,
    part_rows,
    read_tree,
    search_beam,
    template_table,
    trace,
)
from sapo.search.trees import LIFTED, Tree, TreeSentence, check_sentence, check_tree, lifted, lowered

__all__ = ["ArcReason", "Parser", "RankedTree", "Tree", "TreeSentence", "TreeStructure"]

WIDTH = 8
BITS = 23  # of hashes: 8 million weights
MOST_BITS = 28
MOST_RELATIONS = 2000
# How often a relation of lifted words must occur: once in so many words, but 5 to 20 times. 20 instead of 5 gains 0.35
# LAS on the dev file of Basque (seed 0, 5 epochs), 50 gain 0.13; fewer relations also make parsing faster.
LIFTED_SHARE, LEAST_LIFTED, MOST_LIFTED = 3500, 5, 20
MARGIN = math.log(1000)  # leave out candidates that are this many times less probable than the best one
RATE, N = 0.02, 5  # on the dev file of Greek, half and twice the rate, a falling one, and n of 3 and 8 gain nothing
STRENGTH = 4.0  # of L2; without it, LAS falls by 0.7 on the dev file of Greek (mean of two seeds), English EWT by 0.3
SUFFIX = 2  # letters; chosen on the dev file of Basque, where three are worse by 0.2 LAS (mean of two seeds)
SOME_FEATS = ("Case", "VerbForm", "PronType")  # make a tag where there is no XPOS
WORK = 20  # a transition costs as much as this many tokens of a tagger
UNKNOWN, ROOT = 0, 1  # numbers of tags
CLUSTERS = "clusters"  # what their arrays begin with in a model file
PREFIXES = (("cluster", None), ("cluster6", 6), ("cluster4", 4))  # bits of the path of a cluster


@dataclass(frozen=True, slots=True)
class RankedTree:
    """A tree, its score, and its probability among the trees that were found: those of the beam, not all trees."""

    tree: Tree
    score: float
    beam_probability: float


@dataclass(frozen=True, slots=True)
class ArcReason:
    """A feature, and its weight for the action that made an arc."""

    feature: str
    weight: float


class TreeEncoder:
    """Turn sentences into numbers: codes of words, tags and relations, and which relations pairs of tags have."""

    def __init__(
        self,
        relations: Sequence[str],
        tags: Sequence[str],
        lists: tuple[Ints, Ints, Ints],
        bits: int,
        clusters: Clusters | None = None,
    ) -> None:
        self.relations, self.tags, self.bits, self.clusters = tuple(relations), tuple(tags), bits, clusters
        self.templates = TEMPLATES if clusters is None else TEMPLATES + CLUSTER_TEMPLATES
        self.number_of = {tag: number for number, tag in enumerate(tags, ROOT + 1)}
        self.lists = lists
        numbers = [code_of("number", str(i)) for i in range(max(len(self.relations) + 1, NUMBERS))]
        table = template_table(self.templates)
        self.grammar = Grammar(*table, np.array(numbers, np.int64), *lists, (1 << bits) - 1)
        self._codes: dict[tuple[str, str, str, str], tuple[int, ...]] = {}

    @property
    def size(self) -> int:
        """The number of weights."""
        return (1 << self.bits) + ACTIONS + 2 * len(self.relations)

    @property
    def most_relations(self) -> int:
        """The most relations that a pair of tags has."""
        return int((self.lists[1] - self.lists[0]).max(initial=0))

    @classmethod
    def of(
        cls, sentences: Sequence[TreeSentence], trees: Sequence[Tree], bits: int, clusters: Clusters | None = None
    ) -> "TreeEncoder":
        """Return what training sentences and their projective trees teach."""
        counts = Counter(relation for tree in trees for relation in tree.relations)
        relations = sorted(counts, key=lambda relation: (-counts[relation], relation))
        tags = sorted({tag for sentence in sentences for tag in sentence.upos})
        number = {relation: i for i, relation in enumerate(relations)}
        tag_number = {tag: i for i, tag in enumerate(tags, ROOT + 1)}
        seen: dict[tuple[int, int, int], set[int]] = {}
        for sentence, tree in zip(sentences, trees, strict=True):
            upos = [ROOT, *(tag_number[tag] for tag in sentence.upos)]
            for m, (head, relation) in enumerate(zip(tree.heads, tree.relations, strict=True), 1):
                direction = TO_ROOT if head == 0 else TO_RIGHT if head < m else TO_LEFT
                # under any head, and of any dependent, for pairs that were never seen
                for key in ((upos[head], upos[m]), (UNKNOWN, upos[m]), (UNKNOWN, UNKNOWN)):
                    seen.setdefault((*key, direction), set()).add(number[relation])
        size = len(tags) + ROOT + 1
        starts, ends = np.zeros((2, size, size, 3), np.int32)
        places: dict[tuple[int, ...], tuple[int, int]] = {}
        flat: list[int] = []
        every = set(range(len(relations)))
        for head in range(size):
            for dependent in range(size):
                for direction in (TO_RIGHT, TO_LEFT, TO_ROOT):
                    keys = ((head, dependent), (UNKNOWN, dependent), (UNKNOWN, UNKNOWN))
                    chosen = tuple(
                        sorted(next((seen[k, m, direction] for k, m in keys if (k, m, direction) in seen), every))
                    )
                    if chosen not in places:
                        places[chosen] = len(flat), len(flat) + len(chosen)
                        flat.extend(chosen)
                    starts[head, dependent, direction], ends[head, dependent, direction] = places[chosen]
        return cls(relations, tags, (starts, ends, np.array(flat, np.int32)), bits, clusters)

    def codes_of(self, word: str, upos: str, xpos: str, feats: str) -> tuple[int, ...]:
        """Return the codes of a word: its form, UPOS, tag, features and suffix."""
        key = word, upos, xpos, feats
        found = self._codes.get(key)
        if found is None:
            tag, low = xpos, word.lower()
            if xpos in ("", "_", upos):
                tag = "|".join([upos, *(value for value in feats.split("|") if value.startswith(SOME_FEATS))])
            texts = (("word", low), ("upos", upos), ("tag", tag), ("feats", feats), ("suffix", low[-SUFFIX:]))
            found = self._codes[key] = tuple(code_of(kind, text) for kind, text in texts)
        return found

    def encode(self, sentences: Sequence[TreeSentence], trees: Sequence[Tree] | None = None) -> EncodedTrees:
        """Return sentences as numbers, with their projective trees if they are to be learned."""
        self._codes.clear()
        columns = WORD_COLUMNS + (len(PREFIXES) if self.clusters is not None else 0)
        edges = [
            tuple(code_of(kind, "") for kind in ("nothing",) * columns),
            tuple(code_of("root", str(i)) for i in range(columns)),
        ]
        clusters = self._cluster_codes(sentences)
        codes: list[tuple[int, ...]] = []
        tags: list[int] = []
        heads: list[int] = []
        relations: list[int] = []
        number = {relation: i for i, relation in enumerate(self.relations)}
        for s, sentence in enumerate(sentences):
            n = len(sentence)
            codes.append(edges[0])
            own = map(self.codes_of, sentence.words, sentence.upos, sentence.xpos, sentence.feats)
            codes.extend(a + b for a, b in zip(own, itertools.islice(clusters, n), strict=True))
            codes.extend((edges[1], edges[0], edges[0]))
            tags.extend((UNKNOWN, *(self.number_of.get(tag, UNKNOWN) for tag in sentence.upos), ROOT, UNKNOWN, UNKNOWN))
            if trees is not None:
                heads.extend((0, *(head or n + 1 for head in trees[s].heads), 0, 0, 0))
                relations.extend((0, *(number[relation] for relation in trees[s].relations), 0, 0, 0))
        offsets = offsets_of(np.array([len(sentence) + 4 for sentence in sentences], np.int64))
        return EncodedTrees(
            offsets,
            np.array(codes, np.int64).reshape(-1, columns),
            np.array(tags, np.int32),
            np.array(heads, np.int32),
            np.array(relations, np.int32),
        )

    def _cluster_codes(self, sentences: Sequence[TreeSentence]) -> Iterator[tuple[int, ...]]:
        """Yield the codes of the cluster of each word; nothing without clusters."""
        if self.clusters is None:
            yield from itertools.repeat((), sum(map(len, sentences)))
            return
        made: dict[str | None, tuple[int, ...]] = {}
        for path in self.clusters.find_all([word for sentence in sentences for word in sentence.words]):
            if path not in made:
                made[path] = tuple(code_of(kind, (path or "")[:length]) for kind, length in PREFIXES)
            yield made[path]


class TreeStructure(PartStructure):
    """The sentences of a corpus, for the loop of learn/structured.py, and for parsing.

    A part is an action in a state, numbered as the state of the last search to which it leads.
    """

    def __init__(self, encoder: TreeEncoder, forest: EncodedTrees, width: int, *, learning: bool) -> None:
        self.encoder, self.forest, self.learning = encoder, forest, learning
        self.lengths = np.diff(forest.offsets) - 4
        longest, templates = int(self.lengths.max(initial=0)), len(encoder.templates)
        self.beam = open_beam(longest, width, templates, encoder.most_relations, learning=learning)
        self.end = 0

    def __len__(self) -> int:
        return len(self.lengths)

    def best_states(self, sample: int, weights: FlatWeights) -> tuple[int, int]:
        """Search a sentence; return the best state at the end, and how many there are, one after the other."""
        grammar, forest = self.encoder.grammar, self.forest
        self.end = search_beam(sample, grammar, forest, weights.v, weights.scale, self.learning, self.beam)
        return int(self.beam.begins[self.end]), int(self.beam.counts[self.end])

    def search(self, sample: int, weights: FlatWeights, n: int) -> PartCandidates:
        first, count = self.best_states(sample, weights)
        scores = self.beam.scores[first : first + min(n, count)]
        scores = scores[scores >= scores[0] - MARGIN]
        parts = np.empty((len(scores), self.end), np.int64)
        trace(first, self.beam.states, parts)
        return PartCandidates(parts.reshape(-1), np.arange(len(scores) + 1) * self.end, scores)

    def oracle(self, sample: int) -> Longs:
        return self.beam.gold[1 : self.end + 1].copy()

    def rows(self, sample: int, parts: Longs) -> PartRows:
        rows = np.empty(2 * len(self.encoder.templates) * len(parts), np.int64)
        offsets = np.zeros(len(parts) + 1, np.int64)
        part_rows(sample, parts, self.encoder.grammar, self.forest, self.beam, rows, offsets)
        return PartRows(rows[: offsets[-1]], offsets)

    def tree(self, sample: int, state: int) -> Tree:
        """Return the tree that the actions up to a state made, with lifted words where they belong."""
        n = int(self.lengths[sample])
        heads, relations = np.zeros((2, n + 1), np.int64)
        read_tree(state, n, self.beam.states, heads, relations)
        names = self.encoder.relations
        return lowered(Tree(tuple(heads[1:].tolist()), tuple(names[r] for r in relations[1:].tolist())))


class Parser:
    """A dependency parser: arc-hybrid transitions, searched with a beam."""

    def __init__(self, encoder: TreeEncoder, weights: Floats, width: int) -> None:
        self.encoder, self.width = encoder, width
        self.weights = FlatWeights.of(weights)

    @classmethod
    def train(
        cls,
        sentences: Sequence[TreeSentence],
        *,
        seed: int = 0,
        epochs: int = 10,
        progress: Callable[[str], None] | None = None,
        dev: Sequence[TreeSentence] | None = None,
        n: int = N,
        width: int = WIDTH,
        rate: float = RATE,
        learner: str = "sapo",
        bits: int = BITS,
        clusters: Clusters | None = None,
    ) -> "Parser":
        """Learn from sentences with trees. `progress` gets a line after each epoch.

        With `dev`, keep the weights of the epoch with the best LAS there. `bits` is the size of the table of weights,
        as a power of 2. With `clusters`, look at the clusters of words, too; the parser keeps them.
        """
        for name, value, most in (("width", width, 1000), ("bits", bits, MOST_BITS)):
            if not 1 <= value <= most:
                raise OptionError(f"{name} must be a number from 1 to {most}, not {value}")
        settings = Settings(
            n=n, rate=rate, schedule="fixed", strength=STRENGTH, average=1.0, epochs=epochs, seed=seed, width=width
        )
        if not any(map(len, sentences)):
            raise DataError("no sentences to learn from; give at least one with a tree")
        trees = []
        for number, sentence in enumerate(sentences, 1):
            check_sentence(sentence, number)
            tree = check_tree(sentence.tree, len(sentence), number)
            for relation in tree.relations:
                if LIFTED in relation:
                    raise DataError(f"sentence {number}: the relation {relation!r} must not contain '{LIFTED}'")
            trees.append(tree)
        jit.prepare(tokens=WORK * width * epochs * sum(map(len, sentences)))
        trees = _without_rare([lifted(tree) for tree in trees])
        if (kinds := len({relation for tree in trees for relation in tree.relations})) > MOST_RELATIONS:
            raise DataError(f"there are {kinds} relations; at most {MOST_RELATIONS} can be learned")
        encoder = TreeEncoder.of(sentences, trees, bits, clusters)
        structure = TreeStructure(encoder, encoder.encode(sentences, trees), width, learning=True)
        weights = FlatWeights(encoder.size)
        parser = cls(encoder, weights.v, width)

        def evaluate(values: Floats) -> float:
            parser.weights = FlatWeights.of(values)
            return parser.las(dev or ())

        finished = 0

        def watch(epoch: int, done: int, of: int) -> None:
            nonlocal finished
            if progress is not None and done == of and finished < epoch:
                finished = epoch
                progress(f"epoch {epoch} of {epochs}: {done} sentences")

        learn_structure(structure, weights, settings, learner=learner, evaluate=evaluate if dev else None, watch=watch)
        parser.weights = weights
        return parser

    def parse(self, sentence: TreeSentence) -> Tree:
        """Return the best tree of a sentence; its own tree, if it has one, is not looked at."""
        return self.parse_many([sentence])[0]

    def parse_many(self, sentences: Sequence[TreeSentence]) -> list[Tree]:
        """Return the best tree of each sentence."""
        structure = self._structure(sentences)
        return [structure.tree(i, structure.best_states(i, self.weights)[0]) for i in range(len(structure))]

    def nbest(self, sentence: TreeSentence, n: int) -> list[RankedTree]:
        """Return up to n different trees, the best one first, with their probabilities among those in the beam.

        Several sequences of actions may lead to the same tree; its probability is their sum.
        """
        structure = self._structure([sentence], max(n, self.width))
        first, count = structure.best_states(0, self.weights)
        scores: Doubles = structure.beam.scores[first : first + count]
        odds = np.exp(scores - scores[0])
        shares: dict[Tree, float] = {}
        best: dict[Tree, float] = {}
        for k, share in enumerate((odds / odds.sum()).tolist()):
            tree = structure.tree(0, first + k)
            shares[tree] = shares.get(tree, 0.0) + share
            best.setdefault(tree, float(scores[k]))
        ranked = [RankedTree(tree, best[tree], share) for tree, share in shares.items()]
        return sorted(ranked, key=lambda tree: -tree.beam_probability)[:n]

    def explain(self, sentence: TreeSentence, dependent: int) -> list[ArcReason]:
        """Return the features of the action that gave a word its head, the one that spoke most for it first.

        Words count from 1.
        """
        if not 1 <= dependent <= len(sentence):
            raise OptionError(f"dependent must be the number of a word, from 1 to {len(sentence)}, not {dependent}")
        structure = self._structure([sentence])
        candidates = structure.search(0, self.weights, 1)
        states = structure.beam.states
        for part in candidates.parts.tolist():
            if states[part, transitions.ACTION] != SHIFT:
                if states[states[part, transitions.PARENT], transitions.S0] == dependent:
                    rows = structure.rows(0, np.array([part], np.int64)).rows.reshape(-1, 2)
                    amounts = self.weights.v[rows].sum(axis=1) * self.weights.scale
                    reasons = [ArcReason(*pair) for pair in zip(self.encoder.templates, amounts.tolist(), strict=True)]
                    return sorted(reasons, key=lambda reason: -reason.weight)
        raise AssertionError("every word has a head")

    def las(self, sentences: Sequence[TreeSentence]) -> float:
        """Return the share of words with the right head and relation, as their sentences have them."""
        right = words = 0
        for sentence, found in zip(sentences, self.parse_many(sentences), strict=True):
            if sentence.tree is not None:
                words += len(sentence)
                gold = zip(sentence.tree.heads, sentence.tree.relations, strict=True)
                right += sum(a == b for a, b in zip(gold, zip(found.heads, found.relations, strict=True), strict=True))
        return right / max(1, words)

    def _structure(self, sentences: Sequence[TreeSentence], width: int = 0) -> TreeStructure:
        for number, sentence in enumerate(sentences, 1):
            check_sentence(sentence, number)
        jit.prepare(tokens=WORK * self.width * sum(map(len, sentences)))
        return TreeStructure(self.encoder, self.encoder.encode(sentences), width or self.width, learning=False)

    def to_arrays(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, object]]:
        """Return the parser as arrays, and what JSON can hold."""
        values = self.weights.true_weights()
        rows = np.flatnonzero(values)
        starts, ends, flat = self.encoder.lists
        arrays: dict[str, NDArray[np.generic]] = {
            "rows": rows.astype(np.int32),
            "values": values[rows],
            "starts": starts,
            "ends": ends,
            "lists": flat,
        }
        if self.encoder.clusters is not None:
            arrays |= {f"{CLUSTERS}.{name}": array for name, array in self.encoder.clusters.arrays().items()}
        meta: dict[str, object] = {
            "relations": list(self.encoder.relations),
            "tags": list(self.encoder.tags),
            "bits": self.encoder.bits,
            "width": self.width,
            "templates": list(self.encoder.templates),
        }
        return arrays, meta

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]], meta: Mapping[str, object]) -> "Parser":
        """Return the parser that `to_arrays` described. Raise ModelError if it cannot be one."""
        relations, tags, bits, width = (meta.get(name) for name in ("relations", "tags", "bits", "width"))
        clustered = meta.get("templates") == [*TEMPLATES, *CLUSTER_TEMPLATES]
        if not clustered and meta.get("templates") != list(TEMPLATES):
            raise ModelError("the parser was made with other templates; train it again")
        if not (
            isinstance(relations, list)
            and isinstance(tags, list)
            and all(isinstance(name, str) for name in (*relations, *tags))
            and 0 < len(relations) <= MOST_RELATIONS
            and isinstance(bits, int)
            and isinstance(width, int)
            and 1 <= bits <= MOST_BITS
            and 1 <= width <= 1000
        ):
            raise ModelError("the description of the parser is damaged; train it again")
        size = len(tags) + ROOT + 1
        shapes = {"rows": 1, "values": 1, "starts": 3, "ends": 3, "lists": 1}
        if any(name not in arrays or arrays[name].ndim != shapes[name] for name in shapes):
            raise ModelError("an array of the parser is missing or has a wrong shape; train it again")
        rows, values = arrays["rows"].astype(np.int64), arrays["values"].astype(np.float32)
        starts, ends, flat = (arrays[name].astype(np.int32) for name in ("starts", "ends", "lists"))
        try:
            clusters = Clusters.from_arrays(arrays, CLUSTERS) if clustered else None
        except (ValueError, KeyError):
            raise ModelError("the word clusters of the parser are missing or damaged; train it again") from None
        encoder = TreeEncoder(relations, tags, (starts, ends, flat), bits, clusters)
        if not (
            starts.shape == ends.shape == (size, size, 3)
            and len(rows) == len(values)
            and _within(rows, encoder.size)
            and _within(starts, len(flat))
            and _within(ends - 1, len(flat))
            and bool((starts < ends).all())
            and _within(flat, len(relations))
            and math.isfinite(float(values.sum()))
        ):
            raise ModelError("the arrays of the parser do not fit together; train it again")
        weights = np.zeros(encoder.size, np.float32)
        weights[rows] = values
        return cls(encoder, weights, width)


def _without_rare(trees: Sequence[Tree]) -> list[Tree]:
    """Return trees in which words stay lifted whose relations of lifted words are rare."""
    counts = Counter(relation for tree in trees for relation in tree.relations)
    least = max(LEAST_LIFTED, min(MOST_LIFTED, counts.total() // LIFTED_SHARE))
    rare = {name: name.partition(LIFTED)[0] for name, count in counts.items() if count < least and LIFTED in name}
    return [Tree(tree.heads, tuple(rare.get(relation, relation) for relation in tree.relations)) for tree in trees]


def _within(numbers: NDArray[np.integer], size: int) -> bool:
    return not len(numbers) or bool(numbers.min() >= 0 and numbers.max() < size)
