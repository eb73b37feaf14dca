"""Constraints, rules, schemes, missing tags, weights, forced tags and biases on the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from sapo import Tagger
from sapo.tags.spans import tags_to_spans

EPOCHS = ("--epochs", "2", "-t", "chunking", "-q")


def tags_of(text: str) -> list[list[str]]:
    return [[line.split()[-1] for line in part.splitlines()] for part in text.strip().split("\n\n")]


def test_rules_are_stored_and_shown(run: Any, house: Any, tmp_path: Path) -> None:
    rules, model = tmp_path / "rules.txt", tmp_path / "m.sapo"
    rules.write_text("forbid B-PRT B-PRT  # never two\n")
    run("train", house.train, "-o", model, "--rules", rules, *EPOCHS)
    told = run("inspect", model, "--top", "0").stdout
    assert "rule: forbid B-PRT B-PRT" in told
    assert "tagging   bioes; " in told
    assert json.loads(run("inspect", model, "--json").stdout)["constraints"]["scheme"] == "bioes"


def test_constraints_can_be_left_out(run: Any, house: Any, tmp_path: Path) -> None:
    run("train", house.train, "-o", tmp_path / "m.sapo", "--set", "constraints=false", *EPOCHS)
    assert not Tagger.load(tmp_path / "m.sapo").model.parameters.bans.any()


def test_a_note_tells_once_what_is_not_valid(run: Any, house: Any, tmp_path: Path) -> None:
    odd = tmp_path / "odd.txt"
    odd.write_text(house.train.read_text() + "so RB O\nbe VB I-VP\n\n")
    told = run("train", odd, "-o", tmp_path / "m.sapo", "--epochs", "1").stderr
    assert (
        told.count("1 transition of the training data is not valid iob2, and so is allowed in the output, too (O I-VP)")
        == 1
    )
    told = run("train", odd, "-o", tmp_path / "m.sapo", "--epochs", "1", "--scheme", "iob2").stderr
    assert "1 span begins with I- in the training data and is learned as B-" in told


def test_another_scheme_inside_comes_out_as_the_file_has_it(run: Any, house: Any, tmp_path: Path) -> None:
    model = tmp_path / "m.sapo"
    run("train", house.train, "-o", model, "--scheme", "bioes", "--dev", house.test, *EPOCHS)
    found = tags_of(run("tag", model, house.test).stdout)
    assert all(isinstance(tags_to_spans(tags, "iob2"), list) for tags in found)
    table = run("eval", model, house.test).stdout
    tagged = tmp_path / "tagged.txt"
    run("tag", model, house.test, "-o", tagged)
    assert run("eval", tagged).stdout == table
    told = run("inspect", model, "--label", "B-NP", "--top", "1").stdout
    assert "E-NP (I-NP)" in told
    assert "\n  S-NP\n" in told


def test_missing_tags_of_a_file_may_be_any(run: Any, house: Any, tmp_path: Path) -> None:
    partly = tmp_path / "partly.txt"
    lines = house.train.read_text().splitlines()
    partly.write_text(
        "\n".join(line[: line.rindex(" ")] + " _" if line and i % 5 == 0 else line for i, line in enumerate(lines))
    )
    model = tmp_path / "m.sapo"
    run("train", partly, "-o", model, "--missing", "_", *EPOCHS)
    assert "_" not in Tagger.load(model).labels
    run("train", partly, "-o", tmp_path / "b.sapo", "--missing", "_", "--scheme", "bioes", *EPOCHS)
    assert run("tag", tmp_path / "b.sapo", house.test, "-q").stdout.count("B-NP")
    told = run("train", house.train, "-o", model, "--missing", "_", "--dev", partly, *EPOCHS, ends=2).stderr
    assert told.startswith(f"sapo: {partly}: some tags are missing ('_')")
    run("train", "--continue", model, partly, "-o", tmp_path / "n.sapo", "--missing", "_", "--epochs", "1")
    assert "_" not in Tagger.load(tmp_path / "n.sapo").labels


@pytest.mark.parametrize("weights", ["balanced", "B-NP=2,O=0.5"])
def test_class_weights_are_taken(run: Any, house: Any, tmp_path: Path, weights: str) -> None:
    run("train", house.train, "-o", tmp_path / "m.sapo", "--class-weight", weights, *EPOCHS)
    run("train", "--continue", house.model, house.test, "-o", tmp_path / "n.sapo", "--class-weight", weights)
    run("train", "--continue", house.model, house.test, "-o", tmp_path / "o.sapo")
    assert (tmp_path / "n.sapo").read_bytes() != (tmp_path / "o.sapo").read_bytes()
    plain, weighted = Tagger.load(house.model).model, Tagger.load(tmp_path / "m.sapo").model
    assert plain.parameters.nonzero != weighted.parameters.nonzero


def test_forced_tags_come_from_a_column(run: Any, house: Any, tmp_path: Path) -> None:
    forced = tmp_path / "forced.txt"
    forced.write_text("It PRP _\nrains VBZ B-NP\n\nA DT _\ndog NN _\n\n")
    for more in ((), ("--threads", "2")):
        found = tags_of(run("tag", house.model, forced, "--forced", "2", *more).stdout)
        assert found[0][1] == "B-NP"
    assert found[1] == tags_of(run("tag", house.model, forced).stdout)[1]
    ranked = run("tag", house.model, forced, "--forced", "-1", "--nbest", "3").stdout
    assert all(line.split()[-1] == "B-NP" for line in ranked.splitlines() if line.startswith("rains"))


@pytest.mark.parametrize(
    ("lines", "column", "message"),
    [
        ("It PRP _\nrains VBZ B-QQ\n\n", "2", "forced.txt:2: the model has no label 'B-QQ' to force"),
        ("It PRP _\n\nrains VBZ I-VP\n\n", "2", "forced.txt:3: no tagging of this sentence has the forced tags"),
        ("It PRP _\n\n", "7", "forced.txt: there is no column 7"),
    ],
)
def test_forced_tags_that_cannot_be(
    run: Any, house: Any, tmp_path: Path, lines: str, column: str, message: str
) -> None:
    (tmp_path / "forced.txt").write_text(lines)
    told = run("tag", house.model, "forced.txt", "--forced", column, ends=2, cwd=tmp_path).stderr
    assert told.startswith(f"sapo: {message}")
    assert told.count("\n") == 1


def test_a_bias_on_o_finds_fewer_spans(run: Any, house: Any) -> None:
    def outside(*options: str) -> int:
        return sum(tag == "O" for tags in tags_of(run("tag", house.model, house.test, *options).stdout) for tag in tags)

    assert outside("--bias-o", "3") == outside("--bias", "O=3") > outside() >= outside("--bias-o", "-3")
    assert outside("--bias", "B-NP=1,I-NP=1", "--bias", "O=-1") <= outside()


def test_the_curve_is_printed_and_drawn(run: Any, house: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    svg = tmp_path / "f.svg"
    lines = run("eval", house.model, house.test, "--curve", "--plot", svg).stdout.splitlines()
    assert lines[0].split() == ["bias", "precision", "recall", "F1", "found"]
    assert sum(line.endswith("best F1") for line in lines) == 1
    assert svg.read_text().startswith("<?xml")
    points = json.loads(run("eval", house.model, house.test, "--curve", "--json").stdout)
    assert [point["bias"] for point in points] == sorted(point["bias"] for point in points)
    assert points[0]["recall"] >= points[-1]["recall"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "TRAIN", "-o", "m", "--rules", "none.txt"), "none.txt: "),
        (
            ("train", "TRAIN", "-o", "m", "--scheme", "bio"),
            "--scheme must be one of iob2, bioes, bilou, bmes, keep, auto, not bio",
        ),
        (("train", "TRAIN", "-o", "m", "--class-weight", "B-NP"), "--class-weight must be 'balanced' or"),
        (("train", "TRAIN", "-o", "m", "--class-weight", "B-NP=x"), "--class-weight must be LABEL=NUMBER"),
        (
            ("train", "--continue", "MODEL", "TRAIN", "-o", "m", "--scheme", "bioes"),
            "--continue keeps the rules and the scheme of the model",
        ),
        (
            ("train", "--continue", "MODEL", "TRAIN", "-o", "m", "--learner", "crf"),
            "--continue trains as before; leave --learner out",
        ),
        (
            ("train", "--continue", "MODEL", "TRAIN", "-o", "m", "--min-count", "3"),
            "--continue trains as before; leave --min-count out",
        ),
        (("train", "--continue", "MODEL", "TRAIN", "-o", "m", "--rate", "auto"), "--continue cannot choose a rate"),
        (("tag", "MODEL", "TEST", "--bias", "O"), "--bias must be LABEL=NUMBER, as O=0.5, not 'O'"),
        (("tag", "MODEL", "TEST", "--bias", "=2"), "--bias must be LABEL=NUMBER"),
        (("tag", "MODEL", "TEST", "--bias", "Q=2"), "bias: the model has no label 'Q'"),
        (("tag", "MODEL", "TEST", "--bias", "O=1", "--bias-o", "1"), "--bias-o and --bias O=... say the same"),
        (
            ("train", "TRAIN", "-o", "m", "--class-weight", "O=1,O=2"),
            "--class-weight has two weights for 'O'; give one",
        ),
        (("eval", "TEST", "--curve"), "--curve needs a model: sapo eval MODEL FILE"),
        (("eval", "MODEL", "TEST", "--curve", "--plot", "c.pdf"), "c.pdf: a figure must be an .svg or .png file"),
    ],
)
def test_mistakes(run: Any, house: Any, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    files = {"TRAIN": house.train, "MODEL": house.model, "TEST": house.test}
    told = run(*(files.get(one, one) for one in arguments), ends=2, cwd=tmp_path).stderr.splitlines()
    assert told[-1].startswith(f"sapo: {message}")


def test_biases_of_one_label_add_up(run: Any, house: Any) -> None:
    tag = ("tag", house.model, house.test, "--marginals")
    summed = run(*tag, "--bias", "O=3").stdout
    assert run(*tag, "--bias", "O=1", "--bias", "O=2").stdout == summed
    assert run(*tag, "--bias", "O=2").stdout != summed


def test_a_curve_is_drawn_as_its_name_says(run: Any, house: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run("eval", house.model, house.test, "--curve", "--plot", tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_the_label_may_be_named_for_a_model_that_knows_its_columns(run: Any, house: Any) -> None:
    usual = run("eval", house.model, house.test).stdout
    for label in ("2", "-1", "chunk", "label"):
        assert run("eval", house.model, house.test, "--label", label).stdout == usual
    told = run("eval", house.model, house.test, "--label", "1", ends=2).stderr
    assert "has no column 'pos', which the features need" in told
