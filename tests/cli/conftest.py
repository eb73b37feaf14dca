"""The command as a user runs it: in a process of its own, if only a forked one. Corpora and a model are made once."""

import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import forked
import sapo
from sapo.corpus.sample import COLUMNS, sample_path

COMMAND = [sys.executable, "-c", "from sapo.cli import main; main()"]
COMPILING = "sapo: compiling"
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
def quick_command() -> Iterator[list[str]]:
    """The same command, without the second that it takes to load the kernels each time."""
    if not hasattr(os, "fork"):
        yield COMMAND
        return
    with tempfile.TemporaryDirectory() as room:  # not that of pytest: the name of a socket must be short
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        serve = [sys.executable, forked.__file__, "serve", f"{room}/socket"]
        with subprocess.Popen(serve, env=environment(), text=True, **pipes) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            yield [sys.executable, "-I", "-S", forked.__file__, f"{room}/socket"]
            try:
                server.communicate(timeout=10)  # its input ends, and so does the server
            except subprocess.TimeoutExpired:  # it waits for a command that hangs, which a test has told
                server.kill()


@pytest.fixture(scope="session")
def run(quick_command: list[str]) -> Run:
    """Run `sapo` with these arguments; it must end well unless told otherwise."""

    def call(*args: object, ends: int = 0, input: str | bytes = "", **more: Any) -> subprocess.CompletedProcess[str]:
        # The server has its own environment and limits, except for TMPDIR.
        alone = "preexec_fn" in more or more.get("env", {"TMPDIR": ""}).keys() != {"TMPDIR"}
        whole = COMMAND if alone else quick_command
        done = subprocess.run(
            [*whole, *map(str, args)],
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


EPOCHS = ("--epochs", "4", "--set", "tolerance=0")


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
