"""`python -m laboratory data` as a person uses it, with corpora that lie on a server in this process."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import laboratory
import sapo
from laboratory.__main__ import app
from laboratory.datasets.registry import CORPORA, Corpus
from sapo.cli.main import run_commands

Corpora = dict[str, Corpus]


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    told: str


Run = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    def call(*args: object, corpora: Corpora | None = None) -> Done:
        monkeypatch.setattr(sys, "argv", ["laboratory", "data", *map(str, args)])
        code: Any = 0
        try:
            run_commands(app, "python -m laboratory", corpora)
        except SystemExit as end:
            code = end.code
        return Done(code, *capfd.readouterr())

    return call


def test_the_list_tells_what_there_is_and_where(run: Run, home: Path) -> None:
    done = run("list")
    head, *rows = [re.split(r"\s{2,}", line) for line in done.out.splitlines()]
    assert head == ["NAME", "TASK", "TOKENS", "LICENSE", "WHERE"]
    assert [row[0] for row in rows] == list(CORPORA)
    assert {row[4] for row in rows} == {"not here"}
    assert max(map(len, done.out.splitlines())) < 80


def test_a_corpus_moves_from_nowhere_to_the_cache(
    run: Run, tiny: Corpora, web: Any, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run("path", "tiny", corpora=tiny)
    assert (done.code, done.out) == (2, "")
    assert done.told == "sapo: tiny: not on this machine; get it with: python -m laboratory data get tiny\n"
    done = run("get", "tiny", corpora=tiny)
    assert (done.code, done.out) == (0, f"{home / 'tiny'}\n")
    assert f"fetching {web.url}/train.txt\nfetching {web.url}/test.txt\n" in done.told
    assert "license: free for all\ncite: Nobody (2000)\n" in done.told
    assert run("path", "tiny", corpora=tiny).out == f"{home / 'tiny'}\n"
    assert run("list", corpora=tiny).out.split()[-1] == "cache"
    done = run("get", "tiny", "-q", corpora=tiny)
    assert (done.out, done.told) == (f"{home / 'tiny'}\n", "")
    monkeypatch.setenv("SAPO_DATA", str(home))
    assert run("list", corpora=tiny).out.split()[-1] == "SAPO_DATA"


def test_a_wrong_name_gets_a_hint(run: Run, home: Path) -> None:
    for what in ("get", "path"):
        done = run(what, "conl2000")
        assert (done.code, done.told) == (2, "sapo: unknown corpus 'conl2000'; did you mean 'conll2000'?\n")


def test_a_missing_argument_is_one_line_that_names_the_help(run: Run, home: Path) -> None:
    done = run("get")
    command = "python -m laboratory data get"
    assert (done.code, done.told) == (2, f"{command}: missing argument 'NAME'; see {command} --help\n")


def test_without_pooch_one_line_says_what_to_install(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("laboratory.__main__.find_spec", lambda name: None if name == "pooch" else name)
    done = run("list")
    message = "sapo: the laboratory needs pooch; in the clone: pip install -e '.[laboratory]'\n"
    assert (done.code, done.told) == (2, message)


def test_a_failed_download_ends_with_one_line_and_2(run: Run, tiny: Corpora, web: Any, home: Path) -> None:
    web.status["/test.txt"] = 404
    done = run("get", "tiny", "-q", corpora=tiny)
    assert done.code == 2
    assert done.told == f"sapo: tiny/test.txt.gz: not fetched; {web.url}/test.txt: HTTP 404 Not Found\n"


def test_a_checksum_or_trust_is_asked_for(run: Run, unknown: Corpora, web: Any, home: Path) -> None:
    done = run("get", "tiny", corpora=unknown)
    assert done.code == 2
    assert re.fullmatch(r"sapo: tiny/train.txt.gz: its checksum is not known here; .* --trust .*\n", done.told)
    done = run("get", "tiny", "--sha256", "abc", corpora=unknown)
    assert (done.code, done.told) == (2, "sapo: --sha256: expected 64 hexadecimal digits, found 'abc'\n")
    assert web.asked == []
    assert run("get", "tiny", "--trust", corpora=unknown).code == 0
    digest = (home / "tiny" / "train.txt.gz.sha256").read_text().split()[0]
    (home / "tiny" / "train.txt.gz").unlink()
    assert run("get", "tiny", "--sha256", digest, corpora=unknown).code == 0


def test_a_treebank_is_brought_from_a_directory(run: Run, home: Path, tmp_path: Path) -> None:
    for section in range(25):
        (tmp_path / f"wsj_{section:02d}01.mrg").write_text("( (S (NN a) ))")
    done = run("get", "wsj", "--from", tmp_path)
    assert (done.code, done.out) == (0, f"{home / 'wsj'}\n")
    assert done.told.startswith("sentences: train 19, dev 3, test 3\n")
    done = run("get", "conll2000", "--from", tmp_path)
    assert (done.code, done.told) == (
        2,
        "sapo: --from: is for wsj, which must be bought; conll2000 is fetched without it\n",
    )


def test_a_bar_moves_in_a_terminal(
    run: Run, tiny: Corpora, web: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    done = run("get", "tiny", corpora=tiny)
    assert done.code == 0
    assert "train.txt" in done.told
    assert "━" in done.told


SCRIPT = """
import sys
from laboratory.__main__ import app
from laboratory.datasets.registry import Corpus, CorpusFile, Source
from sapo.cli.main import run_commands
file = CorpusFile("train.txt.gz", "0" * 64, (Source(sys.argv.pop()),))
run_commands(app, "laboratory", {"tiny": Corpus("tiny", "pos", 1, (file,), ("word",), "free", "free", "Nobody")})
"""


def test_ctrl_c_while_fetching_leaves_nothing(web: Any, home: Path) -> None:
    web.stall = True
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, "data", "get", "tiny", f"{web.url}/train.txt"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                map(str, [Path(sapo.__file__).parents[1], Path(laboratory.__file__ or "").parents[1]])
            ),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stderr is not None
        assert process.stderr.readline() == f"fetching {web.url}/train.txt\n"
        assert web.half_sent.wait(60)
        process.send_signal(signal.SIGINT)
        out, told = process.communicate(timeout=60)
    assert (process.returncode, out, told.strip()) == (130, "", "sapo: interrupted")
    assert list(home.iterdir()) == []
