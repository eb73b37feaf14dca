"""sapo check, and what sapo train says about its data."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sapo.corpus.sample import sample_path

Run = Callable[..., Any]
ENTITIES = "".join(
    f"{line.split()[0]}\t{line.split()[3]}\n" if line.strip() else "\n"
    for line in sample_path("test").read_text("utf-8").splitlines()
)
LINE = ENTITIES.partition("\tO\n")[0].count("\n") + 1  # of the first O
QUICK = ("--epochs", "1", "--rate", "0.1", "-q")


@pytest.fixture
def zero(tmp_path: Path) -> Path:
    """A file of entities with one O misspelled as 0."""
    path = tmp_path / "zero.txt"
    path.write_text(ENTITIES.replace("\tO\n", "\t0\n", 1), "utf-8")
    return path


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    path = tmp_path / "clean.txt"
    path.write_text(ENTITIES, "utf-8")
    return path


def test_a_clean_file_ends_with_0(run: Run, clean: Path) -> None:
    done = run("check", clean)
    assert "nothing found" in done.stdout
    assert "104 sentences" in done.stdout


def test_findings_end_with_1_and_name_the_line(run: Run, zero: Path) -> None:
    done = run("check", zero, ends=1)
    assert f"{zero}:{LINE}: error: label '0' does not fit" in done.stdout
    assert "did you mean 'O'?" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("args", [["missing.txt"], ["--format", "xml", __file__], [__file__] * 4])
def test_a_mistake_of_the_user_ends_with_2(run: Run, args: list[str]) -> None:
    done = run("check", *args, ends=2)
    assert len(done.stderr.splitlines()) == 1


def test_json_is_for_machines(run: Run, zero: Path) -> None:
    report = json.loads(run("check", zero, "--json", ends=1).stdout)
    assert report["clean"] is False
    (finding,) = report["findings"]
    assert (finding["kind"], finding["severity"], finding["line"]) == ("near-scheme", "error", LINE)
    assert report["files"][0]["labels"]["0"] == 1


def test_the_page_is_whole_and_escaped(run: Run, tmp_path: Path) -> None:
    data, page = tmp_path / "<b>.txt", tmp_path / "page.html"
    data.write_text(ENTITIES.replace("\tO\n", "\t<i>\n", 2), "utf-8")
    run("check", data, "--html", page, ends=1)
    text = page.read_text("utf-8")
    assert "&lt;i&gt;" in text
    assert "<i>" not in text
    assert "<b>" not in text
    assert "<script" not in text
    assert "B-PER" in text
    assert text.endswith("</html>\n")


def test_fix_writes_a_file_that_is_clean(run: Run, zero: Path, clean: Path, tmp_path: Path) -> None:
    done = run("check", zero, "--fix", tmp_path / "fixed.txt")
    assert "label '0' to 'O' (1)" in done.stderr
    assert (tmp_path / "fixed.txt").read_bytes() == clean.read_bytes()


def test_fix_never_writes_over_its_input(run: Run, zero: Path) -> None:
    run("check", zero, "--fix", zero, ends=2)


@pytest.mark.parametrize("options", [["--fix", "-"], ["--fix", "out.txt", sample_path("train")]])
def test_fix_takes_one_file_and_writes_one(run: Run, zero: Path, options: list[object]) -> None:
    run("check", zero, *options, ends=2)


def test_train_warns_of_a_label_that_almost_fits(run: Run, zero: Path, tmp_path: Path) -> None:
    done = run("train", zero, "-o", tmp_path / "m.sapo", *QUICK)
    assert f"sapo: warning: {zero}:{LINE}: label '0' does not fit" in done.stderr


def test_train_warns_of_a_header(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "header.txt"
    path.write_text("word\tner_tag\n" + ENTITIES, "utf-8")
    done = run("train", path, "-o", tmp_path / "m.sapo", *QUICK)
    assert f"sapo: warning: {path}:1: a header" in done.stderr


def test_train_warns_of_one_giant_sentence(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "giant.txt"
    path.write_text(ENTITIES.replace("\n\n", "\n"), "utf-8")
    done = run("train", path, "-o", tmp_path / "m.sapo", *QUICK)
    assert "one sentence of 1,511 tokens" in done.stderr


def test_train_warns_of_dev_data_that_it_trains_on(run: Run, clean: Path, tmp_path: Path) -> None:
    (tmp_path / "dev.txt").write_bytes(clean.read_bytes())
    done = run("train", clean, "--dev", tmp_path / "dev.txt", "-o", tmp_path / "m.sapo", *QUICK)
    assert f"has the same sentences as {clean}" in done.stderr


def test_train_warns_of_dev_data_that_it_read_from_a_pipe(run: Run, clean: Path, tmp_path: Path) -> None:
    options = ("--dev", clean, "-o", tmp_path / "m.sapo", *QUICK)
    done = run("train", "-", *options, input=clean.read_text("utf-8"))
    assert f"{clean}: has the same sentences as standard input" in done.stderr


def test_train_warns_of_dev_data_with_nearly_all_of_its_sentences(run: Run, clean: Path, tmp_path: Path) -> None:
    (tmp_path / "dev.txt").write_text("Berta" + ENTITIES[ENTITIES.index("\t") :], "utf-8")
    done = run("train", clean, "--dev", tmp_path / "dev.txt", "-o", tmp_path / "m.sapo", *QUICK)
    assert f"sentences that are also in {clean}: 103 of 104" in done.stderr


def test_train_says_nothing_about_clean_data(run: Run, clean: Path, tmp_path: Path) -> None:
    assert run("train", clean, "-o", tmp_path / "m.sapo", *QUICK).stderr == ""


def test_data_from_a_pipe_is_checked_without_lines(run: Run, zero: Path, tmp_path: Path) -> None:
    done = run("train", "-", "-o", tmp_path / "m.sapo", *QUICK, input=zero.read_text("utf-8"))
    assert "label '0' does not fit" in done.stderr
