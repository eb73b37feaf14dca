"""`sapo distil` trains a student, compares it with its teacher, and says in one line what is wrong."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import sapo

NAMES, VERBS = ("Anna", "Ben", "Cleo", "Dora", "Emil"), ("met", "saw", "heard")
SENTENCES = [[one, verb, other, "."] for one in NAMES for other in NAMES for verb in VERBS if one != other]
TAGS = {**dict.fromkeys(NAMES, "B-PER"), **dict.fromkeys(VERBS, "O"), ".": "O"}
QUICK = ("-t", "ner", "--set", "epochs=3", "--set", "rate=0.3", "--set", "strength=0.1")


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    room = tmp_path_factory.mktemp("room")
    for name, some in (("gold", SENTENCES[:15]), ("dev", SENTENCES[15:30])):
        rows = ("".join(f"{token} {TAGS[token]}\n" for token in tokens) for tokens in some)
        (room / f"{name}.txt").write_text("\n".join(rows))
    (room / "text.txt").write_text("".join(f"{' '.join(tokens)}\n" for tokens in SENTENCES[30:]))
    (room / "running.txt").write_text("Anna met Ben yesterday. They were happy.\n" * 4)
    lines = [{"tokens": tokens, "tags": [TAGS[token] for token in tokens]} for tokens in SENTENCES[30:]]
    (room / "labeled.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (room / "wrong.jsonl").write_text(json.dumps({**lines[0], "tags": ["B-LOC", "O", "O", "O"]}) + "\n")
    sapo.train(room / "gold.txt", template="ner", epochs=3, rate=0.3, strength=0.1).save(room / "teacher.sapo")
    return room


def test_a_model_teaches_a_student_and_one_line_compares_both(run: Any, room: Path, tmp_path: Path) -> None:
    student = tmp_path / "s.sapo"
    gold = ("--train", room / "gold.txt", "--dev", room / "dev.txt", "--tokens", 60)
    done = run("distil", room / "teacher.sapo", room / "text.txt", *gold, "-o", student, *QUICK)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[0] == "the teacher labels 15 sentences, 60 tokens"
    assert re.fullmatch(
        r"dev F1: teacher [\d.]+, student [\d.]+; tokens/s: teacher [\d,]+, student [\d,]+ \([\d.]+ times as fast\)",
        lines[-2],
    )
    assert lines[-1].startswith(f"saved {student} (")
    assert sapo.Tagger.load(student).tag(["Anna", "met", "Ben", "."]) == ["B-PER", "O", "B-PER", "O"]


def test_with_enough_text_the_score_without_the_teacher_is_shown(run: Any, room: Path, tmp_path: Path) -> None:
    gold = ("--train", room / "gold.txt", "--dev", room / "dev.txt", "--n", 1)
    done = run(
        "distil", f"{room}/teacher.sapo,{room}/teacher.sapo", room / "text.txt", *gold, "-o", tmp_path / "s", *QUICK
    )
    assert "the teacher labels 30 sentences, 120 tokens" in done.stderr
    assert ", without the teacher " in done.stderr


def test_a_file_of_answers_needs_no_text_and_quiet_prints_nothing(run: Any, room: Path, tmp_path: Path) -> None:
    done = run("distil", room / "labeled.jsonl", "-o", tmp_path / "s.sapo", "-q", *QUICK)
    assert (done.stdout, done.stderr) == ("", "")
    assert sapo.Tagger.load(tmp_path / "s.sapo").tag(["Ben", "saw"]) == ["B-PER", "O"]


def test_a_program_teaches_without_a_shell(run: Any, room: Path, tmp_path: Path) -> None:
    script = tmp_path / "teacher.py"
    script.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    tokens = json.loads(line)['tokens']\n"
        "    print(json.dumps({'tags': ['B-PER' if token.istitle() else 'O' for token in tokens]}))\n"
    )
    command = ("--teacher-command", f"'{sys.executable}' '{script}'")
    done = run("distil", *command, room / "text.txt", "-o", tmp_path / "s.sapo", *QUICK)
    assert re.search(r"^tokens/s: teacher [\d,]+, student [\d,]+ \(", done.stderr, re.MULTILINE)
    assert sapo.Tagger.load(tmp_path / "s.sapo").tag(["Ben", "saw"]) == ["B-PER", "O"]


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["{room}/no.sapo", "{room}/text.txt"], "{room}/no.sapo: no such file"),
        (["{room}/teacher.sapo", "{room}/no.txt"], "{room}/no.txt: no such file"),
        (["{room}/gold.txt", "{room}/text.txt"], "{room}/gold.txt: is no teacher; give a model of sapo"),
        (["{room}", "{room}/text.txt"], "{room}: is a directory without a config.json of transformers"),
        (["{room}/teacher.sapo"], "texts: there are no sentences; give texts for the teacher to label"),
        (["{room}/labeled.jsonl", "{room}/text.txt"], "{room}/labeled.jsonl: has the sentences"),
        (
            ["{room}/wrong.jsonl", "--train", "{room}/gold.txt"],
            "{room}/wrong.jsonl:1: the label 'B-LOC' is not in the training data",
        ),
        (
            ["{room}/labeled.jsonl", "--tokens", "9"],
            "{room}/labeled.jsonl: all of its sentences are learned; leave --tokens",
        ),
        (["{room}/teacher.sapo", "{room}/running.txt"], "{room}/running.txt: seems to be running text"),
        (["{room}/teacher.sapo", "{room}/text.txt", "--weight", "0"], "--weight must be a number above 0"),
        (["{room}/teacher.sapo", "{room}/text.txt", "--n", "0"], "--n must be a whole number from 1 to 100, not 0"),
        (["{room}/teacher.sapo", "{room}/text.txt", "--tokens", "0"], "--tokens must be a whole number"),
        (["{room}/teacher.sapo", "{room}/text.txt", "--set", "decy=1"], "--set: unknown setting 'decy'"),
        (["{room}/teacher.sapo", "{room}/text.txt", "-o", "{room}/text.txt"], "{room}/text.txt: is not a model"),
        (["{room}/teacher.sapo", "{room}/text.txt", "-o", "{room}/teacher.sapo"], "{room}/teacher.sapo: -o would"),
        (["{room}/teacher.sapo", "{room}/text.txt", "-o", "-"], "a model cannot go to standard output"),
        (["-", "-"], "standard input can be read only once; give - once"),
        (["--teacher-command", "no-such-program", "{room}/text.txt"], "no-such-program: cannot be run"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(
    run: Any, room: Path, tmp_path: Path, args: list[str], complaint: str
) -> None:
    before = {path: path.read_bytes() for path in room.iterdir()}
    given = [part.format(room=room) for part in args]
    output = [] if "-o" in args else ["-o", tmp_path / "s.sapo"]
    done = run("distil", *given, *output, *QUICK, ends=2)
    line = done.stderr.splitlines()[-1]
    assert line.startswith("sapo: " + complaint.format(room=room))
    assert {path: path.read_bytes() for path in room.iterdir()} == before
    assert not list(tmp_path.iterdir())
