"""Probabilities on the command line: tag --marginals, tag --spans, eval --calibration, calibrate."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import sapo

TEXT = "The DT\ncat NN\nsleeps VBZ\n\nIt PRP\n"


def test_marginals_are_the_probabilities_of_the_tags(run: Any, house: Any) -> None:
    told = run("tag", house.model, "--marginals", input=TEXT).stdout
    rows = [line.split() for line in told.split("\n\n")[0].splitlines()]
    tagger = sapo.Tagger.load(house.model)
    sentence = [("The", "DT"), ("cat", "NN"), ("sleeps", "VBZ")]
    assert [row[2] for row in rows] == tagger.tag(sentence)
    for row, shares in zip(rows, tagger.marginals(sentence), strict=True):
        assert float(row[3]) == pytest.approx(shares[row[2]], abs=1e-6)


def test_spans_come_with_their_probabilities(run: Any, house: Any) -> None:
    record = {"tokens": ["The", "cat", "sleeps"], "pos": ["DT", "NN", "VBZ"]}
    told = json.loads(run("tag", house.model, "--spans", "--format", "jsonl", input=json.dumps(record)).stdout)
    expected = sapo.Tagger.load(house.model).spans(list(zip(record["tokens"], record["pos"], strict=True)))
    assert [(span["start"], span["end"], span["label"]) for span in told["token_spans"]] == [
        (span.start, span.end, span.type) for span in expected
    ]
    assert [span["probability"] for span in told["token_spans"]] == pytest.approx(
        [span.probability for span in expected], abs=1e-6
    )
    columns = run("tag", house.model, "--spans", input=TEXT, env={}).stdout.splitlines()
    assert float(columns[0].split()[3]) == pytest.approx(expected[0].probability, abs=1e-6)


def test_outputs_that_exclude_each_other_are_told(run: Any, house: Any, tmp_path: Path) -> None:
    done = run("tag", house.model, "--spans", "--nbest", 2, ends=2, input=TEXT)
    assert done.stderr == "sapo: --nbest, --marginals and --spans are different outputs; choose one\n"
    sapo.train([(["a", "dog"], ["DT", "NN"])], template="pos", epochs=1).save(tmp_path / "pos.sapo")
    done = run("tag", tmp_path / "pos.sapo", "--spans", "-o", tmp_path / "out", ends=2, input="a\n")
    assert "spans need labels such as B-NP; this model predicts" in done.stderr
    assert not (tmp_path / "out").exists()


def test_calibration_is_measured_fitted_and_drawn(run: Any, house: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    before = run("eval", house.model, house.test, "--calibration").stdout
    plain = run("eval", house.model, house.test).stdout
    start = sapo.Tagger.load(house.model).model.temperature
    assert before.startswith(f"{plain}\ncalibration at temperature {start:.4g}\n")
    names = re.findall(r"^ *(\w+, [a-z0-9 ]*?[a-z0-9])\s{2,}\d+ ", before.removeprefix(plain), re.MULTILINE)
    assert names == [
        f"{what}, {over}" for over in ("all taggings", "top 5") for what in ("tokens", "spans", "sentences")
    ]

    warm, picture = tmp_path / "warm.sapo", tmp_path / "diagram.svg"
    done = run("calibrate", house.model, house.test, "-o", warm)
    temperature = sapo.Tagger.load(warm).model.temperature
    assert done.stdout == ""
    assert f"temperature {start:.3g} -> {temperature:.3g}\n" in done.stderr
    assert f"temperature {temperature:.4g}" in run("inspect", warm).stdout
    assert temperature != start == sapo.Tagger.load(house.model).model.temperature

    told = run("eval", warm, house.test, "--calibration", "--nbest", 2, "--json", "--plot", picture).stdout
    found = json.loads(told)["calibration"]
    assert (found["temperature"], found["n"]) == (temperature, 2)
    rows = {what: row["ece"] for what, row in found["exact"].items()}
    assert set(rows) == set(found["top_n"]) == {"tokens", "spans", "sentences"}
    assert picture.read_text().lstrip().startswith("<?xml")
    # the tags are the same
    assert run("tag", warm, house.test).stdout == run("tag", house.model, house.test).stdout


def test_without_a_name_the_model_itself_is_calibrated(run: Any, house: Any, tmp_path: Path) -> None:
    model = tmp_path / "chunk.sapo"
    model.write_bytes(house.model.read_bytes())
    done = run("calibrate", model, house.test, "--by", "sentences", "-q")
    assert (done.stdout, done.stderr) == ("", "")
    assert sapo.Tagger.load(model).model.temperature != sapo.Tagger.load(house.model).model.temperature


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["--calibration"], "--calibration needs the probabilities of a model: sapo eval MODEL FILE"),
        (["--plot", "a.svg"], "--plot draws what --calibration or --curve measures"),
        (["MODEL", "--calibration", "--plot", "a.pdf"], "a.pdf: a figure must be an .svg or .png file"),
        (["MODEL", "--calibration", "--nbest", "0"], "--nbest must be at least 1, not 0"),
    ],
)
def test_mistakes_of_the_user_are_one_line(run: Any, house: Any, args: list[str], complaint: str) -> None:
    done = run("eval", *(str(house.model) if arg == "MODEL" else arg for arg in args), house.test, ends=2)
    assert done.stderr.startswith(f"sapo: {complaint}")
    assert done.stderr.count("\n") == 1


def test_calibration_from_a_pipe_is_refused(run: Any, house: Any) -> None:
    done = run("eval", house.model, "-", "--calibration", ends=2, input=TEXT)
    assert (
        done.stderr == "sapo: --calibration reads the file twice; save standard input to a file first, and give that\n"
    )
