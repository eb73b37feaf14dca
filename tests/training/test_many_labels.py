"""Forty labels and more: weights are lists, few labels a token are looked at, and all else is as usual."""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapo
from sapo import Tagger, Trainer
from sapo.errors import SapoError
from sapo.features.encoded import EncodedCorpus
from sapo.learn import rows as learning_rows
from sapo.learn.records import Observer, PassRecord, State
from sapo.search.lattice import ALL_LABELS
from sapo.search.weights import entry_places
from sapo.training.choice import LISTED_LABELS, LISTED_SPANS, label_lists
from sapo.training.plan import make_settings
from sapo.training.run import read_data, train_on

Example = tuple[list[Any], list[str]]
LABELS = 48


def make_examples(seed: int = 0, sentences: int = 60, labels: int = LABELS) -> list[Example]:
    """Words of five letters; the first letters tell the label, and a few words have two."""
    rng = np.random.default_rng(seed)
    examples = []
    for _ in range(sentences):
        numbers = rng.integers(labels, size=rng.integers(1, 7)).tolist()
        words = [f"w{number:02d}{'ab'[int(rng.integers(2))]}" for number in numbers]
        tags = [f"T{number + (number % 9 == 0 and bool(rng.integers(2)))}" for number in numbers]
        examples.append((words, tags))
    words = [f"w{number:02d}a" for number in range(labels)]
    return [*examples, (words, [f"T{number}" for number in range(labels)])]


EXAMPLES = make_examples()


@pytest.fixture(scope="module", autouse=True)
def _forty_labels_are_many() -> Iterator[None]:
    """So that the examples can be small: lists are as short as with hundreds of labels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sapo.training.choice.MANY_LABELS", 40)
        patch.setattr("sapo.training.choice.FREQUENT", 10)
        yield


@pytest.fixture(scope="module", params=["template", "made"])
def tagger(request: pytest.FixtureRequest) -> Tagger:
    return train(EXAMPLES, made=request.param == "made")


def made_of(tokens: list[Any]) -> list[Any]:
    return [{"word": token, "start": token[:3], "size": 0.5} for token in tokens]


def train(examples: list[Example], *, made: bool = False, **how: Any) -> Tagger:
    how = {"epochs": 4, **how}
    if made:
        return sapo.train([(made_of(tokens), tags) for tokens, tags in examples], **how)
    return sapo.train(examples, template="pos", **how)


def tokens_of(tagger: Tagger, tokens: list[str]) -> list[Any]:
    return tokens if tagger.model.encoder.columns else made_of(tokens)  # type: ignore[union-attr]


def weights_of(tagger: Tagger) -> list[Any]:
    return [block.copy() for block in tagger.model.parameters.blocks]


def assert_whole(trainer: Trainer) -> None:
    """No entry is of a label that is not there."""
    rows = trainer.tagger.model.parameters.rows
    _, places = entry_places(rows.arrays.head)
    assert (rows.arrays.labels[places] < rows.labels).all()
    assert rows.labels == len(trainer.tagger.labels)


def test_many_labels_make_lists_and_few_do_not() -> None:
    many, few = train(EXAMPLES, epochs=1), train(make_examples(labels=20), epochs=1)
    assert len(many.model.parameters.rows.arrays.head) > 0
    assert many.model.parameters.lists.most == LISTED_LABELS
    assert len(few.model.parameters.rows.arrays.head) == 0
    assert few.model.parameters.lists is ALL_LABELS or few.model.parameters.lists.most is None


@pytest.mark.parametrize("learner", ["sapo", "sapo-avg", "crf", "perceptron-avg", "mira", "mira-nbest"])
def test_every_learner_learns_many_labels_almost_as_well_as_exactly(learner: str) -> None:
    scores = []
    for how in ({}, {"exact": True}, {"exact": True, "all_pairs": True}):
        tagger = train(EXAMPLES, learner=learner, epochs=8, **how)
        right = [found == tag for tokens, tags in EXAMPLES for found, tag in zip(tagger.tag(tokens), tags, strict=True)]
        scores.append(np.mean(right))
    assert min(scores) > 0.8
    assert scores[0] == pytest.approx(scores[1], abs=0.05)


@pytest.mark.parametrize("piece", [0, 8])
def test_a_list_has_the_label_that_continues_a_span(piece: int) -> None:
    """The words inside are the same for all 60 types: only the step from B-X tells that it is I-X."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(60, size=600).tolist()
    inside = ["of", "the", "of", "the", "of"]
    spans = [(["so", f"open{kind}", *inside, "end"], ["O", f"B-{kind}", *[f"I-{kind}"] * 5, "O"]) for kind in kinds]
    tagger = sapo.train(spans, template="pos", epochs=6, rate=0.2, strength=0.1, scheme=None, piece=piece)
    assert tagger.model.parameters.lists.most == LISTED_SPANS < 61
    wrong = sum(tagger.tag(tokens) != tags for tokens, tags in spans[:100])
    assert wrong <= 2
    assert not len(tagger.model.parameters.lists.labels)  # a frequent word may be in a span, though it never was


def test_a_model_of_lists_comes_back_from_its_file(tagger: Tagger, tmp_path: Path) -> None:
    tagger.save(tmp_path / "a.sapo")
    again = Tagger.load(tmp_path / "a.sapo")
    assert again.model.parameters.nonzero == tagger.model.parameters.nonzero
    for tokens, _ in EXAMPLES:
        for found, expected in zip(
            again.nbest(tokens_of(tagger, tokens), 3), tagger.nbest(tokens_of(tagger, tokens), 3), strict=True
        ):
            assert found.tags == expected.tags
            assert found.score == pytest.approx(expected.score, rel=1e-5, abs=1e-5)
            assert found.probability == pytest.approx(expected.probability, rel=1e-3, abs=1e-6)


def test_the_weights_that_are_not_zero_are_counted_once(tagger: Tagger) -> None:
    parameters = tagger.model.parameters
    assert parameters.nonzero == sum(int(np.count_nonzero(block)) for block in parameters.blocks)


class EnoughError(Exception):
    pass


class StopAfter(Observer):
    def __init__(self, passes: int) -> None:
        self.passes = passes

    def passed(self, record: PassRecord, state: State) -> None:
        if record.epoch == self.passes:
            raise EnoughError


@pytest.mark.parametrize("dev", [False, True])
@pytest.mark.parametrize(
    ("learner", "regularizer"),
    [("sapo", "l2"), ("sapo-avg", "l1"), ("crf", "l2"), ("crf-avg", "l1"), ("perceptron-avg", "none")],
)
def test_a_run_that_is_taken_up_again_ends_like_one_that_never_stopped(
    tmp_path: Path, learner: str, regularizer: str, dev: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning_rows, "ENTRIES", 16)
    monkeypatch.setattr(learning_rows, "DENSE", 2)
    how = make_settings({"epochs": 5, "tolerance": 0.0, "regularizer": regularizer, "strength": 0.1})

    def run(name: str, **more: Any) -> bytes:
        data = read_data(EXAMPLES, dev=EXAMPLES[:9] if dev else None, template="pos")
        outcome = train_on(data, how, learner=learner, **more)
        model = dataclasses.replace(outcome.tagger.model, record={})
        Tagger(model).save(tmp_path / name)
        return (tmp_path / name).read_bytes()

    straight = run("straight.sapo")
    checkpoint = tmp_path / "run.state"
    for passes in (1, 3):
        with pytest.raises(EnoughError):
            run("none.sapo", checkpoint=checkpoint, observers=[StopAfter(passes)])
    assert run("resumed.sapo", checkpoint=checkpoint) == straight


@pytest.mark.parametrize("little", [False, True])
def test_a_trainer_goes_on_with_lists(tagger: Tagger, little: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if little:
        monkeypatch.setattr(learning_rows, "ENTRIES", 2)
        monkeypatch.setattr(learning_rows, "DENSE", 1)
        monkeypatch.setattr(learning_rows, "SPARE_ROWS", 1)
    trainer = Trainer(tagger)
    new: list[Example] = [(["v1", "w03a"], ["T7", "T3"]), (["v2"], ["NEW"]), (["w05a", "v3"], ["T5", "NEWER"])]
    for tokens, tags in [*new, *new]:
        trainer.update([(tokens_of(tagger, tokens), tags)], new_labels=True)
        assert trainer.tagger.tag(tokens_of(tagger, tokens)) == tags
        assert_whole(trainer)
    frozen = trainer.snapshot()
    for tokens, _ in [*new, *EXAMPLES]:
        assert frozen.tag(tokens_of(tagger, tokens)) == trainer.tagger.tag(tokens_of(tagger, tokens))
    for live, still in zip(weights_of(trainer.tagger), weights_of(frozen), strict=True):
        np.testing.assert_allclose(live, still, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("little", [False, True])
@pytest.mark.parametrize("new", [0, 1, 30])
def test_an_update_that_fails_gives_everything_back(
    tagger: Tagger, new: int, little: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after lists have moved, or become dense rows, and after labels have come that go again."""
    if little:
        monkeypatch.setattr(learning_rows, "ENTRIES", 2)
        monkeypatch.setattr(learning_rows, "DENSE", 1)
        monkeypatch.setattr(learning_rows, "SPARE_ROWS", 1)
    trainer = Trainer(tagger)
    before = weights_of(trainer.tagger)
    tags = [f"N{i}" for i in range(new)] or ["T1"]
    examples = [
        (tokens_of(tagger, ["w00a", "w01b", "w02a"]), [tag, "T4", other]) for tag in tags for other in (tag, "T5")
    ]

    class Fail(Observer):
        def passed(self, record: PassRecord, state: State) -> None:
            if record.epoch == 2:
                raise EnoughError

    for _ in range(2):
        with pytest.raises(EnoughError):
            trainer.update(examples, observers=[Fail()], strength=0.0, new_labels=True)
        assert trainer.tagger.labels == tagger.labels
        assert_whole(trainer)
        for found, block in zip(weights_of(trainer.tagger), before, strict=True):
            np.testing.assert_array_equal(found[: len(block)], block)
        for found, block in zip(weights_of(trainer.snapshot()), before, strict=True):
            np.testing.assert_array_equal(found[: len(block)], block)
    for tokens, _ in EXAMPLES:
        assert trainer.tagger.tag(tokens_of(tagger, tokens)) == tagger.tag(tokens_of(tagger, tokens))
    trainer.update([(tokens_of(tagger, ["v9", "w01b"]), ["LAST", "T1"])], new_labels=True)
    assert trainer.tagger.tag(tokens_of(tagger, ["v9", "w01b"])) == ["LAST", "T1"]
    assert_whole(trainer)


def test_a_mistake_in_new_data_gives_everything_back(tagger: Tagger) -> None:
    trainer = Trainer(tagger)
    with pytest.raises(SapoError, match="too large"):
        trainer.update([(tokens_of(tagger, ["w00a"]), ["NEW"])], strength=1e9, new_labels=True)
    assert_whole(trainer)
    assert trainer.tagger.labels == tagger.labels


def test_two_threads_learn_many_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning_rows, "ENTRIES", 64)
    monkeypatch.setattr(learning_rows, "DENSE", 4)
    monkeypatch.setattr("sapo.learn.loop.SAMPLES_PER_RUN", 5)
    one, two = (train(EXAMPLES, threads=threads, settings={"block": 3}, epochs=8) for threads in (1, 2))
    for mine, theirs in zip(weights_of(one), weights_of(two), strict=True):
        assert mine.tobytes() == theirs.tobytes()
    right = [found == tag for tokens, tags in EXAMPLES for found, tag in zip(two.tag(tokens), tags, strict=True)]
    assert np.mean(right) > 0.75


@pytest.mark.parametrize("words", [False, True])
def test_the_labels_of_frequent_words_are_those_that_they_were_seen_with(words: bool) -> None:
    rng = np.random.default_rng(3)
    tokens = 600
    gold = (rng.integers(0, 7, tokens) ** 2).astype(np.int32)
    numbers = np.minimum(rng.geometric(0.08, tokens) - 2, 50).astype(np.int32)
    gold[rng.integers(tokens, size=3)] = -1
    gold[rng.integers(tokens, size=2)] = -2
    corpus = EncodedCorpus(
        np.array([0, tokens]),
        np.zeros(tokens + 1, np.int64),
        np.empty(0, np.int32),
        gold=gold,
        words=numbers if words else np.empty(0, np.int32),
    )
    lists = label_lists(corpus, LABELS)
    assert lists.most == LISTED_LABELS
    counts = Counter(gold[gold >= 0].tolist())
    assert lists.order.tolist() == sorted(range(LABELS), key=lambda y: (-counts[y], y))
    seen: dict[int, Counter[int]] = defaultdict(Counter)
    for word, tag in zip(numbers.tolist(), gold.tolist(), strict=True):
        seen[word][tag] += 1
    if not words:
        assert lists.offsets.tolist() == [0]
        return
    frequent = 0
    for word in range(int(numbers.max()) + 1):
        is_frequent = seen[word].total() >= 10 and min(seen[word]) >= 0
        frequent += is_frequent
        found = lists.labels[lists.offsets[word] : lists.offsets[word + 1]].tolist()
        assert found == (sorted(seen[word]) if is_frequent else [])
    assert 0 < frequent < len(lists.offsets) - 1


def test_few_labels_or_a_wish_to_be_exact_make_no_lists() -> None:
    none = np.empty(0, np.int32)
    corpus = EncodedCorpus(np.zeros(1, np.int64), np.zeros(1, np.int64), none, words=none)
    assert label_lists(corpus, 40) is ALL_LABELS
    assert label_lists(corpus, 41, exact=True) is ALL_LABELS
    assert label_lists(corpus, 41).most == LISTED_LABELS
