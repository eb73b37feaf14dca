"""Ctrl-C, and a reader that has seen enough."""

import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

import sapo

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(command: list[str], env: dict[str, str]) -> Iterator[Start]:
    """Start `sapo` and leave it running; what still runs at the end of the test is killed."""
    with ExitStack() as stack:

        def call(*args: object) -> "subprocess.Popen[str]":
            pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
            process = subprocess.Popen([*command, *map(str, args)], env=env, text=True, **pipes)
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield call


def test_ctrl_c_during_training_keeps_a_model(start: Start, house: Any, tmp_path: Path) -> None:
    out, state = tmp_path / "chunk.sapo", tmp_path / "run.state"
    process = start(
        "train", house.train, "-v", "-o", out, "-e", 1_000_000, "--set", "tolerance=0", "--checkpoint", state
    )
    assert process.stderr is not None
    for line in process.stderr:
        if re.match(r"epoch +2/", line):
            process.send_signal(signal.SIGINT)
            break
    rest = process.stderr.read()
    assert process.wait(60) == 130
    assert "Traceback" not in rest
    assert "interrupted; kept epoch " in rest
    assert rest.splitlines()[-1].startswith(f"saved {out} ")
    assert sapo.Tagger.load(out).tag([("The", "DT"), ("cat", "NN")]) == ["B-NP", "I-NP"]
    assert sapo.Tagger.load(out).model.record["stopped"] == "interrupted"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chunk.sapo", "run.state"]


def test_ctrl_c_while_training_goes_on_is_told_too(start: Start, run: Any, house: Any, tmp_path: Path) -> None:
    out, contradiction = tmp_path / "new.sapo", tmp_path / "new.txt"
    contradiction.write_text("The DT B-NP\n\nThe DT O\n\n")  # never comes out right
    process = start(
        "train", "-v", "--continue", house.model, contradiction, "-o", out, "-e", 10_000_000, "--rate", 0.01
    )
    assert process.stderr is not None
    for line in process.stderr:
        if re.match(r"epoch +2/", line):
            process.send_signal(signal.SIGINT)
            break
    rest = process.stderr.read()
    assert process.wait(60) == 130
    assert rest.splitlines()[-2] == "interrupted"
    assert rest.splitlines()[-1].startswith(f"saved {out} ")
    (told,) = [line for line in run("inspect", out).stdout.splitlines() if line.startswith("continued ")]
    assert told.startswith("continued 2 sentences in 1 updates, ")
    assert "rate 0.01" in told
    assert told.endswith("; stopped: interrupted")


def wait_until_it_writes(process: subprocess.Popen[str], folder: Path) -> None:
    """Wait until a process has opened a file in this folder, which has a name only where the system needs one."""
    opened = Path(f"/proc/{process.pid}/fd")
    for _ in range(3000):
        assert process.poll() is None
        with suppress(OSError):  # a file that was closed meanwhile
            if list(folder.iterdir()) or any(folder in file.readlink().parents for file in opened.iterdir()):
                return
        time.sleep(0.02)
    raise AssertionError("the process opens no file")


def test_ctrl_c_while_waiting_for_input_leaves_no_file(start: Start, house: Any, tmp_path: Path) -> None:
    process = start("tag", house.model, "-", "-o", tmp_path / "out.txt")
    wait_until_it_writes(process, tmp_path)  # and waits for a sentence
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in told
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_goes_away_is_no_error(start: Start, house: Any) -> None:
    process = start("tag", house.model, "-")
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    sentence = "The DT\ncat NN\nsleeps VBZ\n\n"
    # a sentence is tagged as soon as it is there: nobody waits for the end of the input
    process.stdin.write(sentence)
    process.stdin.flush()
    assert process.stdout.readline() == "The DT B-NP\n"
    process.stdout.close()
    process.stdin.write(sentence * 200)
    process.stdin.close()
    assert process.stderr.read() == ""
    assert process.wait(60) == 141


def test_a_reader_that_is_gone_before_a_short_output_is_no_error(start: Start, house: Any) -> None:
    process = start("inspect", house.model)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait(60) == 141


def test_training_goes_on_where_nobody_reads_its_notes(start: Start, house: Any, tmp_path: Path) -> None:
    process = start("train", house.test, "-o", tmp_path / "m.sapo", "-e", 3)
    assert process.stderr is not None
    process.stderr.close()
    assert process.wait(60) == 0
    assert sapo.Tagger.load(tmp_path / "m.sapo").model.record["passes"] == 3


def test_a_process_that_is_told_to_end_leaves_no_file(start: Start, house: Any, tmp_path: Path) -> None:
    process = start("tag", house.model, "-", "-o", tmp_path / "out.txt")
    wait_until_it_writes(process, tmp_path)
    process.terminate()
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (143, "")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="session")
def long_sentences(run: Any, house: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of long sentences that take minutes to tag with a thousand taggings each."""
    tokens = [line.rsplit(" ", 1)[0] for line in house.test.read_text().splitlines() if line]
    path = tmp_path_factory.mktemp("long") / "long.txt"
    sentence = "\n".join(tokens[:80]) + "\n\n"
    path.write_text(sentence)
    for more in ((), ("--search", "beam")):  # so that the kernels are compiled
        run("tag", house.model, path, "--nbest", 1_000, *more)
    path.write_text(sentence * 1_000)
    return path


MANY = ("--nbest", 1_000)
WIDE = (*MANY, "--search", "beam", "--width", 1_000_000)


@pytest.mark.parametrize(
    ("sent", "code", "options"),
    [
        (signal.SIGINT, 130, MANY),
        (signal.SIGTERM, 143, MANY),
        (signal.SIGINT, 130, (*MANY, "--threads", 2)),
        (signal.SIGTERM, 143, WIDE),
    ],
)
def test_a_search_for_many_taggings_ends_at_once(
    start: Start, house: Any, long_sentences: Path, tmp_path: Path, sent: int, code: int, options: tuple[object, ...]
) -> None:
    out = tmp_path / "out.txt"
    process = start("tag", house.model, long_sentences, *options, "-o", out)
    wait_until_it_writes(process, tmp_path)
    time.sleep(0.7)
    assert process.poll() is None
    process.send_signal(sent)
    _, told = process.communicate(timeout=5)  # a second, on a machine that has nothing else to do
    assert process.returncode == code
    assert [line for line in told.splitlines() if line] == ["sapo: interrupted"] * (code == 130)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("sent", "code", "threads"), [(signal.SIGINT, 130, 1), (signal.SIGTERM, 143, 2)])
def test_training_with_the_largest_n_ends_at_once(
    start: Start, house: Any, tmp_path: Path, sent: int, code: int, threads: int
) -> None:
    out, state = tmp_path / "m.sapo", tmp_path / "m.state"
    options = ("-n", 1000, "-e", 10_000, "--set", "tolerance=0", "--rate", 0.1, "--strength", 1, "--threads", threads)
    process = start("train", house.train, "-v", "-o", out, "--checkpoint", state, *options)
    assert process.stderr is not None
    for line in process.stderr:
        if re.match(r"epoch +1/", line):
            break
    time.sleep(0.3)
    process.send_signal(sent)
    _, told = process.communicate(timeout=10)
    assert process.returncode == code
    assert "Traceback" not in told
    kept = ["m.sapo", "m.state"] if code == 130 else ["m.state"]
    assert sorted(path.name for path in tmp_path.iterdir()) == kept


def test_n_that_would_take_hours_is_refused_in_one_line(run: Any, house: Any, tmp_path: Path) -> None:
    told = run("train", house.train, "-n", 100_000, "-o", tmp_path / "m.sapo", ends=2).stderr
    assert told.startswith("sapo: --n must be at most 1000, not 100000; use fewer")
    told = run("tag", house.model, house.test, "--nbest", 10**9, ends=2).stderr
    assert told.startswith("sapo: --nbest: 1,000,000,000 taggings are more than 1,000; ")
    assert list(tmp_path.iterdir()) == []
