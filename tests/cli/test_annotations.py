"""Annotations from other tools on the command line: train on an export, and write predictions to correct there."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from sapo.corpus.conversion import Source, Target, convert
from sapo.corpus.sample import COLUMNS, sample_path

Run = Callable[..., CompletedProcess[str]]


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "train.jsonl"
    convert(Source(sample_path("train"), columns=COLUMNS, label="entity"), Target(path, "doccano"))
    lines = path.read_text().splitlines()[:200]
    path.write_text("\n".join(lines))
    return path


def test_an_export_trains_a_model_whose_predictions_go_back(run: Run, export: Path, tmp_path: Path) -> None:
    model, out = tmp_path / "m.sapo", tmp_path / "out.jsonl"
    run("train", export, "--format", "doccano", "-e", "5", "-o", model, "-q")
    run("tag", model, export, "--format", "doccano", "-o", out, "--spans", "-q")
    before, after = ([json.loads(line) for line in path.read_text().splitlines()] for path in (export, out))
    assert [record["text"] for record in after] == [record["text"] for record in before]
    same = sum(old["label"] == new["label"] for old, new in zip(before, after, strict=True))
    assert same > 150
    assert "FB1" in run("eval", model, export, "--format", "doccano").stdout
    assert run("tag", model, export, "--format", "doccano", "--nbest", "2", ends=2).stderr == (
        "sapo: doccano shows one tagging of a text; use --spans, or convert the file to JSONL\n"
    )


def test_brat_directories_go_in_and_out(run: Run, export: Path, tmp_path: Path) -> None:
    model, brat, out = tmp_path / "m.sapo", tmp_path / "brat", tmp_path / "out"
    run("convert", export, brat, "--from", "doccano", "--to", "brat", "-q")
    run("train", brat, "-e", "1", "-o", model, "-q")
    run("tag", model, brat, "-o", out, "-q")
    assert {path.name for path in out.iterdir()} == {path.name for path in brat.iterdir()}
    assert "name a directory" in run("tag", model, brat, ends=2).stderr


def test_what_is_changed_is_told_in_one_line_and_not_with_quiet(run: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "a.jsonl", tmp_path / "a.txt"
    source.write_text('{"text": "preTokyo", "label": [[3, 8, "LOC"]]}\n')
    told = run("convert", source, target, "--from", "doccano").stderr.splitlines()
    cut = "span 3:8 'Tokyo' begins inside the token 'preTokyo' (0:8); the token is split"
    assert told == [f"sapo: warning: {source}:1: {cut}", f"1 sentences written to {target}"]
    assert target.read_text() == "pre\tO\nTokyo\tB-LOC\n\n"
    assert run("convert", source, target, "--from", "doccano", "-q").stderr == ""


def test_every_command_takes_an_encoding(run: Run, tmp_path: Path) -> None:
    path, model, out = tmp_path / "a.txt", tmp_path / "m.sapo", tmp_path / "b.txt"
    path.write_bytes("Köln LOC\nist O\n".encode("latin-1"))
    told = run("train", path, "-o", model, "-q", ends=2).stderr
    assert told.endswith(
        "it looks like latin-1: use --encoding latin-1, or convert it with iconv -f latin-1 -t utf-8\n"
    )
    encoding = ("--encoding", "latin-1")
    run("train", path, "--dev", path, "-e", "1", "-o", model, "-q", *encoding)
    assert run("tag", model, path, *encoding).stdout.startswith("Köln LOC ")
    assert "token accuracy" in run("eval", model, path, *encoding).stdout.replace("accuracy:", "token accuracy")
    run("convert", path, out, "-q", *encoding)
    assert out.read_text(encoding="utf-8") == "Köln LOC\nist O\n"
    run("train", path, "--continue", model, "-o", model, "-q", *encoding)
    assert f"{path}: 1 sentence, 2 tokens" in run("errors", model, path, *encoding).stdout
    path.write_bytes("Köln B-LOC\nist O\nda o\n".encode("latin-1"))
    run("check", path, "--fix", out, *encoding)
    assert out.read_text(encoding="utf-8") == "Köln B-LOC\nist O\nda O\n"


def test_tables_train_and_are_tagged(run: Run, export: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is an extra; make test installs it")
    table, model, out = tmp_path / "a.parquet", tmp_path / "m.sapo", tmp_path / "b.parquet"
    run("convert", export, table, "--from", "doccano", "-q")
    run("train", table, "-e", "5", "-o", model, "-q")
    run("tag", model, table, "-o", out, "-q")
    assert "FB1" in run("eval", model, table).stdout
    run("convert", out, tmp_path / "b.txt", "-q")
    run("tag", model, table, "--nbest", "2", "-o", out, "-q")
