"""Whatever comes, in whatever order: a trainer that grows in place learns what the slow way learns."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sapo
from sapo import Tagger, Trainer
from sapo.errors import SapoError
from sapo.features import building
from sapo.features.building import GrowingEncoder
from sapo.features.encoded import EncodedCorpus
from sapo.learn import updating as growing_weights
from sapo.learn.updating import typical_weight
from sapo.search.lattice import no_bans
from sapo.training.update import continue_training
from slow_trainer import Example, SlowTrainer, assert_alike, feature_weights

TEMPLATE = """
word
word[-1]
suffix(word, 2)
substrings(word, 2)
word[-1] & word
shape(word[1]) & substrings(word, 1)
bias
label[-1]
label[-1] & suffix(word, 1)
label[-1] & word[-1] & word
"""
BAG = "U:%x[-1,0]\nU:%x[0,0]\nU:%x[-1,0]/%x[0,0]\nB\nB:%x[0,0]\n"
TIED: list[Example] = [  # tokens without features: many taggings score alike but for rounding
    (
        [{"r": -2.0, "q": "a"}, {}, {}, {"p": "ab"}, {"q": "b"}, {"p": "a", "r": "ab"}],
        ["Y", "Y", "Z", "Y", "Y", "Y"],
    )
]
# the slow way passes over whole sentences, with the rate and the strength of training
PLAIN: dict[str, Any] = {"piece": 0, "average": 0.0, "hide": 0.0, "rate": 0.1, "strength": 1.0, "decay": 0.9}
OLD_MADE = [{"p": "b"}, {"p": "ab"}]
OLD: list[Example] = [(["ab", "b", "Aa"], ["X", "Y", "X"]), (["b", "b"], ["Y", "X"]), (["aa", "ab"], ["X", "X"])]


class SlowTrainerOfValues(SlowTrainer):
    """Numeric features learn as if the largest value in the new sentences was about 1."""

    def encode(self, sentences: Sequence[list[Any]], tags: Sequence[list[str]] = (), *, grow: bool) -> EncodedCorpus:
        corpus = super().encode(sentences, tags, grow=grow)
        self.largest: dict[int, float] = {}
        for row, value in zip(corpus.rows.tolist(), corpus.values.tolist(), strict=False):
            self.largest[row] = max(self.largest.get(row, 0.0), abs(value))
        return corpus

    def _speed(self, row: int, share: float) -> float:
        return float(super()._speed(row, share) * 2.0 ** -round(math.log2(self.largest.get(row) or 1.0)))


words = st.text("abA1", min_size=1, max_size=4)
labels = st.sampled_from("XXXXYYYYZN")


@st.composite
def word_example(draw: st.DrawFn, token: st.SearchStrategy[Any] = words) -> Example:
    tokens = draw(st.lists(token, min_size=1, max_size=6))
    return tokens, draw(st.lists(labels, min_size=len(tokens), max_size=len(tokens)))


tokens_made = st.dictionaries(
    st.sampled_from("pqr"), words | st.sampled_from([0.5, -2.0, True]), min_size=0, max_size=3
)
updates = st.lists(st.lists(word_example(), min_size=1, max_size=3), min_size=1, max_size=5)
updates_made = st.lists(st.lists(word_example(tokens_made), min_size=1, max_size=3), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("growth")


@pytest.fixture(scope="module", params=[TEMPLATE, BAG], ids=["template", "bag"])
def tagger(request: pytest.FixtureRequest, room: Path) -> Tagger:
    path = room / "template.txt"
    path.write_text(request.param)
    return sapo.train(OLD, template=path, epochs=3, **PLAIN)


@pytest.fixture(scope="module")
def tagger_of_features() -> Tagger:
    made: list[Example] = [([{"p": token, "q": 0.5} for token in tokens], tags) for tokens, tags in OLD]
    return sapo.train(made, epochs=3, **PLAIN)


@pytest.fixture(autouse=True)
def _weights_are_brought_up_to_date_at_once() -> Iterator[None]:
    with mock.patch.object(growing_weights, "LAG", 0.0):
        yield


@settings(max_examples=15, deadline=None)
@given(rounds=updates, probe=word_example(), spare=st.sampled_from([0, 3, 1000]))
def test_any_sequence_of_updates_learns_what_the_slow_way_learns(
    tagger: Tagger, room: Path, rounds: list[list[Example]], probe: Example, spare: int
) -> None:
    with mock.patch.object(building, "ROOM", spare):
        trainer, slow = Trainer(tagger), SlowTrainer(tagger)
        for examples in rounds:
            trainer.update(examples, new_labels=True)
            slow.update(examples)
    probes = [probe[0], OLD[0][0], *(tokens for examples in rounds for tokens, _ in examples)]
    assert_alike(trainer, slow, probes, room)


@settings(max_examples=25, deadline=None)
@given(rounds=updates_made, probe=word_example(tokens_made))
@example(rounds=[TIED], probe=([{"q": -2.0}], ["X"]))
def test_so_it_does_with_ready_made_features(
    tagger_of_features: Tagger, room: Path, rounds: list[list[Example]], probe: Example
) -> None:
    trainer, slow = Trainer(tagger_of_features), SlowTrainerOfValues(tagger_of_features)
    for examples in rounds:
        trainer.update(examples, new_labels=True)
        slow.update(examples)
    assert_alike(trainer, slow, [probe[0], *(tokens for examples in rounds for tokens, _ in examples)], room)


@pytest.mark.parametrize("spare", [0, 1000])
def test_a_vocabulary_may_outgrow_all_room(tagger: Tagger, room: Path, spare: int) -> None:
    """Many times as many words as there were: slots, bits and arrays are made anew several times."""
    rng = np.random.default_rng(0)
    examples: list[Example] = [
        (["".join(rng.choice(list("abcdeAB1"), 4)) for _ in range(5)], list("XYXYX")) for _ in range(60)
    ]
    before = feature_weights(tagger)
    with mock.patch.object(building, "ROOM", spare):
        trainer, slow = Trainer(tagger), SlowTrainer(tagger)
        bits = trainer.tagger.model.encoder.layout.view_bits  # type: ignore[union-attr]
        for one in examples:
            trainer.update([one], new_labels=True)
            slow.update([one])
    assert trainer.tagger.model.encoder.layout.view_bits > bits  # type: ignore[union-attr]
    assert list(feature_weights(trainer.tagger))[: len(before)] == list(before)
    assert_alike(trainer, slow, [examples[7][0], OLD[0][0]], room)


def test_the_live_tagger_learns_and_all_others_stay_as_they_are(tagger: Tagger) -> None:
    new: Example = (["new", "ab"], ["N", "N"])
    before = tagger.nbest(new[0], 3)
    trainer = Trainer(tagger)
    live, early = trainer.tagger, trainer.snapshot()
    trainer.update([new], new_labels=True)
    late = trainer.snapshot()
    learned = late.nbest(new[0], 3)
    trainer.update([(new[0], ["Y", "Z"])], new_labels=True)
    assert tagger.nbest(new[0], 3) == before
    assert early.nbest(new[0], 3) == before
    assert late.nbest(new[0], 3) == learned
    assert late.tag(new[0]) == new[1]
    assert live is trainer.tagger
    assert live.tag(new[0]) == ["Y", "Z"]


def test_a_trainer_may_be_made_of_a_live_tagger(tagger: Tagger, room: Path) -> None:
    first, slow = Trainer(tagger), SlowTrainer(tagger)
    examples: list[Example] = [(["cd", "ab"], ["Y", "N"]), (["dc", "cd"], ["X", "Y"])]
    first.update(examples[:1], new_labels=True)
    second = Trainer(first.tagger)
    first.update([(["ab"], ["Z"])], new_labels=True)
    second.update(examples[1:], new_labels=True)
    slow.update(examples[:1])
    slow.typical = typical_weight(slow.parameters.rows)  # a trainer takes it from what it is made of
    slow.update(examples[1:])
    assert_alike(second, slow, [["cd", "dc"]], room)


def test_shrinking_that_is_put_off_changes_no_tag_and_no_snapshot(tagger: Tagger) -> None:
    examples: list[Example] = [(["cd", "ab"], ["Y", "X"]), (["dc", "cd"], ["X", "Y"])] * 5
    prompt = Trainer(tagger)
    for one in examples:
        prompt.update([one], new_labels=True)
    with mock.patch.object(growing_weights, "LAG", 0.5):
        late = Trainer(tagger)
        for one in examples:
            late.update([one], new_labels=True)
    for tokens, _ in examples:
        expected = prompt.tagger.nbest(tokens, 1)[0]
        assert late.snapshot().nbest(tokens, 1)[0].score == pytest.approx(expected.score, rel=1e-4)
        assert late.tagger.tag(tokens) == expected.tags
        assert expected.score < late.tagger.nbest(tokens, 1)[0].score < 2 * expected.score


def test_known_words_take_no_memory(tagger: Tagger) -> None:
    def memory() -> list[int]:
        encoder, parameters = trainer.tagger.model.encoder, trainer.tagger.model.parameters
        assert isinstance(encoder, GrowingEncoder)
        tables = [table.arrays() for table in encoder.strings.values()]
        arrays = [
            encoder.tables.keys,
            encoder.tables.edge_keys,
            encoder.tables.slots,
            *parameters.blocks,
            parameters.pairs.codes,
        ]
        return [array.nbytes if array.base is None else array.base.nbytes for array in arrays] + [
            len(str(trainer.tagger.model.record)),
            *(array.nbytes for table in tables for array in table.values()),
        ]

    trainer = Trainer(tagger)
    examples: list[Example] = [(["cd", "ab"], ["Y", "X"]), (["dc", "cd"], ["N", "Y"])]
    for _ in range(10):
        trainer.update(examples, new_labels=True)
    before = memory()
    for _ in range(60):
        trainer.update(examples, new_labels=True)
    after = memory()
    assert [b for b in after if b > 10_000] == [b for b in before if b > 10_000]
    assert sum(after) <= sum(before) + 10  # digits of counts


def test_what_is_forbidden_stays_so_and_cannot_be_learned(tagger: Tagger) -> None:
    bans = no_bans(2)
    bans[1, 1] = -np.inf  # Y after Y
    bans[2, 1] = -np.inf  # Y at the start
    bans[3, 0] = -np.inf  # X at the end
    model = dataclasses.replace(tagger.model, parameters=dataclasses.replace(tagger.model.parameters, bans=bans))
    trainer = Trainer(Tagger(model))
    trainer.update([(["ab", "new"], ["X", "N"])], new_labels=True)
    for tokens in (["b"], ["b", "b"], ["b", "b", "b"], ["new", "b", "b"]):
        tags = trainer.tagger.tag(tokens)
        assert tags[0] != "Y"
        assert tags[-1] != "X"
        assert ("Y", "Y") not in itertools.pairwise(tags)
    before = trainer.snapshot().nbest(["b", "cc"], 3)
    for wrong, token in ((["X", "Y", "Y"], 2), (["Y", "Y", "Y"], 0), (["N", "N", "X"], 2)):
        with pytest.raises(
            SapoError, match=f"sentence 2, token {token + 1}: the model forbids the tag '{wrong[token]}'"
        ):
            trainer.update([(["b"], ["N"]), (["b", "cc", "b"], wrong)], new_labels=True)
    after = trainer.tagger.nbest(["b", "cc"], 3)
    assert [tagging.tags for tagging in after] == [tagging.tags for tagging in before]
    assert [tagging.score for tagging in after] == pytest.approx([tagging.score for tagging in before], rel=1e-5)


def fails(trainer: Trainer, room: Path) -> dict[str, Callable[[], None]]:
    bad = room / "bad.txt"
    bad.write_text("dd X\nee NEW\n\n" * 5000 + "broken\n")
    return {
        "too large": lambda: trainer.update([(["b", "cc"], ["Z", "X"])], strength=1e9, new_labels=True),
        "expected 2": lambda: trainer.update(bad, new_labels=True),
        "not l1": lambda: trainer.update([(["b"], ["X"])], regularizer="l1", new_labels=True),
        "no sentence": lambda: trainer.update([], new_labels=True),
        "tokens but": lambda: trainer.update([(["b"], [])], new_labels=True),
    }


@pytest.mark.parametrize("message", ["too large", "expected 2", "not l1", "no sentence", "tokens but"])
def test_what_cannot_be_learned_leaves_the_tagger_as_it_was(tagger: Tagger, room: Path, message: str) -> None:
    trainer = Trainer(tagger)
    with pytest.raises(SapoError, match=message):
        fails(trainer, room)[message]()
    assert trainer.tagger.labels == tagger.labels
    for tokens in (["b", "cc"], ["ab", "dd", "ee"]):
        expected = tagger.nbest(tokens, 3)
        for found, tagging in zip(trainer.tagger.nbest(tokens, 3), expected, strict=True):
            assert (found.tags, found.score) == (tagging.tags, pytest.approx(tagging.score, rel=1e-5))
    trainer.update([(["b", "cc"], ["Z", "X"])], new_labels=True)
    assert trainer.tagger.tag(["b", "cc"]) == ["Z", "X"]


@pytest.mark.parametrize("strength", [1.0, 100.0])
@pytest.mark.parametrize("tags", [["X", "Y"], ["Z", "Y"]])
def test_weights_that_grow_out_of_all_bounds_are_put_back(tags: list[str], strength: float) -> None:
    made: list[Example] = [([{"p": token, "q": 0.001} for token in tokens], tags) for tokens, tags in OLD]
    tagger = sapo.train(made, epochs=3, **PLAIN)  # small values have large weights
    trainer = Trainer(tagger)
    huge: Example = ([{"q": 3e38}, {"p": "b"}], tags)
    with pytest.raises(SapoError, match="training diverged"):
        trainer.update([*([(OLD_MADE, ["X", "Y"])] * 30), huge], strength=strength, new_labels=True)
    assert trainer.tagger.labels == tagger.labels
    for found, block in zip(trainer.snapshot().model.parameters.blocks, tagger.model.parameters.blocks, strict=True):
        np.testing.assert_array_equal(found, block)


@pytest.mark.parametrize("value", [1e-40, 1e-30, 1e30, 3e38])
def test_a_new_feature_may_have_any_value(tagger_of_features: Tagger, value: float) -> None:
    new: Example = ([{"r": value}, {"p": "b"}], ["Y", "X"])
    trainer = Trainer(tagger_of_features)
    trainer.update([new])
    assert trainer.tagger.tag(new[0]) == new[1]


def test_sentences_that_contradict_each_other_end_after_all_passes(tagger: Tagger) -> None:
    grown = continue_training(tagger, [(["b"], ["X"]), (["b"], ["Y"])], epochs=60, rate=1e-9, new_labels=True)
    entry = grown.model.record["continued"][0]
    assert (entry["passes"], entry["stopped"]) == (60, "all 60 epochs done")


def test_where_keys_have_no_bit_to_spare_it_grows_as_far_as_they_go(room: Path) -> None:
    path = room / "long.txt"
    path.write_text(" & ".join(f"word[{i}]" for i in range(-4, 5)) + "\nword\nlabel[-1]\n")  # 9 parts of 7 bits
    tagger = sapo.train([([f"w{i}" for i in range(60)], ["X", "Y"] * 30)], template=path, epochs=2, **PLAIN)
    trainer, slow = Trainer(tagger), SlowTrainer(tagger)
    fits: list[Example] = [([f"v{i}" for i in range(40)], ["X", "Y"] * 20)]
    trainer.update(fits, new_labels=True)
    slow.update(fits)
    assert_alike(trainer, slow, [fits[0][0]], room)
    before = trainer.tagger.nbest(["w1", "v2", "u3"], 3)
    with pytest.raises(SapoError, match="joins too many different values"):
        trainer.update([([f"u{i}" for i in range(40)], ["X", "N"] * 20)], new_labels=True)
    assert trainer.tagger.nbest(["w1", "v2", "u3"], 3) == before
    assert_alike(trainer, slow, [fits[0][0], ["u1", "w1"]], room)


def test_a_model_that_was_kept_over_an_update_is_refused(tagger: Tagger, room: Path) -> None:
    trainer = Trainer(tagger)
    kept = trainer.tagger.model
    trainer.update([(["qq", "rr"], ["X", "Y"])], new_labels=True)
    for use in (lambda: Tagger(kept).tag(["qq"]), lambda: Tagger(kept).nbest(["qq"])):
        with pytest.raises(SapoError, match="the features have changed"):
            use()
    with pytest.raises(SapoError, match="get the model again"):
        Tagger(kept).save(room / "kept.sapo")
