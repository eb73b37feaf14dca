"""Edge features from the template to the model file and back: `label[-1] & pos[0]`, in CRF++ `B01:%x[0,1]`."""

from pathlib import Path

import numpy as np
import pytest

import sapo
from sapo.cli.inspect import describe_text
from sapo.errors import SapoError
from sapo.features.template import parse_templates
from sapo.learn import LEARNERS
from sapo.tagger.file import load_model, small_model
from sapo.tagger.inspect import describe
from sapo.training.update import Trainer

OWN = "word[0]\nlabel[-1]\nlabel[-1] & word[0]\n"
CRFPP = "U00:%x[0,0]\nB\nB00:%x[0,0]\n"
# The tag of b depends on the tag before it, and only where the word is b: neither words nor plain transitions know it.
PAIRS = [
    (["a", "b"], ["X", "Y"]),
    (["c", "b"], ["Y", "X"]),
    (["a", "d"], ["X", "X"]),
    (["c", "d"], ["Y", "Y"]),
] * 5


def template(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "template.txt"
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", [OWN, CRFPP])
def test_edge_features_learn_what_words_and_transitions_cannot(tmp_path: Path, text: str) -> None:
    rich = sapo.train(PAIRS, template=template(tmp_path, text), strength=0.01)
    assert rich.tag_many([tokens for tokens, _ in PAIRS]) == [tags for _, tags in PAIRS]
    plain = sapo.train(PAIRS, template=template(tmp_path, "word[0]\nlabel[-1]\n"), strength=0.01)
    assert plain.tag_many([tokens for tokens, _ in PAIRS]) != [tags for _, tags in PAIRS]


@pytest.mark.parametrize("learner", sorted(LEARNERS))
def test_every_learner_takes_them(tmp_path: Path, learner: str) -> None:
    tagger = sapo.train(PAIRS, template=template(tmp_path, OWN), learner=learner, strength=0.01)
    assert tagger.tag(["c", "b"]) == ["Y", "X"]


def test_a_model_with_edge_features_comes_back_as_it_was(tmp_path: Path) -> None:
    tagger = sapo.train(PAIRS, template=template(tmp_path, OWN))
    tagger.save(tmp_path / "model.sapo")
    loaded = load_model(tmp_path / "model.sapo")
    _, kept = small_model(tagger.model.encoder, tagger.model.parameters)  # no features without a weight
    for mine, theirs in zip(kept.blocks, loaded.parameters.blocks, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert sapo.Tagger.load(tmp_path / "model.sapo").nbest(["a", "b"]) == tagger.nbest(["a", "b"])


def test_only_pairs_that_training_showed_have_weights(tmp_path: Path) -> None:
    parameters = sapo.train(PAIRS, template=template(tmp_path, OWN)).model.parameters
    assert parameters.pair_weights.shape == (4, 1)  # b after X and Y, d after X and Y; nothing stands before a and c


def test_inspect_shows_the_strongest_of_them(tmp_path: Path) -> None:
    tagger = sapo.train(PAIRS, template=template(tmp_path, OWN))
    found = describe(tagger.model)
    assert found["edge_features"] == 4
    strongest = found["strongest_edge_features"]
    assert {entry["feature"] for entry in strongest} == {"label[-1] & word[0] = b", "label[-1] & word[0] = d"}
    assert {(entry["from"], entry["to"]) for entry in strongest} == {(p, y) for p in "XY" for y in "XY"}
    text = describe_text({**found, "file": "m", "megabytes": 0})
    assert "and 4 edge features" in text
    assert "strongest edge features" in text


@pytest.mark.parametrize("regularizer", ["l1", "l2", "none"])
def test_every_regularizer_takes_them(tmp_path: Path, regularizer: str) -> None:
    tagger = sapo.train(PAIRS, template=template(tmp_path, OWN), regularizer=regularizer, strength=0.001)
    assert tagger.tag(["c", "b"]) == ["Y", "X"]


def test_learning_goes_on_with_new_words_labels_and_pairs(tmp_path: Path) -> None:
    trainer = Trainer(sapo.train(PAIRS, template=template(tmp_path, OWN), strength=0.01))
    new = [(["a", "e", "b"], ["X", "Z", "Z"])] * 2
    trainer.update(new, new_labels=True)
    assert trainer.tagger.tag(["a", "e", "b"]) == ["X", "Z", "Z"]
    assert trainer.tagger.tag(["c", "b"]) == ["Y", "X"]
    assert trainer.tagger.model.encoder.edge_features == 5


def test_min_count_leaves_rare_edge_features_out(tmp_path: Path) -> None:
    once = [*PAIRS, (["a", "rare"], ["X", "Y"])]
    assert sapo.train(once, template=template(tmp_path, OWN)).model.encoder.edge_features == 5
    assert sapo.train(once, template=template(tmp_path, OWN), min_count=2).model.encoder.edge_features == 4


@pytest.mark.parametrize(
    ("text", "templates"),
    [
        ("label[-1] & pos[0]\nword[0]", ["word[0]", "label[-1] & pos[0]"]),
        ("word[0]\npos[-1] & label[-1] & pos[0]", ["word[0]", "label[-1] & pos[-1] & pos[0]"]),
        ("U:%x[0,0]\nB01:%x[-1,1]/%x[0,1]", ["word[0]", "label[-1] & pos[-1] & pos[0]"]),
        ("U:%x[0,0]\nB01:%x[0,0]\nB", ["word[0]", "label[-1] & word[0]"]),
    ],
)
def test_templates_of_edge_features_come_last(text: str, templates: list[str]) -> None:
    parsed = parse_templates(text, ("word", "pos", "label"))
    assert [str(one) for one in parsed.templates] == templates
    assert parsed.transitions == text.endswith("B")


def test_a_damaged_pair_is_refused(tmp_path: Path) -> None:
    from sapo.tagger.arrayfile import load_arrays, save_arrays

    path = tmp_path / "model.sapo"
    sapo.train(PAIRS, template=template(tmp_path, OWN)).save(path)
    header, arrays = load_arrays(path, "a sapo model")
    for name, value in (("pair.codes", 4), ("pair.codes", -1), ("pair.counts", 99)):
        changed = {key: array.copy() for key, array in arrays.items()}
        changed[name][..., -1] = value
        save_arrays(tmp_path / "bad.sapo", header, changed)
        with pytest.raises(SapoError, match="pair"):
            load_model(tmp_path / "bad.sapo")
