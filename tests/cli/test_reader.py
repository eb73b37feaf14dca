"""sapo.js agrees with Python: the same tags and tokens, and probabilities that differ by at most 1e-5."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import sapo
from golden_models import HERE
from sapo.cli.export import reader_source
from tools.conformance import MODELS, expected, write

NODE = shutil.which("node")
CLOSE = 1e-5
LARGEST = 60 * 1024  # bytes
SCRIPT = Path(__file__).parents[1] / "shared" / "conformance.js"
READABLE = ["templates-2", "templates-half-2", "many-labels-2"]

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed, so sapo.js is not tested")


def run(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(NODE), *map(str, arguments)], capture_output=True, encoding="utf-8", timeout=120, check=False
    )


def reader(directory: Path) -> Path:
    path = directory / "sapo.js"
    path.write_text(reader_source(), "utf-8")
    return path


def agree(found: Any, known: Any, place: str = "") -> None:
    """Compare answers: strings must be equal, numbers close."""
    if isinstance(known, float):
        assert found == pytest.approx(known, abs=CLOSE), place
    elif isinstance(known, dict):
        for key, value in known.items():
            agree(found[key], value, f"{place}.{key}")
    elif isinstance(known, list):
        assert len(found) == len(known), place
        for number, (one, other) in enumerate(zip(found, known, strict=True)):
            agree(one, other, f"{place}[{number}]")
    else:
        assert found == known, place


def check(directory: Path, name: str) -> None:
    answer = run(SCRIPT, reader(directory), directory, name)
    assert answer.returncode == 0, answer.stderr
    agree(json.loads(answer.stdout), json.loads((directory / f"{name}.json").read_text("utf-8")), name)


@pytest.mark.parametrize("name", MODELS)
def test_the_reader_agrees_with_python(name: str, tmp_path: Path) -> None:
    write(name, tmp_path)
    check(tmp_path, name)


@pytest.mark.parametrize("name", READABLE)
def test_the_reader_agrees_on_golden_models(name: str, tmp_path: Path) -> None:
    shutil.copy(HERE / f"{name}.sapo", tmp_path)
    known = expected(sapo.Tagger.load(tmp_path / f"{name}.sapo"))
    (tmp_path / f"{name}.json").write_text(json.dumps(known), "utf-8")
    check(tmp_path, name)


@pytest.mark.parametrize(("name", "word"), [("features-2", "'features'"), ("network-2", "'neural'")])
def test_the_reader_names_what_it_cannot_read(name: str, word: str, tmp_path: Path) -> None:
    program = (
        "const [reader, path] = process.argv.slice(1); const Sapo = require(reader);"
        "const bytes = require('fs').readFileSync(path);"
        "try { Sapo.load(new Uint8Array(bytes).buffer); } catch (error) {"
        "  console.log(error instanceof Sapo.SapoError, error.message); }"
    )
    answer = run("-e", program, reader(tmp_path), HERE / f"{name}.sapo")
    assert answer.stdout.startswith("true this reader cannot read")
    assert word in answer.stdout


@pytest.mark.parametrize("size", [0, 9, 100, 5000])
def test_the_reader_refuses_a_file_that_is_cut_off(size: int, tmp_path: Path) -> None:
    (tmp_path / "cut.sapo").write_bytes((HERE / "templates-2.sapo").read_bytes()[:size])
    program = (
        "const [reader, path] = process.argv.slice(1); const Sapo = require(reader);"
        "try { Sapo.load(new Uint8Array(require('fs').readFileSync(path)).buffer); }"
        "catch (error) { console.log(error instanceof Sapo.SapoError); }"
    )
    assert run("-e", program, reader(tmp_path), tmp_path / "cut.sapo").stdout == "true\n"


def test_the_reader_is_small_and_asks_for_nothing() -> None:
    source = reader_source()
    assert len(source.encode()) <= LARGEST
    assert not any(word in source for word in ("fetch(", "XMLHttpRequest", "import(", "eval(", "require("))
