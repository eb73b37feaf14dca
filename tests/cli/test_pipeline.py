"""sapo pipeline as a user runs it."""

from pathlib import Path
from typing import Any


def test_a_stack_of_a_model_and_training_files_makes_a_file(run: Any, house: Any, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    lines = house.test.read_text().splitlines()
    words.write_text("".join(f"{line.split()[0]} O\n" if line else "\n" for line in lines))
    pos = tmp_path / "pos.txt"
    tokens = house.train.read_text().splitlines() + lines
    pos.write_text("".join(" ".join(line.split()[:2]) + "\n" if line else "\n" for line in tokens))
    steps = ("--add", f"pos={pos}", "--template", "pos=pos", "--add", f"chunk={house.model}", "--epochs", 3)

    comparing = f"comparing 110 sentences of {pos} with 10 of {words}"
    refused = run("pipeline", words, *steps, ends=2)
    assert refused.stdout == ""
    first, mistake = refused.stderr.splitlines()
    assert first == comparing
    assert "sentences overlap with" in mistake

    done = run("pipeline", words, *steps, "--cross", 2, "-o", tmp_path / "out.txt")
    first, *told = done.stderr.splitlines()
    assert first == comparing
    assert [line.split(":")[0] for line in told[:2]] == ["pos, block 1 of 2", "pos, block 2 of 2"]
    assert all("left out because they overlap with the 5 to tag" in line for line in told[:2])
    assert told[2:] == [f"10 sentences with the columns word, pos, chunk, label written to {tmp_path / 'out.txt'}"]
    found = [line.split() for line in (tmp_path / "out.txt").read_text().splitlines()]
    assert [row[::3] for row in found] == [line.split() for line in words.read_text().splitlines()]
    gold = [line.split()[1] for line in lines if line]
    assert sum(row[1] == tag for row, tag in zip(filter(None, found), gold, strict=True)) > len(gold) / 2

    again = run("pipeline", "-", *steps, "--cross", 2, "-q", input=words.read_bytes())
    assert again.stderr == ""
    assert again.stdout == (tmp_path / "out.txt").read_text()


def test_mistakes_are_one_line(run: Any, house: Any, tmp_path: Path) -> None:
    def told(*args: object) -> str:
        (line,) = run("pipeline", house.test, *args, ends=2).stderr.splitlines()
        return str(line)

    add = f"--add=c={house.model}"
    assert told(add, "--template", "x=pos") == "sapo: --template x=...: there is no step 'x' to use it"
    assert told(add, "--template", "pos") == "sapo: --template takes STEP=NAME, as in pos=NAME, not 'pos'"
    assert told(add, "-o", house.test).endswith("-o would overwrite the input; give another name")
    assert told(add, "-o", house.model).endswith("of a step; give another name")
    assert told("--add=c=no.sapo") == "sapo: no.sapo: no such file"


def test_conllu_goes_through_a_pipeline_and_keeps_everything_else(run: Any, house: Any, tmp_path: Path) -> None:
    run("demo", tmp_path / "data", "-q")
    data = tmp_path / "data"
    run("train", data / "train.conllu", "--label", "upos", "--epochs", 2, "-q", "-o", tmp_path / "upos.sapo")
    run("train", data / "train.conllu", "--label", "xpos", "--epochs", 2, "-q", "-o", tmp_path / "xpos.sapo")
    source, out = tmp_path / "in.conllu", tmp_path / "out.conllu"
    token = "1\tDogs\tdog\t_\t_\tNumber=Plur\t0\troot\t_\tSpaceAfter=No\n"
    source.write_text(f"# newdoc id = d1\n# text = Dogs\n1-2\tDogs\t_\t_\t_\t_\t_\t_\t_\t_\n{token}\n")
    steps = ("--add", f"upos={tmp_path / 'upos.sapo'}", "--add", f"pos={tmp_path / 'xpos.sapo'}")
    run("pipeline", source, *steps, "--add", f"chunk={house.model}", "-o", out)
    before, after = source.read_text().splitlines(), out.read_text().splitlines()
    assert after[:3] == before[:3]
    fields = after[3].split("\t")
    assert fields[:3] + fields[5:9] == ["1", "Dogs", "dog", "Number=Plur", "0", "root", "_"]
    assert "_" not in fields[3:5]
    assert fields[9].startswith("Chunk=")
    assert fields[9].endswith("|SpaceAfter=No")
