"""sapo compare reads tags in any form, tells what it finds, and where files do not fit."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapo.cli.compare import compare_command

GOLD = "The DT B-NP\ncat NN I-NP\nsleeps VBZ B-VP\n\nIt PRP B-NP\npurrs VBZ B-VP\n"
GOOD = "B-NP\nI-NP\nB-VP\n\nB-NP\nO\n"
BAD = "B-NP\nB-NP\nO\n\nO\nO\n"


@pytest.fixture
def room(tmp_path: Path) -> Path:
    (tmp_path / "gold.txt").write_text(GOLD)
    (tmp_path / "good.tags").write_text(GOOD)
    (tmp_path / "bad.tags").write_text(BAD)
    return tmp_path


def test_two_systems_are_compared(run: Any, room: Path) -> None:
    told = run("compare", "good.tags", "bad.tags", "gold.txt", cwd=room).stdout.splitlines()
    assert told == [
        "2 sentences, 5 tokens",
        "           precision  recall     F1  accuracy",
        "good.tags     100.00   75.00  85.71     80.00",
        "bad.tags        0.00    0.00   0.00     20.00",
        "",
        "good.tags against  difference  differ in  wins  loses       p",
        "bad.tags               +85.71          2     2      0  0.5000",
        "",
        "good.tags: no significant difference in F1 from bad.tags",
    ]


def test_tags_may_come_in_any_form(run: Any, room: Path) -> None:
    expected = json.loads(run("compare", "good.tags", "bad.tags", "gold.txt", "--json", cwd=room).stdout)["comparisons"]
    words, tags = GOLD.splitlines(), GOOD.splitlines()
    appended = "".join(f"{a} {b} x\n" if a else "\n" for a, b in zip(words, tags, strict=True))
    (room / "good.txt").write_text(appended)
    (room / "gold.tags").write_text("".join(f"{line.split()[-1] if line else ''}\n" for line in words))
    rows = [[line.split() for line in part.splitlines()] for part in GOLD.split("\n\n")]
    (room / "gold.jsonl").write_text(
        "".join(json.dumps({"tokens": [t[0] for t in row], "chunk": [t[2] for t in row]}) + "\n" for row in rows)
    )
    for gold in (["gold.tags"], ["gold.jsonl", "--gold-column", "chunk"], ["gold.txt", "--gold-column", "-1"]):
        told = run("compare", "good.txt", "bad.tags", *gold, "--column", "3", "--json", cwd=room).stdout
        (found,) = json.loads(told)["comparisons"]
        assert {**found, "a": "good.tags"} == expected[0]


def test_several_systems_come_in_rows(run: Any, room: Path) -> None:
    told = run("compare", "good.tags", "bad.tags", "gold.txt", "gold.txt", cwd=room).stdout
    assert told.splitlines()[6].split()[:5] == ["good.tags", "against", "difference", "differ", "in"]
    assert told.endswith("\ngood.tags: no significant difference in F1 from bad.tags, gold.txt\n")


def test_the_rounds_and_the_seed_are_those_that_were_asked_for(run: Any, room: Path) -> None:
    # each sentence differs by another number of right tags, so that there are too many swaps to look at all
    sizes = range(1, 15)
    (room / "gold.tags").write_text("".join("X\n" * size + "\n" for size in sizes))
    (room / "a.tags").write_text("".join(("X\n" if size % 3 else "Y\n") * size + "\n" for size in sizes))
    (room / "b.tags").write_text("".join(("Y\n" if size % 3 else "X\n") * size + "\n" for size in sizes))
    always = ("compare", "a.tags", "b.tags", "gold.tags", "--rounds", 500)
    told = run(*always, "--seed", 3, cwd=room).stdout
    assert json.loads(run(*always, "--json", cwd=room).stdout)["comparisons"][0]["randomization"]["rounds"] == 500
    assert run(*always, "--seed", 3, cwd=room).stdout == told
    assert run(*always, "--seed", 4, cwd=room).stdout != told


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        (
            "short.tags",
            "B-NP\nI-NP\n\nB-NP\nO\n",
            "short.tags:1: sentence 1 has 2 tags, but 3 in gold (gold.txt:1);",
        ),
        (
            "long.tags",
            "\n\nB-NP\nI-NP\nB-VP\n\n\nB-NP\nO\nO\n",
            "long.tags:8: sentence 2 has 3 tags, but 2 in gold (gold.txt:5);",
        ),
        (
            "more.tags",
            GOOD + "\nO\n",
            "more.tags:8: sentence 3 is not in gold.txt, which has 2;",
        ),
        (
            "fewer.tags",
            "B-NP\nI-NP\nB-VP\n",
            "gold.txt:5: sentence 2 is not in fewer.tags, which has 1;",
        ),
        ("empty.tags", "\n\n", "empty.tags: has no sentences"),
        ("missing.tags", None, "missing.tags: no such file"),
        ("uneven.tags", "B-NP\nI-NP I-NP\n", "uneven.tags:2: expected 1 column, found 2 ('I-NP I-NP')"),
    ],
)
def test_files_that_do_not_fit_are_told_with_the_place(
    run: Any, room: Path, name: str, content: str | None, complaint: str
) -> None:
    if content is not None:
        (room / name).write_text(content)
    for systems in (("good.tags", name), (name, "good.tags")):
        done = run("compare", *systems, "gold.txt", ends=2, cwd=room)
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"sapo: {complaint}")
        assert done.stdout == ""


def test_the_place_is_right_in_long_files_too(run: Any, room: Path) -> None:
    # longer than the pieces in which files are read
    sentence = "a-rather-long-word-to-fill-the-file X\nb Y\n\n"
    (room / "gold.txt").write_text(sentence * 60_000)
    (room / "a.txt").write_text(sentence * 59_990 + "a X\n\n" + sentence * 9)
    done = run("compare", "a.txt", "gold.txt", "gold.txt", ends=2, cwd=room)
    assert done.stderr.startswith("sapo: a.txt:179971: sentence 59991 has 1 tag, but 2 in gold (gold.txt:179971)")


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (("good.tags", "gold.txt"), "needs the tags of at least two systems, found 1"),
        (("good.tags", "bad.tags", "gold.txt", "--gold-column", "7"), "gold.txt: there is no column 7; it has 3, "),
        (("gold.txt", "bad.tags", "gold.txt", "--column", "lemma"), "gold.txt: there is no column 'lemma'; "),
        (("good.tags", "bad.tags", "gold.txt", "--rounds", "0"), "0 is not in the range x>=1"),
        (("good.tags", "bad.tags", "gold.txt", "--seed", "-1"), "-1 is not in the range x>=0"),
        (("good.tags",), "missing argument"),
    ],
)
def test_mistakes_in_the_call_are_told(run: Any, room: Path, args: tuple[str, ...], complaint: str) -> None:
    done = run("compare", *args, ends=2, cwd=room)
    assert complaint in done.stderr
    assert done.stdout == ""


def test_a_file_without_empty_lines_is_one_sentence_and_that_is_told(run: Any, room: Path) -> None:
    for name in ("good.tags", "bad.tags", "gold.txt"):
        text = (room / name).read_text()
        (room / name).write_text(text.replace("\n\n", "\n"))
    done = run("compare", "good.tags", "bad.tags", "gold.txt", ends=2, cwd=room)
    assert done.stderr == "sapo: compare: needs at least 2 sentences, found 1; an empty line ends a sentence\n"


def test_a_long_test_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told: list[str] = []
    monkeypatch.setattr("sapo.cli.options.Ticker.tell", lambda _, message: told.append(message))
    rng = np.random.default_rng(1)
    for name in ("a", "b", "gold"):
        tags = rng.choice(["A", "B", "C"], (400, 6))
        (tmp_path / name).write_text("\n\n".join("\n".join(sentence) for sentence in tags) + "\n")
    compare_command.main([str(tmp_path / name) for name in ("a", "b", "gold")], standalone_mode=False)
    assert len(told) > 1
    assert told[-1] == "randomization test: 10,000 of 10,000 rounds"


def test_models_tag_the_gold_file_themselves(run: Any, house: Any, tmp_path: Path) -> None:
    other, tagged = tmp_path / "other.sapo", tmp_path / "tagged.txt"
    run("train", house.train, "-o", other, "--epochs", "1", "-q")
    run("tag", other, house.test, "-o", tagged)
    by_models = json.loads(run("compare", house.model, other, house.test, "--json").stdout)
    by_file = json.loads(run("compare", house.model, tagged, house.test, "--json").stdout)
    for result in (by_models, by_file):
        for system in result["systems"]:
            system.pop("name", None)
    assert json.dumps(by_models).replace(str(other), "") == json.dumps(by_file).replace(str(tagged), "")
    scores = json.loads(run("eval", other, house.test, "--json").stdout)
    assert by_models["systems"][1]["main"]["value"] == pytest.approx(scores["main"]["value"])


def test_the_label_of_a_model_need_not_be_in_the_last_column(run: Any, house: Any, tmp_path: Path) -> None:
    model = tmp_path / "pos.sapo"
    run("train", house.train, "-o", model, "--label", "1", "--template", "pos", "--epochs", "2", "-q")
    result = json.loads(run("compare", model, model, house.test, "--json").stdout)
    scores = json.loads(run("eval", model, house.test, "--json").stdout)
    assert result["systems"][0]["main"]["value"] == pytest.approx(scores["main"]["value"])


def test_a_gold_file_that_is_a_model_is_refused(run: Any, house: Any) -> None:
    done = run("compare", house.test, house.test, house.model, ends=2)
    assert "the gold file comes last" in done.stderr


def test_a_model_of_another_task_is_refused(run: Any, house: Any, room: Path) -> None:
    (room / "pos.txt").write_text("The X DT\ncat X NN\n")
    assert "none of its labels" in run("compare", house.model, house.model, "pos.txt", cwd=room, ends=2).stderr


def test_models_cannot_tag_standard_input(run: Any, house: Any) -> None:
    assert "more than once" in run("compare", house.model, house.model, "-", input=GOLD, ends=2).stderr
