"""The neural systems from training to tagging: like the linear ones, and the same from run to run."""

import dataclasses
import sys
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiny_network import PAIRS, SENTENCE, SMALL, train

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import sapo  # noqa: E402
from sapo.errors import SapoError  # noqa: E402
from sapo.learn.settings import Settings  # noqa: E402
from sapo.neural.inputs import make_batch  # noqa: E402
from sapo.neural.options import LAYERS, NeuralOptions  # noqa: E402
from sapo.search.lattice import make_lattice, no_bans  # noqa: E402
from sapo.tagger.explain import explain  # noqa: E402
from sapo.tagger.inspect import describe  # noqa: E402
from sapo.training.run import read_data, train_on  # noqa: E402


@pytest.fixture(scope="module")
def tagger() -> sapo.Tagger:
    return train()


@pytest.mark.parametrize("learner", LAYERS)
def test_every_system_learns(learner: str) -> None:
    tagger = train(learner)
    assert tagger.tag(SENTENCE) == PAIRS[0][1]
    history = tagger.model.record["history"]
    assert history[-1]["objective"] < history[0]["objective"] / 2
    assert tagger.model.record["learner"] == learner


@pytest.mark.parametrize("more", [{"chars": "cnn"}, {"chars": "lstm", "depth": 2}, {"features": True}, {"batch": 1}])
def test_further_inputs_can_be_learned_from_and_are_kept(tmp_path: Path, more: dict[str, Any]) -> None:
    tagger = train(**more)
    assert tagger.tag(SENTENCE) == PAIRS[0][1]
    tagger.save(tmp_path / "model")
    loaded = sapo.Tagger.load(tmp_path / "model")
    assert loaded.nbest(SENTENCE, 3) == tagger.nbest(SENTENCE, 3)


def test_a_token_loss_or_a_margin_holds_up_the_scores_that_the_loss_of_the_top_n_lets_shrink() -> None:
    spread = {}
    for held in ({}, {"token_loss": 0.5}, {"margin": 0.5}):
        # tags that nobody can learn: then it is best to give all taggings the same score
        rng = np.random.default_rng(0)
        pairs = [(tokens, rng.choice(tags, len(tags)).tolist()) for tokens, tags in PAIRS]
        given = {"epochs": 30, "rate": 0.01, "decay": 1.0, "dropout": 0.5, "tolerance": 0.0, **SMALL}
        given |= {"token_loss": 0.0, "margin": 0.0, "n": 3, **held}
        tagger = sapo.train(pairs, template="chunking", learner="bilstm-sapo", **given)
        found = [one.score for one in tagger.nbest(SENTENCE, 20)]
        spread[str(*held)] = found[0] - found[-1]
    assert spread[""] < min(spread["token_loss"], spread["margin"])


def test_a_saved_model_tags_the_same(tagger: sapo.Tagger, tmp_path: Path) -> None:
    tagger.save(tmp_path / "model")
    loaded = sapo.Tagger.load(tmp_path / "model")
    assert loaded.labels == tagger.labels
    assert loaded.columns == ("word", "pos")
    assert loaded.nbest(SENTENCE, 4) == tagger.nbest(SENTENCE, 4)
    many = [tokens for tokens, _ in PAIRS]
    assert loaded.tag_many([*many, []]) == [*tagger.tag_many(many), []]


def test_the_n_best_have_probabilities_and_every_search_agrees(tagger: sapo.Tagger) -> None:
    found = tagger.nbest(SENTENCE, 5)
    assert found[0].tags == tagger.tag(SENTENCE)
    assert sum(one.p_k for one in found) == pytest.approx(1)
    for search in ("astar", "beam"):
        assert [one.tags for one in tagger.nbest(SENTENCE, 5, search=search, width=500)] == [one.tags for one in found]


def test_the_lattice_of_a_tagger_is_that_of_the_last_layer(tagger: sapo.Tagger) -> None:
    encoder: Any = tagger.model.encoder
    prepared = read_data(PAIRS, template="chunking", keep_texts=True)
    assert prepared.texts is not None
    block = prepared.texts.train[0]
    encoded, inputs = encoder.session().encode(block), encoder.vocabulary.session().read(block)
    batch = make_batch(inputs, np.arange(inputs.sentences), chars=False)
    network = encoder.network.eval()
    with torch.no_grad():
        emissions = batch.padded(network.emissions(batch))
        ranked = network.layer.nbest(emissions, n=3)
    free = dataclasses.replace(tagger.model.parameters, bans=no_bans(len(tagger.labels)))
    for place, sentence in enumerate(batch.sentences.tolist()):
        lattice = make_lattice(encoded, sentence, free)
        for one in ranked[place]:
            assert lattice.path_score(one.tags) == pytest.approx(one.score, abs=1e-4)


def test_the_same_seed_gives_the_same_file(tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        torch.rand(1)  # whatever else was drawn before
        train(epochs=2, seed=seed, dropout=0.5).save(tmp_path / name)
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_training_leaves_the_generator_and_the_threads_of_pytorch_alone() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    threads = torch.get_num_threads()
    torch.manual_seed(7)
    train(epochs=1)
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("dev", [False, True])
def test_a_run_that_is_resumed_ends_like_one_that_never_stopped(tmp_path: Path, dev: bool) -> None:
    prepared = read_data(PAIRS, dev=PAIRS[:3] if dev else None, template="chunking", keep_texts=True)
    options = NeuralOptions(**SMALL)

    def go(epochs: int, name: str, **more: Any) -> None:
        settings = Settings(epochs=epochs, rate=0.02, tolerance=0.0)
        outcome = train_on(prepared, settings, learner="bilstm-sapo", network=options, **more)
        outcome.tagger.save(tmp_path / name)

    state = tmp_path / "state"
    go(4, "whole")
    go(2, "half", checkpoint=state)
    go(4, "resumed", checkpoint=state, resume=True)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "resumed").read_bytes()
    assert (tmp_path / "whole").read_bytes() != (tmp_path / "half").read_bytes()
    with pytest.raises(SapoError, match="was made with other data, templates or learner"):
        train_on(prepared, Settings(epochs=4), learner="bilstm-crf", network=options, checkpoint=state, resume=True)


def test_the_best_pass_on_the_dev_set_is_kept() -> None:
    prepared = read_data(PAIRS, dev=PAIRS[:2], template="chunking", keep_texts=True)
    seen: list[tuple[float | None, np.ndarray]] = []

    class Watch:
        def samples(self, epoch: int, done: int, of: int) -> None:
            assert 0 < done <= of == len(PAIRS)

        def passed(self, record: Any, state: Any) -> None:
            seen.append((record.dev, state.weights.true_weights().edges.copy()))

    options = NeuralOptions(**SMALL)
    settings = Settings(epochs=15, rate=0.02, patience=2)
    outcome = train_on(prepared, settings, learner="bilstm-sapo", network=options, observers=[Watch()])
    assert outcome.stop.text == "no better dev score in 2 epochs"
    scores = [score for score, _ in seen]
    best = scores.index(max(scores))
    assert outcome.best_epoch == best + 1
    np.testing.assert_array_equal(outcome.tagger.model.parameters.edges, seen[best][1])


def test_ctrl_c_keeps_what_is_learned() -> None:
    class Impatient:
        def samples(self, epoch: int, done: int, of: int) -> None:
            if epoch == 2:
                raise KeyboardInterrupt

        def passed(self, record: Any, state: Any) -> None:
            pass

    tagger = train(observers=[Impatient()])
    assert tagger.model.record["stopped"] == "interrupted"
    assert len(tagger.tag(SENTENCE)) == 4


def test_word_vectors_are_begun_with_and_known_beyond_the_training_data(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("cat 1 0 0\nyak 1 0 0.1\nsleeps 0 1 0\nthe 0 0 1\n")
    tagger = train(vectors=path, epochs=1, rate=1e-9)
    encoder: Any = tagger.model.encoder
    assert encoder.network.options.word_size == 3
    weight = encoder.network.words.weight.detach()
    cat, yak = (weight[encoder.vocabulary.words.find([word])[0] + 1] for word in ("cat", "yak"))
    assert torch.nn.functional.cosine_similarity(cat, yak, dim=0) > 0.99
    assert tagger.model.record["settings"]["rate"] == 1e-9
    tagger.save(tmp_path / "model")
    assert str(tmp_path).encode() not in (tmp_path / "model").read_bytes()  # only the name of the file


def in_scheme(tags: tuple[str, ...]) -> bool:
    return all(tag != "I-NP" or before.endswith("-NP") for before, tag in pairwise(("O", *tags)))


def test_taggings_of_a_network_keep_to_the_tag_scheme(tagger: sapo.Tagger, tmp_path: Path) -> None:
    assert tagger.model.constraints.scheme == "iob2"
    tagger.save(tmp_path / "model")
    for each in (tagger, sapo.Tagger.load(tmp_path / "model")):
        taggings = [ranked.tags for ranked in each.nbest(SENTENCE, 1000)]
        assert sorted(taggings) == sorted(list(tags) for tags in product(each.labels, repeat=4) if in_scheme(tags))
    assert len(train(constraints=False, epochs=1).nbest(SENTENCE, 1000)) == 4**4


def test_a_network_can_learn_another_scheme_than_it_shows() -> None:
    tagger = train(scheme="bioes", dev=PAIRS)
    assert "E-NP" in tagger.model.labels
    assert set(tagger.labels) == {"B-NP", "I-NP", "B-VP", "O"}
    assert tagger.tag(SENTENCE) == PAIRS[0][1]
    assert tagger.model.record["history"][-1]["dev"] == 1.0


def test_a_network_has_probabilities_forced_tags_and_biases(tagger: sapo.Tagger) -> None:
    marginals = tagger.marginals(SENTENCE)
    assert [sum(row.values()) for row in marginals] == pytest.approx([1.0] * 4)
    assert sum(ranked.probability for ranked in tagger.nbest(SENTENCE, 1000)) == pytest.approx(1.0)
    assert [(span.start, span.end, span.type) for span in tagger.spans(SENTENCE)] == [(0, 2, "NP"), (2, 3, "VP")]
    assert tagger.tag(SENTENCE, forced={2: "O"})[2] == "O"
    assert tagger.with_bias("O", 1000).tag(SENTENCE) == ["O"] * 4


def test_a_network_can_be_the_learner_of_the_estimator() -> None:
    labeler = sapo.SequenceLabeler(learner="bilstm-sapo", template="chunking", epochs=2)
    labeler.fit([tokens for tokens, _ in PAIRS], [tags for _, tags in PAIRS])
    assert labeler.tagger_.model.encoder.kind == "neural"


def test_a_network_is_described(tagger: sapo.Tagger) -> None:
    told = describe(tagger.model, top=1)
    assert told["network"]["options"]["hidden"] == 8
    assert told["weights"] == told["network"]["weights"] > 1000
    assert told["strongest_features"] == {}


def test_mistakes_are_told_in_one_line(tagger: sapo.Tagger, tmp_path: Path) -> None:
    ready = [([{"word": "a"}], ["X"])]
    for wrong, message in (
        (lambda: sapo.train(ready, learner="bilstm"), "bilstm reads words"),
        (lambda: sapo.train(PAIRS, chars="cnn"), "chars: only for the neural learners"),
        (lambda: train(chars="gru"), "chars must be one of none, cnn, lstm, not gru"),
        (lambda: train(token_loss=-1), "token_loss must be a number, 0 or more, not -1"),
        (lambda: train(margin=-1), "margin must be a number, 0 or more, not -1"),
        (lambda: train(batch=0), "batch must be a whole number from 1 to 65,536, not 0"),
        (lambda: train("bilstm-crff"), "unknown learner 'bilstm-crff'; did you mean 'bilstm-crf'"),
        (lambda: train(vectors=tmp_path / "none"), "none: no such file"),
        (lambda: sapo.Trainer(tagger).update(PAIRS), "this model is a network: it cannot learn new sentences"),
        (lambda: explain(tagger, SENTENCE, 0), "this model is a network: .* cannot be explained"),
        (lambda: train(n="auto"), "bilstm-sapo cannot measure how many taggings are worth it"),
        (lambda: train(missing="O"), "bilstm-sapo needs every tag of the training data"),
        (lambda: train(class_weight={"O": 2.0}), "bilstm-sapo takes all tokens alike"),
    ):
        with pytest.raises(SapoError, match=message):
            wrong()


def test_a_model_file_whose_parts_do_not_fit_is_refused(tagger: sapo.Tagger, tmp_path: Path) -> None:
    from sapo.tagger.arrayfile import load_arrays, save_arrays

    path = tmp_path / "model"
    tagger.save(path)
    header, arrays = load_arrays(path, "a model")
    for changed in (
        {"network.linear.bias": arrays["network.linear.bias"][:-1]},
        {"network.words.weight": arrays["network.words.weight"][:-1]},
        {"network.linear.bias": arrays["network.linear.bias"].astype(np.float64)},
    ):
        save_arrays(path, header, {**arrays, **changed})
        with pytest.raises(SapoError, match="its parts do not fit together"):
            sapo.Tagger.load(path)
    for key, value in (("learner", "bilstm-xyz"), ("labels", 10**9), ("options", {"hidden": -1})):
        save_arrays(path, {**header, "encoder": {**header["encoder"], key: value}}, arrays)
        with pytest.raises(SapoError, match="its parts do not fit together"):
            sapo.Tagger.load(path)


def test_without_pytorch_one_line_says_what_to_install(
    tagger: sapo.Tagger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tagger.save(tmp_path / "model")
    monkeypatch.setitem(sys.modules, "torch", None)
    for needing in (train, lambda: sapo.Tagger.load(tmp_path / "model")):
        with pytest.raises(SapoError, match=r"need PyTorch.*pip install 'sapo-nlp\[neural\]'"):
            needing()


def test_pieces_and_averages_of_linear_learners_change_nothing() -> None:
    assert train("bilstm", epochs=1, average=0.5, piece=3, drop=0.1).labels == train("bilstm", epochs=1).labels
