"""What changed between two models: matched by name, whatever the numbers are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapo
from sapo.encode.matching import matching_edge_features, matching_features
from sapo.encode.ready import FeatureEncoder
from sapo.encode.strings import StringTable
from sapo.errors import SapoError
from sapo.model import Model
from sapo.model.diff import changes
from sapo.model.inspect import largest
from sapo.render.diff import changes_text
from sapo.search.lattice import Parameters

TEMPLATE = "word[-2]\nword[0]\nword[-1] & word[0]\nsubstrings(word, 2)\nbias\nlabel[-1]\nlabel[-1] & word[0]\n"
OTHER = "word[1]\nlabel[-1] & word[0]\nsubstrings(word, 2)\nword[0]\nword[-1] & word[0]\nbias\nlabel[-1]\n"
CRFPP = "U00:%x[0,0]\nU01:%x[0,0]\nU02:%x[-1,0]/%x[0,0]\nB\n"
OLD = [(["the", "cat", "sleeps"], ["D", "N", "V"]), (["a", "dog"], ["D", "N"])] * 3
NEW = [(["dog", "barks", "loud"], ["N", "V", "A"]), (["the", "cat", "barks"], ["D", "N", "V"])] * 3


def trained(tmp_path: Path, template: str, pairs: Any, **more: Any) -> Model:
    path = tmp_path / "template.txt"
    path.write_text(template)
    return sapo.train(pairs, template=path, **more).model


def names(model: Model) -> list[str]:
    return model.encoder.feature_names(range(model.encoder.features))


def edge_names(model: Model) -> list[str]:
    return model.encoder.edge_feature_names(range(model.encoder.edge_features))


@pytest.mark.parametrize(("mine", "theirs"), [(TEMPLATE, TEMPLATE), (TEMPLATE, OTHER), (OTHER, TEMPLATE)])
def test_features_are_matched_exactly_by_their_names(tmp_path: Path, mine: str, theirs: str) -> None:
    old, new = trained(tmp_path, mine, OLD), trained(tmp_path, theirs, NEW)
    for found, before, after in (
        (matching_features(old.encoder, new.encoder), names(old), names(new)),
        (matching_edge_features(old.encoder, new.encoder), edge_names(old), edge_names(new)),
    ):
        assert found.tolist() == [after.index(name) if name in after else -1 for name in before]
        assert 0 < (found >= 0).sum() < len(found)


def test_bags_that_read_alike_are_matched_in_order(tmp_path: Path) -> None:
    model = trained(tmp_path, CRFPP, OLD)
    assert len(set(names(model))) < len(names(model))
    assert matching_features(model.encoder, model.encoder).tolist() == list(range(model.encoder.features))


def test_ready_made_features_and_templates_have_nothing_in_common(tmp_path: Path) -> None:
    old = trained(tmp_path, TEMPLATE, OLD)
    new = sapo.train([([["a"], ["b"]], ["D", "N"])]).model
    told = changes(old, new)
    assert told["features"]["common"] == 0
    assert told["features"]["added"]["count"] == new.encoder.features
    assert told["features"]["removed"]["count"] == old.encoder.features


def test_the_same_model_has_not_changed(tmp_path: Path) -> None:
    model = trained(tmp_path, TEMPLATE, OLD)
    told = changes(model, model)
    assert told["settings"] == {}
    assert not any(told["weights"].values())
    assert (told["transitions"], told["edge_weights"]) == ([], [])
    text = changes_text({"file": "a", "old_file": "b", **told})
    assert text.endswith("nothing changed")


def ready(labels: tuple[str, ...], features: list[str], weights: Any, edges: Any) -> Model:
    encoder = FeatureEncoder(StringTable(features))
    return Model(labels, encoder, Parameters.plain(np.array(weights, np.float32), np.array(edges, np.float32)))


def test_labels_features_weights_and_transitions_are_told() -> None:
    old = ready(("X", "Y"), ["a", "b"], [[1, 2], [3, 4]], [[0, 1], [2, 3]])
    new = ready(("Z", "Y", "X"), ["c", "b"], [[0, 0, -7], [0, 4.5, 1]], [[0, 0, 0], [0, 3, 2], [0, -4, 0]])
    told = changes(old, new, top=1)
    assert told["labels"] == {"common": ["X", "Y"], "added": ["Z"], "removed": []}
    assert told["features"]["common"] == 1
    assert told["features"]["added"] == {
        "count": 1,
        "strongest": [{"feature": "c", "label": "X", "weight": -7.0}],
    }
    assert told["features"]["removed"]["strongest"] == [{"feature": "a", "label": "Y", "weight": 2.0}]
    assert told["weights"] == {
        "X": [{"feature": "b", "old": 3.0, "new": 1.0, "change": -2.0}],
        "Y": [{"feature": "b", "old": 4.0, "new": 4.5, "change": 0.5}],
    }
    assert told["transitions"] == [{"from": "X", "to": "Y", "old": 1.0, "new": -4.0, "change": -5.0}]
    assert list(changes(old, new, label="Y")["weights"]) == ["Y"]


def test_changed_edge_weights_are_those_of_the_two_models(tmp_path: Path) -> None:
    old, new = trained(tmp_path, TEMPLATE, OLD), trained(tmp_path, TEMPLATE, NEW)

    def weights(model: Model) -> dict[tuple[str, str, str], float]:
        pairs, L = model.parameters.pairs, len(model.labels)
        owners = model.encoder.edge_feature_names(pairs.owners.tolist())
        return {
            (name, model.labels[code // L], model.labels[code % L]): float(weight)
            for name, code, weight in zip(
                owners, pairs.codes.tolist(), model.parameters.pair_weights[:, 0], strict=True
            )
        }

    before, after = weights(old), weights(new)
    common = set(old.labels) & set(new.labels)
    both = set(edge_names(old)) & set(edge_names(new))
    expected = {
        key: (before.get(key, 0.0), after.get(key, 0.0))
        for key in {*before, *after}
        if key[0] in both and {key[1], key[2]} <= common and before.get(key, 0.0) != after.get(key, 0.0)
    }
    told = changes(old, new, top=99)["edge_weights"]
    found = {(entry["feature"], entry["from"], entry["to"]): (entry["old"], entry["new"]) for entry in told}
    assert found.keys() == expected.keys()
    assert len(found) > 0
    for key, pair in expected.items():
        assert found[key] == pytest.approx(pair, abs=1e-4)


def test_settings_and_template_lines_that_differ_are_told(tmp_path: Path) -> None:
    old = trained(tmp_path, TEMPLATE, OLD, epochs=2, tolerance=0)
    new = trained(tmp_path, OTHER, NEW, epochs=3, tolerance=0, learner="perceptron")
    told = changes(old, new)
    assert told["settings"]["epochs"] == {"old": 2, "new": 3}
    assert told["settings"]["learner"] == {"old": "sapo", "new": "perceptron"}
    assert told["template"] == {"added": ["word[1]"], "removed": ["word[-2]"]}
    text = changes_text({"file": "new.sapo", "old_file": "old.sapo", **told})
    assert text.startswith("from old.sapo to new.sapo\n")
    assert "  epochs: 2 -> 3\n" in text
    assert "template lines added\n  word[1]\n" in text
    assert "labels added: A\n" in text


def test_mistakes_are_told(tmp_path: Path) -> None:
    old = ready(("X", "Y"), ["a"], [[1, 2]], [[0, 1], [2, 3]])
    new = ready(("Y", "Z"), ["a"], [[1, 2]], [[0, 1], [2, 3]])
    with pytest.raises(SapoError, match="'X' is not a label of both models; common: Y"):
        changes(old, new, label="X")
    with pytest.raises(SapoError, match="top must be 0 or more"):
        changes(old, new, top=-1)


def test_features_that_came_and_went_are_told_for_one_label() -> None:
    old = ready(("X", "Y"), ["a", "b"], [[1, 2], [3, 4]], [[0, 0], [0, 0]])
    new = ready(("Y", "X"), ["c", "d"], [[9, 1], [0, -5]], [[0, 0], [0, 0]])
    told = changes(old, new, top=1, label="X")["features"]
    assert told["added"] == {"count": 2, "strongest": [{"feature": "d", "label": "X", "weight": -5.0}]}
    assert told["removed"] == {"count": 2, "strongest": [{"feature": "b", "label": "X", "weight": 3.0}]}


@pytest.mark.parametrize("top", [0, 1, 3, 50, 99, 100, 200])
def test_of_equal_weights_those_that_stand_first_are_told(top: int) -> None:
    values = np.array([1.0, 2.0] * 50)
    assert largest(values, top).tolist() == [*range(1, 100, 2), *range(0, 100, 2)][:top]


def test_models_without_a_common_label_or_feature_can_be_compared() -> None:
    old = ready(("X",), [], np.empty((0, 1)), [[1]])
    new = ready(("Y",), ["a"], [[1]], [[2]])
    told = changes(old, new)
    assert (told["labels"]["common"], told["weights"], told["transitions"]) == ([], {}, [])
    assert told["features"]["added"]["count"] == 1
