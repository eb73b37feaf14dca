"""Learning goes on: what is known keeps its place, what is new is learned at once."""

import itertools
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapo
from sapo import Tagger, Trainer
from sapo.corpus.blocks import sentence_block
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.errors import SapoError, allow_limits
from sapo.features.encoder import TemplateEncoder
from sapo.tagger.decoding import tag_blocks
from sapo.tagger.file import model_bytes, model_from_bytes
from sapo.training.update import continue_training

OLD = [(["a", "dog", "sleeps"], ["DT", "NN", "VBZ"]), (["the", "cat", "sings"], ["DT", "NN", "VBZ"])] * 4
NEW = [(["Wow", ",", "zebra", "jump"], ["UH", ",", "NNS", "VBP"])]


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return sapo.train(OLD, template="ner", epochs=8)


def names(tagger: Tagger) -> list[str]:
    return tagger.model.encoder.feature_names(range(tagger.model.encoder.features))


def test_known_features_labels_and_strings_keep_their_numbers(tagger: Tagger) -> None:
    grown = continue_training(tagger, NEW, new_labels=True)
    assert names(grown)[: len(names(tagger))] == names(tagger)
    assert len(names(grown)) > len(names(tagger))
    assert grown.labels == (*tagger.labels, "UH", ",", "NNS", "VBP")
    old, new = tagger.model.encoder, grown.model.encoder
    assert isinstance(old, TemplateEncoder)
    assert isinstance(new, TemplateEncoder)
    assert new.strings["word"].strings()[: len(old.strings["word"])] == old.strings["word"].strings()


def test_every_feature_of_old_and_new_text_is_found_again(tagger: Tagger) -> None:
    """A grown encoder encodes all text as one that was built on all of it."""
    grown = continue_training(tagger, NEW, new_labels=True).model.encoder
    whole = sapo.train([*OLD, *NEW], template="ner", epochs=1).model.encoder
    assert isinstance(grown, TemplateEncoder)
    assert isinstance(whole, TemplateEncoder)
    assert sorted(grown.feature_names(range(grown.features))) == sorted(whole.feature_names(range(whole.features)))
    block = sentence_block([tokens for tokens, _ in [*OLD, *NEW]], ["word"])
    found = []
    for encoder in (grown, whole):
        corpus = encoder.session().encode(block)
        row_names = encoder.feature_names(corpus.rows.tolist())
        cuts = corpus.row_offsets.tolist()
        found.append([sorted(row_names[a:b]) for a, b in itertools.pairwise(cuts)])
    assert found[0] == found[1]


def test_growing_alone_changes_no_score(tagger: Tagger) -> None:
    """With a rate of next to nothing, old sentences score as before."""
    grown = continue_training(tagger, NEW, rate=1e-12, strength=0.0, epochs=1, new_labels=True)
    for tokens, _ in OLD[:2]:
        before, after = tagger.nbest(tokens, 1)[0], grown.nbest(tokens, 1)[0]
        assert before.tags == after.tags
        assert after.score == pytest.approx(before.score, abs=1e-5)


def test_the_live_tagger_goes_on_with_a_file_by_what_was_learned_meanwhile(tagger: Tagger) -> None:
    trainer = Trainer(tagger)
    block = sentence_block([NEW[0][0]], ["word"])
    stream = tag_blocks(trainer.tagger, [block, block])
    next(stream)
    trainer.update(NEW, new_labels=True)  # words, features and labels are new
    _, added = next(stream)
    assert added.names() == NEW[0][1]


def test_new_sentences_are_learned_at_once_and_old_ones_are_kept(tagger: Tagger) -> None:
    trainer = Trainer(tagger)
    trainer.update(NEW, new_labels=True)
    assert trainer.tagger.tag(NEW[0][0]) == NEW[0][1]
    assert [trainer.tagger.tag(tokens) for tokens, _ in OLD] == [tags for _, tags in OLD]
    assert tagger.tag(NEW[0][0]) != NEW[0][1]  # the old tagger stays as it was


def test_a_grown_tagger_is_saved_and_grows_again(tagger: Tagger, tmp_path: Path) -> None:
    trainer = Trainer(tagger)
    trainer.update(NEW, new_labels=True)
    trainer.tagger.save(tmp_path / "grown.sapo")
    loaded = Tagger.load(tmp_path / "grown.sapo")
    assert loaded.tag(NEW[0][0]) == NEW[0][1]
    again = continue_training(loaded, [(["Oh", "dear"], ["UH", "JJ"])], new_labels=True)
    assert again.tag(["Oh", "dear"]) == ["UH", "JJ"]
    assert len(again.model.record["continued"]) == 2
    assert again.model.record["sentences"] == len(OLD) + 2


def test_ready_made_features_grow_too() -> None:
    first: list[Any] = [([{"w": "a"}, {"w": "b"}], ["A", "B"])]
    second: list[Any] = [([{"w": "c", "x": 0.5}], ["C"])]
    tagger = sapo.train(first, epochs=5)
    grown = continue_training(tagger, second, new_labels=True)
    assert grown.model.encoder.feature_names(range(4)) == ["w:a", "w:b", "w:c", "x"]
    assert [grown.tag(tokens) for tokens, _ in [*first, *second]] == [["A", "B"], ["C"]]
    with pytest.raises(SapoError, match="has no ready-made features"):
        continue_training(tagger, sample_path("train"), new_labels=True)


def test_an_averaged_model_goes_on_from_its_average() -> None:
    tagger = sapo.train(OLD, template="pos", learner="sapo-avg", epochs=4)
    grown = continue_training(tagger, NEW, rate=1e-12, strength=0.0, epochs=1, new_labels=True)
    before, after = tagger.model.parameters.features, grown.model.parameters.features
    np.testing.assert_allclose(after[: len(before), : before.shape[1]], before, atol=1e-6)


def test_the_command_goes_on_from_a_model(tmp_path: Path) -> None:
    model, new = tmp_path / "m.sapo", tmp_path / "new.txt"
    sapo.train(sample_path("train"), template="ner", columns=COLUMNS, label="entity", epochs=2).save(model)
    new.write_text("Quxley\tNNP\tB-NP\tB-PLANET\nis\tVBZ\tB-VP\tO\ncold\tJJ\tB-ADJP\tO\n\n")
    command = [
        sys.executable,
        "-m",
        "sapo",
        "train",
        "--continue",
        str(model),
        "--new-labels",
        str(new),
        "-o",
        str(tmp_path / "n.sapo"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    tagger = Tagger.load(tmp_path / "n.sapo")
    assert "B-PLANET" in tagger.labels
    assert tagger.tag(["Quxley", "is", "cold"])[0] == "B-PLANET"


@pytest.mark.parametrize(
    ("weights", "wanted"),
    [({"class_weight": {"A": 0}}, "B"), ({"class_weight": {"B": 0}}, "A"), ({"sample_weight": [0, 1]}, "B")],
)
def test_what_weighs_nothing_teaches_nothing(weights: dict[str, Any], wanted: str) -> None:
    tagger = sapo.train([(["x"], ["A"]), (["y"], ["B"])], template="pos")
    grown = continue_training(tagger, [(["z"], ["A"]), (["z"], ["B"])], epochs=1, **weights, new_labels=True)
    assert grown.tag(["z"]) == [wanted]


def test_weights_of_labels_that_are_not_there_are_refused() -> None:
    trainer = sapo.Trainer(sapo.train([(["x"], ["A"]), (["y"], ["B"])], template="pos"))
    with pytest.raises(SapoError, match="class_weight: no label is 'C'; known: A, B"):
        trainer.update([(["z"], ["A"])], class_weight={"C": 2}, new_labels=True)
    trainer.update([(["z"], ["C"])], class_weight={"C": 2}, new_labels=True)
    assert trainer.tagger.tag(["z"]) == ["C"]


def test_settings_that_are_none_are_told_and_auto_means_the_usual_n(tagger: Tagger) -> None:
    with pytest.raises(SapoError, match=r"unknown setting 'epoch'; did you mean 'epochs'\?"):
        continue_training(tagger, NEW, epoch=3, new_labels=True)
    with pytest.raises(SapoError, match="unknown setting 'learner'"):
        continue_training(tagger, NEW, learner="crf", new_labels=True)
    usual, auto = (continue_training(tagger, NEW, n=n, new_labels=True).model.parameters for n in (5, "auto"))
    np.testing.assert_array_equal(auto.features, usual.features)


def test_whatever_stops_an_update_the_tagger_tags_as_before(tagger: Tagger) -> None:
    class Broken:
        def samples(self, epoch: int, done: int, of: int) -> None:
            pass

        def passed(self, record: Any, state: Any) -> None:
            raise ZeroDivisionError

    trainer = Trainer(tagger)
    before = [trainer.tagger.nbest(tokens, 3) for tokens, _ in OLD[:2]]
    with pytest.raises(ZeroDivisionError):
        trainer.update([(OLD[0][0], ["VBZ", "DT", "NN"])], observers=[Broken()], new_labels=True)
    assert [trainer.tagger.nbest(tokens, 3) for tokens, _ in OLD[:2]] == before


def test_a_rate_that_grows_never_turns_the_weights_around(tagger: Tagger) -> None:
    """Sentences that cannot both come out right are passed over to the end, at rates that grow and grow."""
    trainer = Trainer(tagger)
    trainer.update([(["a", "dog"], ["DT", "NN"])], epochs=200, strength=8.0, n=1, new_labels=True)
    trainer.update([(["a", "a"], ["NN", "DT"])], epochs=200, strength=8.0, n=1, new_labels=True)
    assert np.isfinite(trainer.snapshot().model.parameters.features).all()
    assert trainer._weights.weights.scale > 0


def test_an_update_of_a_sparse_model_has_the_strength_of_l2() -> None:
    trainer = Trainer(sapo.train(OLD, template="ner", epochs=2, regularizer="l1"))
    assert trainer.tagger.model.record["settings"]["strength"] == 0.1
    trainer.update(NEW, new_labels=True)
    settings = trainer.tagger.model.record["continued"][-1]["settings"]
    assert (settings["regularizer"], settings["strength"]) == ("l2", 1.0)


def test_threads_that_share_a_trainer_wait_for_each_other() -> None:
    trainer = Trainer(sapo.train([(["a", "dog"], ["DT", "NN"])], template="pos", epochs=2))

    def learn(thread: int) -> None:
        for number in range(10):
            trainer.update(
                [([f"w{thread}-{number}", "dog"], [f"L{(7 * thread + number) % 30}", "NN"])], new_labels=True
            )

    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(learn, thread) for thread in range(8)]:
            done.result()
    assert set(trainer.tagger.labels) == {"DT", "NN", *(f"L{number}" for number in range(30))}
    assert trainer.tagger.model.record["sentences"] == 81
    assert Tagger(model_from_bytes(model_bytes(trainer.snapshot().model))).tag(["w7-9", "dog"]) == ["L28", "NN"]


def test_an_update_may_not_have_more_labels_than_the_limit() -> None:
    trainer = Trainer(sapo.train([(["a", "dog"], ["DT", "NN"])], template="pos", epochs=2))
    with allow_limits(labels=3), pytest.raises(SapoError, match="new data: 4 labels are more than 3"):
        trainer.update([(["sing", "!"], ["VB", "."])], new_labels=True)
    assert trainer.tagger.labels == ("DT", "NN")
