"""A run of samples that takes long is learned in parts, with the same result."""

import numpy as np
import pytest

import sapo
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.errors import SapoError
from sapo.learn import loop


@pytest.mark.parametrize("learner", ["sapo", "crf", "perceptron", "mira-nbest"])
def test_parts_of_a_run_give_the_same_weights(monkeypatch: pytest.MonkeyPatch, learner: str) -> None:
    def weights() -> list[bytes]:
        data = list(sapo.read(sample_path("train"), columns=COLUMNS, label="pos"))[:30]
        sentences = [(one.words, one.tags) for one in data]
        tagger = sapo.train(sentences, template="pos", learner=learner, epochs=2, rate=0.1, strength=1.0, average=0)
        return [block.tobytes() for block in tagger.model.parameters.blocks]

    whole = weights()
    sizes = []
    cut = loop.parts_of

    def noted(*arguments: object) -> list[np.ndarray]:
        parts = cut(*arguments)
        sizes.append(len(parts))
        return parts

    monkeypatch.setattr(loop, "STEPS_PER_CALL", 100_000)
    monkeypatch.setattr(loop, "parts_of", noted)
    assert weights() == whole
    assert max(sizes) > 1


@pytest.mark.parametrize(("learner", "n", "most"), [("sapo", 100_000, 1000), ("mira-nbest", 101, 100)])
def test_an_n_that_would_take_hours_is_refused(learner: str, n: int, most: int) -> None:
    with pytest.raises(SapoError, match=f"^n must be at most {most}.*, not {n}"):
        sapo.train([(["a"], ["X"])], template="pos", learner=learner, n=n)
