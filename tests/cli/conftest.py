"""The command as a user runs it: in a process of its own. Corpora and a model are made once."""

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import sapo
from sapo.corpus.sample import COLUMNS, sample_path

COMMAND = [sys.executable, "-c", "from sapo.cli import main; main()"]
COMPILING = "sapo: compiling what this command needs"
Run = Callable[..., subprocess.CompletedProcess[str]]


def environment(**more: str) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(Path(sapo.__file__).parent.parent),
        "PYTHONIOENCODING": "utf-8",
        "COLUMNS": "100",
        **more,
    }


@pytest.fixture(scope="session")
def command() -> list[str]:
    return COMMAND


@pytest.fixture(scope="session")
def env() -> dict[str, str]:
    return environment()


@pytest.fixture(scope="session")
def run() -> Run:
    """Run `sapo` with these arguments; it must end well unless told otherwise."""

    def call(*args: object, ends: int = 0, input: str | bytes = "", **more: Any) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*COMMAND, *map(str, args)],
            input=input.encode() if isinstance(input, str) else input,
            capture_output=True,
            env=environment(**more.pop("env", {})),
            timeout=120,
            **more,
        )
        # whether kernels had to be compiled depends on the cache of this machine, not on the command
        notes = [line for line in done.stderr.decode().splitlines(keepends=True) if not line.startswith(COMPILING)]
        told = subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), "".join(notes))
        assert told.returncode == ends, told.stderr
        assert "Traceback" not in told.stderr
        return told

    return call


@dataclass(frozen=True, slots=True)
class House:
    """Files of word, pos and chunk, and a chunker that was trained on them for four passes."""

    train: Path
    test: Path
    model: Path
    told: str  # what training said


EPOCHS = ("--epochs", "4", "--tolerance", "0")


@pytest.fixture(scope="session")
def house(run: Run, tmp_path_factory: pytest.TempPathFactory) -> House:
    room = tmp_path_factory.mktemp("house")
    sentences = sapo.read(sample_path("train"), columns=COLUMNS, label="chunk")
    paths = {name: room / f"{name}.txt" for name in ("train", "test")}
    for path, size in zip(paths.values(), (100, 10), strict=True):
        path.write_text(
            "".join(
                "".join(
                    f"{word} {pos} {tag}\n"
                    for word, pos, tag in zip(one.columns["word"], one.columns["pos"], one.tags or (), strict=True)
                )
                + "\n"
                for one in itertools.islice(sentences, size)
            )
        )
    done = run("train", paths["train"], "-o", room / "chunk.sapo", "-t", "chunking", *EPOCHS)
    assert done.stdout == ""
    return House(**paths, model=room / "chunk.sapo", told=done.stderr)
