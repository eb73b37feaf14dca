"""Files of format 2: they keep what is not zero, and whatever is changed in them stays inside its arrays."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sapo
from changed_arrays import refused_and_used
from sapo.errors import SapoError
from sapo.search.weights import FeatureRows
from sapo.tagger.arrayfile import load_arrays
from sapo.tagger.file import load_model, model_bytes, model_from_bytes, save_model
from sapo.tagger.model import Model
from sapo.tagger.tagger import Tagger

WORDS = [["the", "hen"], ["größte", "new", "hen", "sings"], ["old"]]


def many_labels(count: int = 310) -> Tagger:
    """A tagger with so many labels that its weights are lists, and lists of labels are short."""
    pairs = [([f"w{i}", "and", f"w{i % 7}"], [f"L{i}", "C", f"L{i % 7}"]) for i in range(count)] * 3
    return sapo.train(pairs, template="pos", epochs=4)


def test_weights_tags_and_features_are_the_same_after_loading(path: Path, model: Model) -> None:
    loaded = Tagger(load_model(path))
    assert [loaded.tag(words) for words in WORDS] == [Tagger(model).tag(words) for words in WORDS]
    expected = dict(zip(*_named(model), strict=True))
    assert loaded.model.encoder.features == len(expected)
    for name, weights in zip(*_named(loaded.model), strict=True):
        np.testing.assert_array_equal(weights, expected[name])
    np.testing.assert_array_equal(loaded.model.parameters.edges, model.parameters.edges)


def test_features_without_a_weight_are_left_out(model: Model, tmp_path: Path) -> None:
    weights = model.parameters.features.copy()
    weights[::2] = 0
    sparse = Model(model.labels, model.encoder, type(model.parameters).plain(weights, model.parameters.edges))
    save_model(sparse, tmp_path / "sparse.sapo")
    assert load_model(tmp_path / "sparse.sapo").encoder.features == len(weights) // 2


def test_a_loaded_model_is_saved_as_the_same_bytes(path: Path) -> None:
    assert model_bytes(load_model(path)) == path.read_bytes()
    data = model_bytes(many_labels().model)
    assert model_bytes(model_from_bytes(data)) == data


def test_a_model_with_many_labels_tags_as_before_it_was_saved(tmp_path: Path) -> None:
    tagger = many_labels()
    assert len(tagger.model.parameters.rows.arrays.head) > 0
    assert tagger.model.parameters.lists.most > 0
    tagger.save(tmp_path / "many.sapo")
    loaded = Tagger.load(tmp_path / "many.sapo")
    sentences = [[f"w{i}", "and", "w3", "unknown"] for i in range(310)]
    assert loaded.tag_many(sentences) == tagger.tag_many(sentences)
    for one, other in zip(loaded.model.parameters.lists, tagger.model.parameters.lists, strict=True):
        np.testing.assert_array_equal(one, other)


def test_half_the_bits_take_less_room_and_change_little(model: Model) -> None:
    whole, half = model_bytes(model), model_bytes(model, half=True)
    assert len(half) < len(whole)
    loaded = model_from_bytes(half)
    found = dict(zip(*_named(loaded), strict=True))
    for name, weights in zip(*_named(model), strict=True):
        np.testing.assert_allclose(found[name], weights, rtol=1e-3)


def _named(model: Model) -> tuple[list[str], np.ndarray]:
    return model.encoder.feature_names(range(model.encoder.features)), model.parameters.features


def test_a_weight_that_does_not_fit_into_half_the_bits_is_refused(model: Model) -> None:
    weights = model.parameters.features.copy()
    weights[0, 0] = 1e6
    large = Model(model.labels, model.encoder, type(model.parameters).plain(weights, model.parameters.edges))
    with pytest.raises(SapoError, match="does not fit into 16 bits"):
        model_bytes(large, half=True)


def test_an_array_that_is_missing_or_of_another_length_is_refused(change: Callable[..., Path], path: Path) -> None:
    for name, original in load_arrays(path, "a file")[1].items():
        for array in (None, original[..., :-1], np.concatenate([original, original[..., -1:]], axis=-1)):
            with pytest.raises(SapoError, match="its parts do not fit together"):
                load_model(change({name: array}))


def test_rows_of_a_matrix_and_of_its_entries_are_the_same() -> None:
    rng = np.random.default_rng(0)
    matrix = (rng.normal(size=(50, 70)) * (rng.random((50, 70)) < 0.1)).astype(np.float32)
    rows = FeatureRows.of_entries(*FeatureRows.of_matrix(matrix).entries(), 70)
    assert len(rows.arrays.head) > 0
    np.testing.assert_array_equal(rows.matrix(), matrix)


def test_whatever_is_changed_stays_inside_its_arrays(tmp_path: Path) -> None:
    many_labels(305).save(tmp_path / "many.sapo")
    refused, used = refused_and_used(tmp_path / "many.sapo", ["w1", "and", "new"], times=400)
    assert refused > 20
    assert used > 50
