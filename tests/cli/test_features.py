"""Ready-made features on the command line: attribute files and JSONL with `features` train, tag and are evaluated."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import sapo
from sapo import Tagger
from sapo.corpus.crfsuite import write_sentence
from sapo.corpus.sample import COLUMNS, sample_path

Run = Callable[..., CompletedProcess[str]]


def token_features(words: list[str], at: int) -> dict[str, Any]:
    word = words[at]
    return {
        "w": word,
        "upper": word[0].isupper(),
        "length": len(word) / 4,
        "before": words[at - 1] if at else "<s>",
        "ends": sorted({word[-1:], word[-2:]}),
    }


def pairs(part: str) -> list[tuple[list[dict[str, Any]], list[str]]]:
    found = []
    for sentence in sapo.corpus.read(sample_path(part), columns=COLUMNS, label="pos"):
        words = list(sentence.words)
        found.append(([token_features(words, at) for at in range(len(words))], list(sentence.tags or ())))
    return found[:150]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    room = tmp_path_factory.mktemp("features")
    for part in ("train", "test"):
        with (room / f"{part}.jsonl").open("w") as lines, (room / f"{part}.crfsuite").open("w") as attributes:
            for features, tags in pairs(part):
                lines.write(json.dumps({"features": features, "tags": tags}) + "\n")
                attributes.write(write_sentence(sapo.corpus.Sentence({}, tuple(tags), features=tuple(features))))
    return room


@pytest.fixture(scope="module")
def from_python() -> Tagger:
    return sapo.train(pairs("train"), dev=pairs("test"), epochs=4)


@pytest.mark.parametrize("ending", ["crfsuite", "jsonl"])
def test_a_file_trains_tags_and_evaluates_as_python_does(
    run: Run, files: Path, tmp_path: Path, from_python: Tagger, ending: str
) -> None:
    model, test = tmp_path / "m.sapo", files / f"test.{ending}"
    run("train", files / f"train.{ending}", "--dev", test, "-e", "4", "-o", model, "-q")
    out = run("tag", model, test)
    wanted = [from_python.tag(features) for features, _ in pairs("test")]
    if ending == "jsonl":
        assert [json.loads(line)["tags"] for line in out.stdout.splitlines()] == wanted
    else:
        blocks = out.stdout.strip("\n").split("\n\n")
        assert [[line.split("\t")[0] for line in block.split("\n")] for block in blocks] == wanted
    scores = json.loads(run("eval", model, test, "--json").stdout)
    assert scores["token_accuracy"] > 0.7
    for how in (["--nbest", "2"], ["--marginals"], ["--threads", "2"]):
        run("tag", model, test, *how)
    run("train", test, "--continue", model, "-o", tmp_path / "more.sapo", "-q")
    assert "ends:" in run("explain", model, "--file", test, "--token", "1").stdout


def test_conversion_keeps_features(run: Run, files: Path, tmp_path: Path) -> None:
    there, back = tmp_path / "a.jsonl", tmp_path / "b.crfsuite"
    run("convert", files / "test.crfsuite", there)
    run("convert", there, back)
    assert back.read_text() == (files / "test.crfsuite").read_text()


def test_mistakes_are_one_line(run: Run, files: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"features": [["a"]], "tags": ["X"]}\n{"features": [{"a": null}], "tags": ["X"]}\n')
    uneven = tmp_path / "uneven.jsonl"
    uneven.write_text('{"features": [["a"]], "tags": ["X"]}\n{"tokens": ["a"], "tags": ["X"]}\n')
    short = tmp_path / "short.jsonl"
    short.write_text('{"tokens": ["a", "b"], "features": [["a"]], "tags": ["X", "Y"]}\n')
    attributes = tmp_path / "train.txt"
    attributes.write_text("A\tw=a\tpos=b\nB\tw=c\tpos=d\n")
    for path, message in {
        bad: f"sapo: {bad}:2: feature 'a' has the value None; use a string, a number or true/false\n",
        uneven: f"sapo: {uneven}:2: has no list 'features' of each token, which other lines have\n",
        short: f"sapo: {short}:1: 2 tokens but 1 features; give those of each token\n",
        attributes: f"sapo: {attributes}: looks like attributes of CRFsuite ('A\\tw=a\\tpos=b'), not like columns; "
        "use --format crfsuite\n",
    }.items():
        assert run("train", path, "-o", tmp_path / "m.sapo", "-q", ends=2).stderr == message
    run("train", attributes, "--format", "crfsuite", "-e", "1", "-o", tmp_path / "m.sapo", "-q")
    words = run("tag", tmp_path / "m.sapo", sample_path("test"), ends=2)
    assert "has no ready-made features" in words.stderr
    template = run("train", files / "train.jsonl", "-t", "pos", "-o", tmp_path / "m.sapo", "-q", ends=2)
    assert template.stderr.endswith("has ready-made features and no words; leave the template out\n")


def test_vectors_are_features_of_a_model_and_mistakes_end_with_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("the DT\nrain NN\n\nno DT\nsnow NN\n\n" * 3)
    vectors, model = tmp_path / "vectors.txt", tmp_path / "m.sapo"
    vectors.write_text("rain 1 0\nsnow 1 0\nthe 0 1\n")
    train = ("train", tmp_path / "train.txt", "--columns", "word,label", "--quiet", "-o", model)
    run(*train, "--epochs", 2, "--vectors", vectors)
    assert "vector[0] 1" in run("inspect", model, "--top", 50).stdout
    for given, message in (
        (("--vectors", tmp_path / "none.txt"), "no such file"),
        (("--vectors", vectors, "--set", f"vectors={vectors}"), "--vectors is given twice; leave --set vectors out"),
        (("--vectors", vectors, "--stream", tmp_path / "cache"), "stream: takes no vectors"),
        (("--vectors", vectors, "--continue", model), "--continue works without --dev"),
        (("--vectors", model, "-o", tmp_path / "other.sapo"), "expected the arrays 'vectors' and 'words'"),
        (("--vectors", model), "the vectors"),
    ):
        said = run(*train, *given, ends=2).stderr
        assert message in said
        assert said.count("\n") == 1
