"""Networks in threads, with little data, empty sentences, numbers of NumPy, and runs that go on."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiny_network import PAIRS, SENTENCE, SMALL, train

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import sapo  # noqa: E402
from sapo.errors import SapoError  # noqa: E402
from sapo.learn.settings import Settings  # noqa: E402
from sapo.neural.options import NeuralOptions  # noqa: E402
from sapo.sklearn.labeler import SequenceLabeler  # noqa: E402
from sapo.tagger.inspect import describe  # noqa: E402
from sapo.training.run import read_data, train_on  # noqa: E402


@pytest.fixture(scope="module")
def tagger() -> sapo.Tagger:
    return train()


def test_taggings_do_not_depend_on_the_threads(tagger: sapo.Tagger, tmp_path: Path) -> None:
    tagger.save(tmp_path / "model")
    sentences = [tokens for tokens, _ in PAIRS] * 20
    expected = [array.tolist() for array in tagger.marginal_arrays(sentences)]
    for _ in range(5):
        loaded = sapo.Tagger.load(tmp_path / "model")
        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(loaded.marginal_arrays, [sentences] * 4):
                assert [array.tolist() for array in found] == expected


def test_tagging_leaves_the_threads_of_others_as_they_are(tagger: sapo.Tagger) -> None:
    torch.set_num_threads(2)
    try:
        tagger.tag(SENTENCE)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize("chars", ["cnn", "lstm"])
def test_an_empty_sentence_and_an_empty_word_are_read_by_their_characters(chars: str) -> None:
    tagger = train(chars=chars, epochs=1)
    assert tagger.tag([]) == []
    assert tagger.tag_many([[], SENTENCE]) == [[], tagger.tag(SENTENCE)]
    (row,) = tagger.marginal_arrays([[("", "NN")]])
    assert np.isfinite(row).all()


def test_a_run_on_sentences_of_one_token_can_be_resumed(tmp_path: Path) -> None:
    """Transitions have no gradient there, and Adam nothing to keep of them."""
    prepared = read_data([(["yes"], ["A"]), (["no"], ["B"])] * 3, template="pos", keep_texts=True)
    settings, options = Settings(epochs=2, tolerance=0.0), NeuralOptions(**SMALL)
    for epochs in (2, 4):
        outcome = train_on(
            prepared,
            dataclasses.replace(settings, epochs=epochs),
            learner="bilstm-sapo",
            network=options,
            checkpoint=tmp_path / "state",
            resume=True,
        )
    assert [record.epoch for record in outcome.history] == [1, 2, 3, 4]


def test_little_data_is_learned_by_the_defaults() -> None:
    """With batches of 32 there would be one step a pass."""
    tagger = sapo.train(PAIRS, template="chunking", learner="bilstm-crf", tolerance=0.0)
    assert [tagger.tag(tokens) for tokens, _ in PAIRS] == [tags for _, tags in PAIRS]
    assert tagger.model.encoder.network.options.batch == 1


def test_numbers_of_numpy_are_taken(tmp_path: Path) -> None:
    tagger = train(epochs=1, batch=np.int64(2), hidden=np.int32(6), dropout=np.float32(0.25))
    tagger.save(tmp_path / "model")
    assert sapo.Tagger.load(tmp_path / "model").model.encoder.network.options.batch == 2


def test_a_checkpoint_made_with_another_option_says_which(tmp_path: Path) -> None:
    prepared = read_data(PAIRS, template="chunking", keep_texts=True)
    given: dict[str, Any] = {"learner": "bilstm", "checkpoint": tmp_path / "state", "resume": True}
    train_on(prepared, Settings(epochs=1), network=NeuralOptions(**SMALL), **given)
    other = NeuralOptions(**{**SMALL, "hidden": 9})
    with pytest.raises(SapoError, match=r"was made with hidden 8 \(now 9\)"):
        train_on(prepared, Settings(epochs=1), network=other, **given)


def test_a_checkpoint_made_without_a_margin_says_so(tmp_path: Path) -> None:
    prepared = read_data(PAIRS, template="chunking", keep_texts=True)
    given: dict[str, Any] = {"learner": "bilstm-sapo", "checkpoint": tmp_path / "state", "resume": True}
    train_on(prepared, Settings(epochs=1), network=NeuralOptions(**SMALL, margin=0), **given)
    train_on(prepared, Settings(epochs=2), network=NeuralOptions(**SMALL, margin=0), **given)
    with pytest.raises(SapoError, match=r"was made with margin .* \(now 0.5\)"):
        train_on(prepared, Settings(epochs=2), network=NeuralOptions(**SMALL), **given)


def test_what_was_used_is_written_down(tagger: sapo.Tagger) -> None:
    options = tagger.model.encoder.header()["options"]
    assert (options["token_loss"], options["margin"]) == (0.1, 0.5)
    assert "margin" not in train(margin=0, epochs=1).model.encoder.header()["options"]
    assert describe(train("bilstm", epochs=1).model)["strongest_transitions"] == []


def test_an_estimator_takes_the_options_of_a_network() -> None:
    labeler = SequenceLabeler(
        template="chunking",
        learner="bilstm-sapo",
        epochs=12,
        rate=0.02,
        settings={**SMALL, "dropout": 0.1, "tolerance": 0.0},
    )
    labeler.fit([tokens for tokens, _ in PAIRS], [tags for _, tags in PAIRS])
    assert labeler.predict([SENTENCE]).tolist() == [PAIRS[0][1]]
    with pytest.raises(SapoError, match="only for the neural learners"):
        SequenceLabeler(settings={"batch": 2}).fit([["a"]], [["B"]])
