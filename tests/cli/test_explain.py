"""sapo explain as a user runs them."""

import json
from pathlib import Path
from typing import Any

import pytest

import sapo

SENTENCE = "The/DT old/JJ town/NN sleeps/VBZ ./."


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that looks at words only."""
    path = tmp_path_factory.mktemp("words") / "pos.sapo"
    pairs = [(["the", "cat", "sleeps", "."], ["D", "N", "V", "."]), (["a", "dog", "barks", "."], ["D", "N", "V", "."])]
    sapo.train(pairs, template="pos").save(path)
    return path


def test_text_is_split_and_explained(run: Any, words: Path) -> None:
    lines = run("explain", words, "the dog sleeps.", "--token", 3, "--top", 4).stdout.splitlines()
    assert lines[0].startswith("token 3, sleeps: V against ")
    assert lines[4].split()[:4] == ["the", "dog", "sleeps", "."]
    start = next(number for number, line in enumerate(lines) if line.startswith("difference"))
    table = [line.split() for line in lines[start + 1 :]]
    assert "others" in table[4]
    assert sum(float(row[0]) for row in table[:-1]) == pytest.approx(float(table[-1][0]), abs=0.001)


def test_columns_are_joined_by_slashes_or_come_from_a_file(run: Any, house: Any, tmp_path: Path) -> None:
    file = tmp_path / "one.txt"
    file.write_text("No DT\n\n" + "\n".join(pair.replace("/", " ") for pair in SENTENCE.split()) + "\n")
    typed = run("explain", house.model, SENTENCE, "--token", 2, "--json").stdout
    assert run("explain", house.model, "--file", file, "--sentence", 2, "--token", 2, "--json").stdout == typed
    told = json.loads(typed)
    assert told["words"] == ["The", "old", "town", "sleeps", "."]
    assert told["token"] == 1
    tokens = [tuple(pair.split("/")) for pair in SENTENCE.split()]
    assert told["tags"] == sapo.Tagger.load(house.model).tag(tokens)


def test_the_tag_and_its_rival_can_be_named(run: Any, house: Any) -> None:
    why = ("explain", house.model, SENTENCE, "--token", 1)
    told = json.loads(run(*why, "--tag", "O", "--against", "B-VP", "--json").stdout)
    assert (told["tag"], told["rival"], told["chosen"]) == ("O", "B-VP", "B-NP")


def test_a_page_is_written_beside_the_text(run: Any, house: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run("explain", house.model, SENTENCE, "--token", 2, "--html", page)
    assert done.stderr == f"wrote {page}\n"
    assert done.stdout.startswith("token 2, old: ")
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert run("explain", house.model, SENTENCE, "--token", 2, "--html", "-", "-q").stdout == page.read_text("utf-8")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((SENTENCE, "--token", 0), "--token 0: the sentence has the tokens 1 to 5 (1:The 2:old"),
        ((SENTENCE, "--token", 6), "--token 6: the sentence has the tokens 1 to 5"),
        ((SENTENCE, "--token", 1, "--tag", "B-PN"), "the model has no label 'B-PN'; did you mean"),
        ((SENTENCE, "--token", 1, "--against", "B-PN"), "the model has no label 'B-PN'; did you mean"),
        (("", "--token", 1), "the sentence has no tokens"),
        (("--token", 1), "give a sentence, or --file FILE"),
        (("The cat", "--token", 1), "token 1: this model needs word/pos, found 'The'"),
        (("The/ cat/NN", "--token", 1), "token 1: this model needs word/pos, found 'The/'"),
        ((SENTENCE, "--token", 1, "--file", "x"), "give either a sentence or --file"),
        (("--file", "no.txt", "--token", 1), "no.txt: no such file"),
        ((SENTENCE, "--token", 1, "--html", "/no/page.html"), "/no/page.html: cannot be written"),
        ((b"caf\xe9/NN", "--token", 1), "the sentence is not UTF-8"),
    ],
)
def test_mistakes_are_one_line(run: Any, house: Any, args: tuple[Any, ...], message: str) -> None:
    shell = [arg.decode("utf-8", "surrogateescape") if isinstance(arg, bytes) else arg for arg in args]
    done = run("explain", house.model, *shell, ends=2)
    assert done.stderr.startswith(f"sapo: {message}")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_sentence_past_the_end_of_the_file_is_told(run: Any, house: Any) -> None:
    done = run("explain", house.model, "--file", house.test, "--sentence", 11, "--token", 1, ends=2)
    assert done.stderr == f"sapo: {house.test}: there is no sentence 11; the file has 10\n"
    run("explain", house.model, "--file", house.test, "--sentence", 0, "--token", 1, ends=2)


def test_a_model_of_ready_made_features_is_explained_with_a_file(run: Any, tmp_path: Path) -> None:
    sapo.train([([["a"], ["b"]], ["X", "Y"])]).save(tmp_path / "ready.sapo")
    done = run("explain", tmp_path / "ready.sapo", "a b", "--token", 1, ends=2)
    assert "give them in a file, with --file" in done.stderr
