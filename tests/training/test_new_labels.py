"""Labels that a model does not know are refused, unless the user wants them."""

from collections.abc import Callable
from pathlib import Path

import pytest

import sapo
from sapo.errors import SapoError

ENTITIES = [(["Anna", "sees", "Oslo"], ["B-PER", "O", "B-LOC"]), (["Bo", "Li", "left"], ["B-PER", "I-PER", "O"])]
TAGS = [(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])]
Make = Callable[[], sapo.Trainer]


@pytest.fixture(scope="module")
def entities() -> sapo.Tagger:
    return sapo.train(ENTITIES, template="ner", epochs=2)


def test_a_typing_error_is_refused_and_the_near_label_named(entities: sapo.Tagger) -> None:
    trainer = sapo.Trainer(entities)
    with pytest.raises(SapoError, match=r"label 'B-PRE'; did you mean 'B-PER'\? Otherwise, .*new_labels=True"):
        trainer.update([(["Eve"], ["B-PRE"])])
    assert trainer.tagger.labels == entities.labels
    assert trainer.snapshot().labels == entities.labels


def test_a_new_label_is_learned_on_request(entities: sapo.Tagger) -> None:
    trainer = sapo.Trainer(entities)
    trainer.update([(["Titanic"], ["B-SHIP"])], new_labels=True)
    assert trainer.tagger.tag(["Titanic"]) == ["B-SHIP"]


def test_a_known_type_with_another_letter_is_not_new(entities: sapo.Tagger) -> None:
    trainer = sapo.Trainer(entities)
    trainer.update([(["New", "York"], ["B-LOC", "I-LOC"])])
    assert "I-LOC" in trainer.tagger.labels


def test_data_of_another_task_is_refused(entities: sapo.Tagger) -> None:
    with pytest.raises(SapoError, match=r"2 labels \('DT', 'NN'\); is this data of another task\?"):
        sapo.Trainer(entities).update(TAGS)


def test_the_line_of_a_new_label_is_named(entities: sapo.Tagger, tmp_path: Path) -> None:
    path = tmp_path / "new.txt"
    path.write_text("Anna\tB-PER\nrests\tO\n\nEve\tB-PRE\n\n", "utf-8")
    with pytest.raises(SapoError, match=r"new\.txt:4: the model does not know the label 'B-PRE'"):
        sapo.Trainer(entities).update(path)


def test_a_mark_of_a_missing_tag_is_no_new_label(entities: sapo.Tagger) -> None:
    sapo.Trainer(entities).update([(["Eve", "rests"], ["B-PER", "?"])], missing="?")


@pytest.mark.parametrize("lines", ["a\tDT\ndog\tNN\n", "a\tO\ndog\tB-NP\n"])
def test_evaluation_without_a_label_in_common_is_refused(entities: sapo.Tagger, tmp_path: Path, lines: str) -> None:
    path = tmp_path / "test.txt"
    path.write_text(lines, "utf-8")
    with pytest.raises(SapoError, match=r"test\.txt: the model knows none of its labels .* it has .*'B-LOC'"):
        entities.evaluate(path)


@pytest.mark.parametrize("lines", ["Anna\tB-PER\nsees\tB-SHIP\n", "it\tO\n", "Anna\tI-PER\n"])
def test_some_labels_in_common_are_evaluated(entities: sapo.Tagger, tmp_path: Path, lines: str) -> None:
    path = tmp_path / "test.txt"
    path.write_text(lines, "utf-8")
    assert entities.evaluate(path).tokens == lines.count("\n")
