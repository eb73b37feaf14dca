"""No command writes over a file that it reads, and a stream is never taken for the file that it leads to."""

import secrets
import subprocess
from pathlib import Path
from typing import Any

import pytest

GOLD = "The DT B-NP\ncat NN I-NP\n\nIt PRP B-NP\n"
RULES = "forbid I-NP B-NP\n"
TEMPLATE = "U00:%x[0,0]\n"
EPOCH = ("-e", "1", "-q")


@pytest.mark.parametrize(
    ("kept", "args"),
    [
        ("gold.svg", ["calibrate", "MODEL", "gold.svg", "--format", "columns", "-o", "./gold.svg"]),
        ("rules", ["train", "gold.svg", "--format", "columns", "--rules", "rules", "-o", "rules", *EPOCH]),
        ("template", ["train", "gold.svg", "--format", "columns", "-t", "template", "-o", "template", *EPOCH]),
        (
            "template",
            ["pipeline", "gold.svg", "--add", "x=a.txt", "--template", "x=template", "-o", "template", *EPOCH],
        ),
        (
            "gold.svg",
            ["eval", "MODEL", "gold.svg", "--format", "columns", "--calibration", "--plot", "gold.svg"],
        ),
        ("gold.svg", ["tag", "MODEL", "gold.svg", "--format", "columns", "-o", "gold.svg"]),
        ("gold.svg", ["convert", "gold.svg", "gold.svg", "--from", "columns", "--to", "columns"]),
    ],
)
def test_no_command_writes_over_what_it_reads(run: Any, house: Any, tmp_path: Path, kept: str, args: list[str]) -> None:
    before = {"gold.svg": GOLD, "a.txt": "A DT X\ndog NN Y\n", "rules": RULES, "template": TEMPLATE}
    for name, text in before.items():
        (tmp_path / name).write_text(text)
    done = run(*[house.model if arg == "MODEL" else arg for arg in args], ends=2, cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert kept in line
    assert " would overwrite " in line
    assert line.endswith("; give another name")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="this system has no /dev/shm")
def test_files_in_shared_memory_are_files_too(run: Any) -> None:
    path = Path("/dev/shm") / f"sapo-{secrets.token_hex(8)}.txt"
    try:
        path.write_text(GOLD)
        run("train", path, "-o", path, *EPOCH, ends=2)
        assert path.read_text() == GOLD
    finally:
        path.unlink()


def test_a_preset_is_no_file_that_is_read(run: Any, house: Any, tmp_path: Path) -> None:
    (tmp_path / "chunking").touch()
    run("train", house.train, "-t", "chunking", "-o", "chunking", *EPOCH, cwd=tmp_path)


def test_a_model_may_be_continued_and_calibrated_in_its_place(run: Any, house: Any, tmp_path: Path) -> None:
    model = tmp_path / "chunk.sapo"
    model.write_bytes(house.model.read_bytes())
    run("calibrate", model, house.test, "-o", model, "-q")
    run("train", "--continue", model, house.test, "-o", model, *EPOCH)
    assert model.read_bytes() != house.model.read_bytes()


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="this system has no /dev/stdout")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_a_stream_by_name_is_added_to_like_standard_output(
    command: list[str], env: dict[str, str], house: Any, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "out"
    out.write_text("what was there\n")
    with out.open("ab") as stream:
        args = ["tag", str(house.model), str(house.test), "-o", name, "-q"]
        subprocess.run([*command, *args], stdout=stream, env=env, check=True)
    first, *rest = out.read_text().splitlines()
    assert first == "what was there"
    assert len(rest) == len(house.test.read_text().splitlines())


def test_a_model_is_not_calibrated_into_a_file_called_dash(run: Any, house: Any, tmp_path: Path) -> None:
    run("calibrate", house.model, house.test, "-o", "-", ends=2, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
