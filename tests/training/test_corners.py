"""What the Python side was found to do badly."""

from pathlib import Path
from typing import Any

import pytest

from sapo import Sentence
from sapo.errors import SapoError
from sapo.training.run import train


@pytest.mark.parametrize("label", [1, -1])
def test_the_number_of_the_label_column_may_be_a_number(tmp_path: Path, label: Any) -> None:
    (tmp_path / "train.txt").write_text("dog NN\n")
    assert train(tmp_path / "train.txt", label=label, epochs=1).labels == ("NN",)


def test_a_pair_among_sentences_is_named() -> None:
    mixed: list[Any] = [Sentence({"word": ("a",)}, ("X",)), (["b"], ["X"])]
    with pytest.raises(SapoError, match="training data: sentence 2 "):
        train(mixed)


@pytest.mark.parametrize("n", [2.5, "2", None, True])
def test_the_number_of_taggings_must_be_a_whole_number(n: Any) -> None:
    tagger = train([(["a", "dog"], ["D", "N"])], template="pos", epochs=1)
    with pytest.raises(SapoError, match="n must be at least 1, not "):
        tagger.nbest(["a"], n)


@pytest.mark.parametrize("options", [{"min_count": "2"}, {"min_count": 1.5}, {"learner": None}])
def test_options_of_the_wrong_type_are_named(options: dict[str, Any]) -> None:
    with pytest.raises(SapoError, match=next(iter(options))):
        train([(["a", "dog"], ["D", "N"])], template="pos", epochs=1, **options)
