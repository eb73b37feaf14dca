"""Constraints, schemes, missing tags, weights, forced tags and biases, from training to tagging."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapo
from sapo import SapoError, Tagger, Trainer
from sapo.cli.evaluate import operating_curve
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.errors import allow_limits
from sapo.learn import LEARNERS
from sapo.tagger.decoding import tag_blocks
from sapo.tagger.files import read_blocks
from sapo.tags.recognition import recognize_scheme
from sapo.tags.spans import convert_tags, tags_to_spans
from sapo.training.run import read_data

READING: dict[str, Any] = {"columns": COLUMNS, "label": "chunk", "template": "chunking"}
PAIRS: list[Any] = [
    (["the", "old", "dog", "sleeps"], ["B-NP", "I-NP", "I-NP", "B-VP"]),
    (["a", "cat", "has", "seen", "it"], ["B-NP", "I-NP", "B-VP", "I-VP", "B-NP"]),
    (["he", "sleeps", "."], ["B-NP", "B-VP", "O"]),
]


@pytest.fixture(scope="module")
def chunker() -> Tagger:
    return sapo.train(sample_path("train"), epochs=4, **READING)


@pytest.fixture(scope="module")
def in_bioes() -> Tagger:
    return sapo.train(sample_path("train"), epochs=4, scheme="bioes", **READING)


@pytest.fixture(scope="module")
def sentences() -> list[Any]:
    read = sapo.read(sample_path("test"), columns=COLUMNS, label="chunk")
    return [list(zip(one.columns["word"], one.columns["pos"], strict=True)) for one in read]


def all_valid(taggings: list[list[str]], scheme: str = "iob2") -> bool:
    return all(isinstance(tags_to_spans(tags, scheme), list) for tags in taggings)


def test_no_output_is_invalid_not_even_among_the_n_best(chunker: Tagger, sentences: list[Any]) -> None:
    assert all_valid(chunker.tag_many(sentences))
    for tokens in sentences[:10]:
        for search in ("topn", "astar", "beam"):
            assert all_valid([tagging.tags for tagging in chunker.nbest(tokens, 20, search=search, width=3)])


def test_without_constraints_the_n_best_are_sometimes_invalid(sentences: list[Any]) -> None:
    free = sapo.train(sample_path("train"), epochs=1, constraints=False, **READING)
    assert not free.model.parameters.bans.any()
    taggings = [tagging.tags for tokens in sentences[:10] for tagging in free.nbest(tokens, 20)]
    assert recognize_scheme(taggings) != "iob2"


@pytest.mark.parametrize("learner", sorted(LEARNERS))
def test_every_learner_learns_and_tags_within_the_constraints(learner: str) -> None:
    tagger = sapo.train(PAIRS, learner=learner, template="pos", epochs=4, constraints=True)
    assert [tagger.tag(tokens) for tokens, _ in PAIRS] == [tags for _, tags in PAIRS]
    assert all_valid([tagging.tags for tagging in tagger.nbest(["he", "has", "it"], 30)])


def test_constraints_survive_saving(chunker: Tagger, tmp_path: Path) -> None:
    chunker.save(tmp_path / "m.sapo")
    loaded = Tagger.load(tmp_path / "m.sapo")
    assert loaded.model.constraints == chunker.model.constraints
    np.testing.assert_array_equal(loaded.model.parameters.bans, chunker.model.parameters.bans)


def test_rules_hold_in_training_and_tagging() -> None:
    tagger = sapo.train(PAIRS, template="pos", epochs=3, rules=["forbid B-VP B-VP", "start B-NP"])
    assert tagger.model.constraints.rules == ("forbid B-VP B-VP", "start B-NP")
    for tagging in tagger.nbest(["sleeps", "sleeps", "has"], 50):
        assert tagging.tags[0] == "B-NP"
        assert ("B-VP", "B-VP") not in set(zip(tagging.tags, tagging.tags[1:], strict=False))


@pytest.mark.parametrize("form", ["scheme bioes", "plain"])
def test_new_labels_get_the_rules_of_the_scheme(form: str) -> None:
    tagger = sapo.train(PAIRS, template="pos", epochs=4, scheme="bioes" if form != "plain" else None)
    trainer = Trainer(tagger)
    trainer.update([(["in", "spite", "of", "it"], ["B-PP", "I-PP", "I-PP", "B-NP"])], new_labels=True)
    grown = trainer.tagger
    assert {"B-PP", "I-PP"} <= set(grown.labels)
    assert grown.tag(["in", "spite", "of", "it"]) == ["B-PP", "I-PP", "I-PP", "B-NP"]
    assert all_valid([tagging.tags for tagging in grown.nbest(["in", "of", "spite"], 100)])
    with pytest.raises(SapoError, match="'JJ'"):
        trainer.update([(["green"], ["JJ"])], new_labels=True)


def test_new_sentences_that_break_the_scheme_are_learned_all_the_same() -> None:
    grown = Trainer(sapo.train(PAIRS, template="pos", epochs=4, scheme=None))
    grown.update([(["so", "be", "it"], ["O", "I-VP", "B-NP"])], new_labels=True)
    assert grown.tagger.tag(["so", "be", "it"]) == ["O", "I-VP", "B-NP"]
    assert grown.tagger.model.constraints.exceptions == (("O", "I-VP"),)


def test_bans_made_by_hand_are_kept_when_training_goes_on() -> None:
    model = sapo.train([(["a", "b"], ["X", "Y"])], template="pos", epochs=2).model
    model.parameters.bans[1, 0] = model.parameters.bans[3, 0] = -np.inf
    grown = Trainer(Tagger(model))
    grown.update([(["c"], ["Z"])], new_labels=True)
    expected = np.zeros((5, 3), np.float32)
    expected[1, 0] = expected[4, 0] = -np.inf
    np.testing.assert_array_equal(grown.tagger.model.parameters.bans, expected)


def test_a_narrow_beam_learns_where_rules_leave_dead_ends() -> None:
    data: list[Any] = [(["x", "z", "y"], ["X", "Z", "Y"]), (["y", "y"], ["Y", "Y"])]
    rules = ["end Y", "forbid X Y"]  # with X at the last token but one there is no way on
    tagger = sapo.train(data, template="pos", rules=rules, search="beam", width=1, epochs=4)
    assert [tagger.tag(tokens) for tokens, _ in data] == [tags for _, tags in data]
    assert tagger.nbest(["x", "x", "x"], 1, search="beam", width=1)[0].tags[-1] == "Y"


def test_invalid_places_of_the_data_are_allowed_or_mended() -> None:
    odd = [*PAIRS * 4, (["so", "be", "it"], ["O", "I-VP", "B-NP"])]
    allowed = sapo.train(odd, template="pos", epochs=8)
    assert allowed.tag(["so", "be", "it"]) == ["O", "I-VP", "B-NP"]
    mended = sapo.train(odd, template="pos", epochs=8, scheme="iob2")
    assert mended.tag(["so", "be", "it"]) == ["O", "B-VP", "B-NP"]
    assert all_valid([tagging.tags for tagging in mended.nbest(["so", "be", "it"], 100)])


def test_labels_learned_as_bioes_come_out_as_iob2(in_bioes: Tagger, chunker: Tagger, sentences: list[Any]) -> None:
    assert set(in_bioes.labels) == set(chunker.labels)
    assert any(label.startswith("E-") for label in in_bioes.model.labels)
    taggings = in_bioes.tag_many(sentences)
    assert all_valid(taggings)
    for tokens, tags in zip(sentences[:10], taggings, strict=False):
        best = in_bioes.nbest(tokens, 30)
        assert best[0].tags == tags
        assert len({tuple(tagging.tags) for tagging in best}) == len(best)
        assert all_valid([tagging.tags for tagging in best])


def test_evaluation_is_that_of_the_tags_that_come_out(in_bioes: Tagger, sentences: list[Any], tmp_path: Path) -> None:
    gold = [one.tags or () for one in sapo.read(sample_path("test"), columns=COLUMNS, label="chunk")]
    both = "".join(
        "".join(f"w {a} {b}\n" for a, b in zip(*pair, strict=True)) + "\n"
        for pair in zip(gold, in_bioes.tag_many(sentences), strict=True)
    )
    path = tmp_path / "both.txt"
    path.write_text(both)
    from sapo.evaluate.files import score_file

    mine = in_bioes.evaluate(sample_path("test"))
    assert mine.overall == score_file(path).overall
    assert mine.accuracy == score_file(path).accuracy


def test_the_dev_set_is_scored_in_the_scheme_of_the_file() -> None:
    tagger = sapo.train(sample_path("train"), dev=sample_path("test"), epochs=2, scheme="bioes", **READING)
    history = tagger.model.record["history"]
    kept = tagger.model.record["kept_pass"]
    assert tagger.evaluate(sample_path("test")).main[1] == pytest.approx(history[kept - 1]["dev"])


def test_a_model_of_another_scheme_is_saved_whole(in_bioes: Tagger, sentences: list[Any], tmp_path: Path) -> None:
    in_bioes.with_bias("O", 0.25).save(tmp_path / "m.sapo")
    loaded = Tagger.load(tmp_path / "m.sapo")
    assert (loaded.labels, loaded.model.shown) == (in_bioes.labels, in_bioes.model.shown)
    assert loaded.model.bias == {"O": 0.25}
    assert loaded.tag_many(sentences) == in_bioes.with_bias("O", 0.25).tag_many(sentences)


def test_data_in_bioes_is_learned_as_it_is() -> None:
    data = [(tokens, convert_tags(tags, "iob2", "bioes")) for tokens, tags in PAIRS]
    tagger = sapo.train(data, template="pos", epochs=4, scheme="bioes")
    assert tagger.labels == tagger.model.labels
    assert tagger.model.constraints.scheme == "bioes"
    assert all_valid([tagging.tags for tagging in tagger.nbest(["he", "has", "it"], 50)], "bioes")


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (PAIRS, {"scheme": "bio"}, "scheme must be one of iob2, bioes, bilou, bmes, keep, auto, not bio"),
        (PAIRS, {"scheme": "bioes", "constraints": False}, "a scheme needs constraints"),
        ([(["a"], ["NN"])], {"scheme": "bioes"}, "must have IOB2 tags, and it follows no scheme"),
        ([(["a", "b"], ["I-X", "B-X"])], {"scheme": "bioes"}, "must have IOB2 tags, and it is iob1"),
        ([(["a", "b"], [None, None])], {}, "training data: every tag is missing"),
        (PAIRS, {"sample_weight": [1, 2]}, "sample_weight has 2 weights for 3 sentences"),
        (PAIRS, {"sample_weight": [1, -2, 1]}, r"sample_weight\[1\] must be a number from 0 to"),
        (PAIRS, {"sample_weight": [1, float("nan"), 1]}, r"sample_weight\[1\]"),
        (PAIRS, {"sample_weight": [1, "x", 1]}, r"sample_weight\[1\] must be a number, not 'x'"),
        (PAIRS, {"sample_weight": [0, 0, 0]}, "nothing would be learned"),
        (PAIRS, {"class_weight": {"B-NPP": 2}}, "class_weight: no label is 'B-NPP'; did you mean 'B-NP'"),
        (PAIRS, {"class_weight": {"O": float("inf")}}, "class_weight of 'O' must be a number from 0 to"),
        (PAIRS, {"class_weight": "even"}, "class_weight must be 'balanced' or a weight for labels, not 'even'"),
        (PAIRS, {"rules": ["forbid B-NP I-NP"]}, "training data: sentence 1 breaks the rules"),
        (PAIRS, {"dev": [(["a"], [None])]}, "dev data: some tags are missing; evaluation needs all of them"),
        (PAIRS, {"dev": [(["a"], ["_"])], "missing": "_"}, "dev data: some tags are missing \\('_'\\)"),
    ],
)
def test_mistakes_are_one_clear_line(data: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SapoError, match=message) as caught:
        sapo.train(data, template="pos", **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("learner", sorted(LEARNERS))
@pytest.mark.parametrize("mark", [None, "_"])
def test_missing_tags_may_be_any_tag(learner: str, mark: str | None) -> None:
    partly = [(tokens, [mark if i % 3 == 1 else tag for i, tag in enumerate(tags)]) for tokens, tags in PAIRS]
    full = (["he", "has", "seen", "a", "cat"], ["B-NP", "B-VP", "I-VP", "B-NP", "I-NP"])
    tagger = sapo.train([*partly, full], template="pos", learner=learner, epochs=5, missing=mark)
    assert "_" not in tagger.labels
    assert set(tagger.labels) == {"B-NP", "I-NP", "B-VP", "I-VP", "O"}
    for tokens, tags in [*partly, full]:
        assert all(tag in (mark, found) for tag, found in zip(tags, tagger.tag(tokens), strict=True))


@pytest.mark.parametrize("scheme", ["bioes", "bilou", "iob2", None])
@pytest.mark.parametrize("learner", ["sapo", "crf", "perceptron", "mira"])
def test_a_tag_before_a_missing_one_is_learned_in_every_scheme(scheme: str | None, learner: str) -> None:
    data: list[Any] = [
        (["the", "man", "sees", "Bo"], ["O", "O", "O", "B-P"]),
        (["Bo", "Lee", "sees", "it"], ["B-P", "I-P", "O", "O"]),
        *[(["Ann", "sees", "it"], ["B-P", None, None])] * 20,
    ]
    tagger = sapo.train(data, template="pos", epochs=10, scheme=scheme, learner=learner)
    found = tagger.tag(["Ann", "sees", "it"])
    assert found[0] == "B-P"
    # SAPO holds on to the completion that it found first, and with more labels here that is B-P I-P O
    assert found[1:] == ["O", "O"] or (learner == "sapo" and scheme in ("bioes", "bilou"))
    trainer = Trainer(tagger)
    trainer.update([(["the", "Cy", "sees"], ["O", "B-Q", None]), (["Di", "Eve"], ["B-Q", "I-Q"])], new_labels=True)
    assert trainer.tagger.tag(["the", "Cy", "sees"])[:2] == ["O", "B-Q"]


def test_with_a_scheme_all_tags_may_stand_before_missing_ones() -> None:
    tagger = sapo.train([(["a", "b"], ["B-X", None])], template="pos", scheme="bioes", epochs=3)
    assert tagger.labels == ("B-X",)


def test_ready_made_features_may_lack_tags_too() -> None:
    data: list[Any] = [([["w=a"], ["w=b"]], ["X", None]), *[([["w=b"]], ["Y"])] * 3]
    tagger = sapo.train(data, epochs=4)
    assert tagger.labels == ("X", "Y")
    assert tagger.tag([["w=a"], ["w=b"]]) == ["X", "Y"]


def test_a_mark_of_missing_tags_is_refused_in_evaluation_and_kept_for_new_sentences(tmp_path: Path) -> None:
    path = tmp_path / "partly.txt"
    path.write_text("the B-NP\ndog _\nsleeps B-VP\n\na B-NP\ndog I-NP\n\n")
    tagger = sapo.train(path, template="pos", missing="_", epochs=4)
    with pytest.raises(SapoError, match=r"partly.txt: some tags are missing \('_'\)"):
        tagger.evaluate(path)
    trainer = Trainer(tagger)
    trainer.update(path, new_labels=True)
    trainer.update([(["no", "dog"], [None, "I-NP"])], new_labels=True)
    assert "_" not in trainer.tagger.labels


def test_weights_of_samples_and_classes_multiply() -> None:
    prepared = read_data(
        PAIRS,
        template="pos",
        sample_weight=[1, 2, 0],
        class_weight={"B-NP": 3},
    )
    assert prepared.corpus.importance.tolist() == [3, 1, 1, 1, 6, 2, 2, 2, 6]
    assert not len(read_data(PAIRS, template="pos").corpus.importance)


def test_balanced_weights_give_every_label_the_same_mass() -> None:
    corpus = read_data(PAIRS, template="pos", class_weight="balanced").corpus
    mass = np.bincount(corpus.gold, weights=corpus.importance)
    np.testing.assert_allclose(mass, len(corpus.gold) / len(mass), rtol=1e-6)


@pytest.mark.parametrize("which", ["chunker", "in_bioes"])
def test_forced_tags_are_kept_and_the_rest_is_the_best_with_them(
    which: str, sentences: list[Any], request: pytest.FixtureRequest
) -> None:
    tagger: Tagger = request.getfixturevalue(which)
    tokens = sentences[0][:4]
    with allow_limits(n=10**5):
        everything = tagger.nbest(tokens, 10**5)
    for position, tag in [(0, "B-VP"), (2, "I-NP"), (3, "O")]:
        best = next(tagging for tagging in everything if tagging.tags[position] == tag)
        assert tagger.tag(tokens, forced={position: tag}) == best.tags
        ranked = tagger.nbest(tokens, 3, forced={position: tag})
        assert ranked[0].tags == best.tags
        assert all(tagging.tags[position] == tag for tagging in ranked)
        assert tagger.tag_many([tokens, tokens], forced=[None, {position: tag}]) == [tagger.tag(tokens), best.tags]


@pytest.mark.parametrize(
    ("forced", "message"),
    [
        ({9: "O"}, "forced tags: sentence 1 has no token index 9; it has 2 tokens, from 0 on"),
        ({-1: "O"}, "sentence 1 has no token index -1"),
        ({"0": "O"}, "sentence 1 has no token index '0'"),
        ({1: "B-N"}, "sentence 1, token index 1: the model has no label 'B-N' to force; did you mean 'B-NP'"),
        ({0: "I-NP"}, "no tagging of this sentence has the forced tags and keeps to the constraints"),
        ({0: "O", 1: "I-NP"}, "no tagging of this sentence has the forced tags"),
        (["O", None], r"sentence 1 must be a mapping of token indices to tags, such as .*, not \['O', None\]"),
        ("O", "sentence 1 must be a mapping of token indices to tags"),
    ],
)
def test_forced_tags_that_cannot_be_are_one_clear_line(chunker: Tagger, forced: Any, message: str) -> None:
    with pytest.raises(SapoError, match=message):
        chunker.tag([("a", "DT"), ("dog", "NN")], forced=forced)


def test_forced_tags_may_come_one_by_one(chunker: Tagger) -> None:
    sentences = [[("a", "DT")], [("b", "NN")]]
    forced: list[Any] = [None, {0: "O"}]
    assert chunker.tag_many(sentences, forced=iter(forced)) == chunker.tag_many(sentences, forced=forced)


@pytest.mark.parametrize("forced", [{0: "O"}, "O", 1])
def test_forced_tags_of_several_sentences_are_a_list(chunker: Tagger, forced: Any) -> None:
    with pytest.raises(SapoError, match=r"forced tags: give a list with a mapping \(or None\) for each sentence"):
        chunker.tag_many([[("a", "DT")]], forced=forced)


def test_forced_tags_are_as_many_as_sentences(chunker: Tagger) -> None:
    with pytest.raises(SapoError, match="there are 1 for 2 sentences"):
        chunker.tag_many([[("a", "DT")], [("b", "NN")]], forced=[{0: "O"}])


@pytest.mark.parametrize("which", ["chunker", "in_bioes"])
def test_a_bias_on_o_trades_recall_for_precision(which: str, request: pytest.FixtureRequest) -> None:
    tagger: Tagger = request.getfixturevalue(which)
    points = operating_curve(tagger, sample_path("test"), biases=[-8, 0, 3])
    assert points[0].spans.found > points[1].spans.found > points[2].spans.found
    assert points[1].spans == tagger.evaluate(sample_path("test")).overall
    biased = tagger.with_bias("O", 1).with_bias("O", 2)
    assert biased.model.bias == {"O": 3.0}
    assert biased.evaluate(sample_path("test")).overall == points[2].spans
    assert tagger.model.bias == {}


@pytest.mark.parametrize(
    ("label", "value", "message"),
    [("Q", 1, "bias: the model has no label 'Q'"), ("O", float("nan"), "bias of 'O' must be"), ("O", "1", "must be")],
)
def test_a_bias_is_a_number_on_a_label(chunker: Tagger, label: str, value: Any, message: str) -> None:
    with pytest.raises(SapoError, match=message):
        chunker.with_bias(label, value)


def test_a_curve_needs_spans() -> None:
    tagger = sapo.train([(["a"], ["NN"])], template="pos", epochs=1)
    with pytest.raises(SapoError, match="needs a model of spans"):
        operating_curve(tagger, sample_path("test"))


def test_going_on_from_a_checkpoint_with_other_rules_is_refused(tmp_path: Path) -> None:
    from sapo.learn.settings import Settings
    from sapo.training.run import train_on

    prepared = read_data(PAIRS, template="pos")
    train_on(prepared, Settings(epochs=1), checkpoint=tmp_path / "c")
    other = read_data(PAIRS, template="pos", rules=["forbid O O"])
    with pytest.raises(SapoError, match="other data"):
        train_on(other, Settings(epochs=2), checkpoint=tmp_path / "c", resume=True)


@pytest.mark.parametrize("name", ["conll2000", "jnlpba"])
def test_no_output_on_a_real_test_set_is_invalid(corpora: Path, name: str) -> None:
    train, test = corpora / name / "train.txt.gz", corpora / name / "test.txt.gz"
    sentences = [one for one, _ in zip(sapo.read(train), range(1000), strict=False)]
    tagger = sapo.train(sentences, epochs=2)
    offsets, tags = [], []
    for block, found in tag_blocks(tagger, read_blocks(tagger, test, labeled=True)):
        names = found.names()
        offsets.append(len(block.offsets) - 1)
        tags += [names[a:b] for a, b in zip(block.offsets[:-1], block.offsets[1:], strict=True)]
    assert len(tags) == sum(offsets) > 1000
    assert all_valid(tags)
