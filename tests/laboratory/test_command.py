"""`python -m laboratory experiment` as a researcher runs it, in a process of its own with workers of its own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import laboratory
import sapo
from laboratory.runfiles import is_finished, read_lines, write_lines

COMMAND = [sys.executable, "-m", "laboratory", "experiment"]


def environment(data: Path) -> dict[str, str]:
    source = os.pathsep.join(str(Path(package.__file__ or "").parent.parent) for package in (sapo, laboratory))
    return {**os.environ, "PYTHONPATH": source, "PYTHONIOENCODING": "utf-8", "SAPO_DATA": str(data)}


def call(data: Path, room: Path, *args: object, ends: int = 0) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        [*COMMAND, *map(str, args)],
        env=environment(data),
        cwd=room,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == ends, done.stderr
    assert "Traceback" not in done.stderr
    return done


FEW = ("chunking", "--small", "--systems", "SAPO,Perc-Naive", "--jobs", 2)


@pytest.fixture(scope="module")
def made(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A room in which two systems were run."""
    room = tmp_path_factory.mktemp("room")
    done = call(tiny, room, *FEW)
    assert "2/2 runs" in done.stderr
    assert "by 4-fold cross-validation" in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[2:]] == ["SAPO", "Perc-Naive"]
    return room


def test_the_files_are_there_and_nothing_else(made: Path) -> None:
    assert sorted(path.name for path in (made / "runs-small" / "chunking").iterdir()) == [
        "gold.tags",
        "perc-naive-seed0.jsonl",
        "perc-naive-seed0.tags",
        "sapo-seed0.jsonl",
        "sapo-seed0.tags",
        "tuning.jsonl",
    ]


def test_finished_runs_are_not_made_again_and_cut_ones_are(made: Path, tiny: Path) -> None:
    directory = made / "runs-small" / "chunking"
    before = {path.name: (path.stat().st_mtime_ns, path.read_text()) for path in directory.iterdir()}
    done = call(tiny, made, *FEW)
    assert "all runs are done" in done.stderr
    assert {path.name: (path.stat().st_mtime_ns, path.read_text()) for path in directory.iterdir()} == before

    cut = directory / "sapo-seed0.jsonl"
    cut.write_text(before[cut.name][1][:-40])
    done = call(tiny, made, *FEW)
    assert "1 of 2 runs are done" in done.stderr
    assert is_finished(read_lines(cut))
    scores = [line["score"] for line in read_lines(cut) if line["kind"] == "pass"]
    assert f"{scores[-1]:.2f}" in done.stdout
    for name in ("perc-naive-seed0.jsonl", "tuning.jsonl"):
        assert (directory / name).stat().st_mtime_ns == before[name][0]


def test_the_list_tells_what_is_done(made: Path, tiny: Path) -> None:
    done = call(tiny, made, "chunking", "--small", "--systems", "Perc-Naive,CRF", "--list")
    _, crf, perceptron = done.stdout.splitlines()
    assert crf.split() == ["CRF", "seeds", "done:", "-", "to", "do:", "0"]
    assert perceptron.split() == ["Perc-Naive", "seeds", "done:", "0", "to", "do:", "-"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("chunkin",), "unknown task 'chunkin'; did you mean 'chunking'?"),
        (("chunking", "--systems", "SAPPO"), "unknown system 'SAPPO'; did you mean 'SAPO'?"),
        (("bioner", "--systems", "SAPO"), "bioner"),
        (("chunking", "--treebank", "x"), "--treebank is for the task pos-wsj"),
    ],
)
def test_a_mistake_is_one_line(args: tuple[str, ...], told: str, tiny: Path, tmp_path: Path) -> None:
    done = call(tiny, tmp_path, *args, ends=2)
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_ctrl_c_leaves_finished_runs_and_tells_how_to_go_on(tiny: Path, tmp_path: Path) -> None:
    directory = tmp_path / "runs" / "chunking"
    directory.mkdir(parents=True)
    tuned = {"kind": "end", "strength": 1.0, "how": "4-fold cross-validation", "passes": 20, "small": False}
    write_lines(directory / "tuning.jsonl", [tuned])
    args = ["chunking", "--systems", "SAPO,CRF", "--seeds", "1", "--passes", "100000", "--jobs", "1"]
    process = subprocess.Popen(
        [*COMMAND, *args],
        env=environment(tiny),
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    with process:
        try:
            path = directory / "sapo-seed0.jsonl"
            while not any(line["kind"] == "pass" for line in read_lines(path)):
                assert process.poll() is None
                time.sleep(0.1)
            os.killpg(process.pid, signal.SIGINT)  # a terminal tells all processes, the workers too
            assert process.wait(60) == 130
        finally:
            process.kill()
        assert process.stderr is not None
        told = process.stderr.read()
    assert "Traceback" not in told
    assert told.splitlines()[-1] == (
        f"sapo: interrupted; 0 of 2 runs are done; go on with: python -m laboratory experiment {' '.join(args)}"
    )
    assert not is_finished(read_lines(path))
    assert sorted(path.name for path in directory.iterdir()) == ["gold.tags", "sapo-seed0.jsonl", "tuning.jsonl"]
