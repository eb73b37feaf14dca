"""A pruned model has the large weights of the old one and no others, in every kind of model."""

import dataclasses

import numpy as np
import pytest

import sapo
from sapo.errors import SapoError
from sapo.tagger.file import model_bytes, model_from_bytes
from sapo.tagger.model import Model
from sapo.tagger.prune import pruned, pruned_to

SENTENCES = [(["the", "old", "hen", "sings"], ["D", "A", "N", "V"]), (["a", "hen", "is", "old"], ["D", "N", "V", "A"])]


def named_weights(model: Model) -> dict[tuple[str, str], float]:
    """The weights of features and of edge features, by names."""
    counts, labels, values = model.parameters.rows.entries()
    names = np.repeat(model.encoder.feature_names(range(len(counts))), counts)
    found = {(str(n), model.labels[y]): float(v) for n, y, v in zip(names, labels, values, strict=True)}
    pairs = model.parameters.pairs
    owners = model.encoder.edge_feature_names(pairs.owners.tolist())
    weights = model.parameters.pair_weights.ravel().tolist()
    return {**found, **{(n, str(c)): v for n, c, v in zip(owners, pairs.codes.tolist(), weights, strict=True)}}


def ready_made() -> Model:
    sentences = [([{"word": word} for word in words], tags) for words, tags in SENTENCES]
    return sapo.train(sentences, epochs=3).model


@pytest.fixture(params=["template", "edge features", "ready-made", "many labels"])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Model:
    if request.param == "ready-made":
        return ready_made()
    if request.param == "many labels":
        words = [f"w{i}" for i in range(50)]
        return sapo.train([(words, [f"L{i}" for i in range(50)])], template="pos", epochs=3).model
    path = tmp_path_factory.mktemp("templates") / "edges"
    path.write_text("word[0]\nsuffix(word, 2)\nlabel[-1]\nlabel[-1] & word[0]\n")
    return sapo.train(SENTENCES, template="pos" if request.param == "template" else path, epochs=3).model


def test_weights_that_are_large_enough_stay_and_the_others_are_gone(trained: Model) -> None:
    weights = named_weights(trained)
    below = float(np.median(np.abs(list(weights.values()))))
    wanted = {name: weight for name, weight in weights.items() if abs(weight) >= below}
    smaller = pruned(trained, below)
    assert named_weights(smaller) == wanted
    assert named_weights(model_from_bytes(model_bytes(smaller))) == wanted
    assert smaller.encoder.features == len({name for name, _ in wanted if not name.startswith("label")})
    assert smaller.parameters.edges.tolist() == trained.parameters.edges.tolist()


def test_a_model_without_features_still_tags(trained: Model) -> None:
    empty = pruned(trained, np.inf)
    assert (empty.encoder.features, empty.encoder.edge_features) == (0, 0)
    token = "hen" if trained.encoder.columns else {"word": "hen"}
    for model in (empty, model_from_bytes(model_bytes(empty))):
        assert sapo.Tagger(model).tag([token])[0] in trained.labels


def test_below_0_there_is_nothing_to_drop(trained: Model) -> None:
    assert named_weights(pruned(trained, 0.0)) == named_weights(trained)


@pytest.mark.parametrize("half", [False, True])
def test_a_file_is_as_small_as_asked_for_and_hardly_smaller(trained: Model, half: bool) -> None:
    whole, least = (len(model_bytes(model, half=half)) for model in (trained, pruned(trained, np.inf)))
    wanted = (whole + least) // 2
    smaller, below = pruned_to(trained, wanted, half=half)
    assert len(model_bytes(smaller, half=half)) <= wanted
    weights = np.sort(np.abs(list(named_weights(trained).values())))
    larger = weights[weights < np.float32(below)]
    variation = 64  # bytes: numbers in the header have different lengths
    assert len(model_bytes(pruned(trained, float(larger[-1])), half=half)) > wanted - variation


def test_a_model_that_is_small_enough_stays_as_it_is() -> None:
    model = ready_made()
    assert pruned_to(model, 10**6) == (model, 0.0)


def test_the_smallest_size_is_named_where_it_is_too_large() -> None:
    model = ready_made()
    least = len(model_bytes(pruned(model, np.inf)))
    with pytest.raises(SapoError, match=f"the smallest has {least:,}"):
        pruned_to(model, 100)


@pytest.mark.parametrize("below", [-1.0, np.nan])
def test_what_is_no_size_of_a_weight_is_refused(below: float) -> None:
    with pytest.raises(SapoError, match="below must be 0 or more"):
        pruned(ready_made(), below)


def test_networks_are_refused() -> None:
    class Network:
        linear = False

    network = dataclasses.replace(ready_made(), encoder=Network())  # type: ignore[arg-type]
    for call in (lambda: pruned(network, 1.0), lambda: pruned_to(network, 1000)):
        with pytest.raises(SapoError, match="this model is a network"):
            call()


def test_half_weights_are_near_the_whole_ones(trained: Model) -> None:
    halved = named_weights(model_from_bytes(model_bytes(trained, half=True)))
    for name, weight in named_weights(trained).items():
        assert halved[name] == pytest.approx(weight, rel=1e-3, abs=1e-6)
