"""Train a model that turns strings into strings: lemmas, pronunciations, normalized spellings.

The ranker must learn how far it can trust the chain, so it learns from the outputs of two chains, each trained on the
other half of the forms. The final model has a third chain, trained on all of them.
"""

import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib.resources import as_file, files

import numpy as np

from sapo.errors import DataError
from sapo.jit.arrays import Longs
from sapo.learn.settings import Settings
from sapo.learn.structured import FlatWeights, GivenLists, PartCandidates, PartRows, learn_structure
from sapo.search.lists import CandidateLists
from sapo.tagger.edits import SIZE, Chain, EditItem, EditMemory, EditModel, Key, Proposal, characters, lists_of, propose
from sapo.tags.edits import edit_labels, rule_of
from sapo.training.run import train

FOLDS = 2
CHAIN_TIMES, RANKER_TIMES = 2, 3  # a frequent item counts at most this often
MOST_EDITS = 300  # labels of the chain
FEWEST = 2  # forms that a rule, or an edit beyond the first FREE_EDITS, must have
FREE_EDITS = 50
CHAIN = Settings(n=5, epochs=8, rate=0.1, strength=1.0, decay=0.75, average=0.5, stop_ratio=1000.0)
RANKER = Settings(n=5, epochs=6, rate=0.05, strength=0.1, decay=0.8, average=0.5)
SMALLEST = 1e-3  # weights of the ranker that are kept

Type = tuple[str, tuple[str, ...], str]  # form, context, output


def train_edits(
    items: Iterable[EditItem], *, seed: int = 0, progress: Callable[[str], None] | None = None
) -> EditModel:
    """Train a model on items with outputs. `progress` gets lines to show. Raise SapoError if an item is wrong.

    >>> verbs = ["walk", "talk", "jump", "call"]
    >>> model = train_edits(EditItem(verb + "ed", (), verb) for verb in verbs)
    >>> model.predict_many([EditItem("barked")])
    ['bark']
    """
    tell = progress or (lambda line: None)
    types = _counted(items)
    known = _knowledge(types)
    chains: list[Chain | None] = []
    for fold in range(FOLDS):
        tell(f"training chain {fold + 1} of {FOLDS + 1}")
        chains.append(_chain({one: count for one, count in types.items() if _fold(one[0]) != fold}, seed))
    tell("finding candidates")
    proposals = _training_lists(list(types), chains, known)
    lists = lists_of(proposals, known)
    structure = _RepeatedLists(lists, proposals, np.array(_times(types, RANKER_TIMES), np.int64))
    weights = FlatWeights(SIZE)
    learn_structure(
        structure,
        weights,
        replace(RANKER, seed=seed),
        watch=lambda epoch, done, of: tell(f"ranker, epoch {epoch}: {done:,} of {of:,} items"),
    )
    del lists, structure, proposals
    tell(f"training chain {FOLDS + 1} of {FOLDS + 1}")
    final = weights.v
    final[np.abs(final) < SMALLEST] = 0.0
    return EditModel(_chain(types, seed), known, final)


def _counted(items: Iterable[EditItem]) -> Counter[Type]:
    """Return how often each form with its context has each output."""
    types: Counter[Type] = Counter()
    for number, item in enumerate(items):
        if not item.form:
            raise DataError(f"item {number}: the form is empty; leave it out")
        if item.output is None:
            raise DataError(f"item {number}: '{item.form:.40}' has no output; give one, or leave it out")
        types[item.form, item.context, item.output] += item.count
    if not types:
        raise DataError("there is nothing to learn from; give at least one form with its output")
    return types


def _knowledge(types: Iterable[Type]) -> EditMemory:
    distinct = dict.fromkeys((form, context[0] if context else "", output) for form, context, output in types)
    pairs = dict.fromkeys((form, output) for form, _, output in distinct)
    rules = Counter(rule_of(form, output) for form, output in pairs)
    outputs: dict[str, list[str]] = defaultdict(list)
    for form, output in pairs:
        outputs[form].append(output)
    return EditMemory(
        {rule: count for rule, count in rules.items() if count >= FEWEST},
        dict(outputs),
        Counter(output for _, _, output in distinct),
        Counter((output, first) for _, first, output in distinct),
    )


def _times(types: dict[Type, int], most: int) -> list[int]:
    """Return how often each item is a sample: a form with its context at most about `most` times.

    Its outputs share them: EWT has "of" 3440 times and twice, as a typo, for "off". With two samples of each, the model
    would learn to take one for the other.

    >>> _times({("of", (), "of"): 3440, ("of", (), "off"): 2, ("cats", (), "cat"): 1}, 3)
    [3, 0, 1]
    """
    totals: Counter[Key] = Counter()
    for (form, context, _), count in types.items():
        totals[form, context] += count
    times = []
    for (form, context, _), count in types.items():
        total = totals[form, context]
        times.append(int(min(total, most) * count / total + 0.5))
    return times


def _fold(form: str) -> int:
    return zlib.crc32(form.lower().encode("utf-8", "surrogatepass")) % FOLDS


def _chain(types: dict[Type, int], seed: int) -> Chain | None:
    """Train the first stage. Items with rare edits, such as was - be, are left to memory."""
    labels = {one: edit_labels(one[0], one[2]) for one in types}
    counts = Counter(edit for edits in labels.values() for edit in dict.fromkeys(edits))
    frequent = [edit for edit, count in counts.most_common(MOST_EDITS) if count >= FEWEST]
    kept = frequent if len(frequent) >= FREE_EDITS else [edit for edit, _ in counts.most_common(FREE_EDITS)]
    number = {edit: str(i) for i, edit in enumerate(kept)}
    data = [
        (characters(form, context), [number[edit] for edit in labels[form, context, output]])
        for (form, context, output), times in zip(types, _times(types, CHAIN_TIMES), strict=True)
        if all(edit in number for edit in labels[form, context, output])
        for _ in range(times)
    ]
    if not data:
        return None
    with as_file(files("sapo.features") / "presets" / "edits.txt") as template:
        tagger = train(data, template=template, settings=replace(CHAIN, seed=seed), constraints=False, calibrate=False)
    return Chain(tagger.model, tuple(kept))


def _training_lists(types: Sequence[Type], chains: Sequence[Chain | None], known: EditMemory) -> list[Proposal]:
    """Return the candidates of all items, from the chain that has not seen the form; the right one is among them."""
    found: dict[Key, Proposal] = {}
    for fold, chain in enumerate(chains):
        keys = list(dict.fromkeys((form, context) for form, context, _ in types if _fold(form) == fold))
        found.update(zip(keys, propose(keys, chain, known), strict=True))
    proposals = []
    for form, context, output in types:
        one = found[form, context]
        proposals.append(replace(one, gold=one.outputs.index(output)))
    return proposals


class _RepeatedLists(GivenLists):
    """Given lists, each of which is a sample several times."""

    def __init__(self, lists: CandidateLists, proposals: Sequence[Proposal], times: Longs) -> None:
        super().__init__(lists, np.array([one.gold for one in proposals], np.int64))
        self.of_sample = np.repeat(np.arange(len(times)), times)

    def __len__(self) -> int:
        return len(self.of_sample)

    def search(self, sample: int, weights: FlatWeights, n: int) -> PartCandidates:
        return super().search(int(self.of_sample[sample]), weights, n)

    def oracle(self, sample: int) -> Longs:
        return super().oracle(int(self.of_sample[sample]))

    def rows(self, sample: int, parts: Longs) -> PartRows:
        return super().rows(int(self.of_sample[sample]), parts)
