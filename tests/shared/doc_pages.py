"""A page of the documentation in, what its code blocks print out.

Blocks of `sh` and `python` run in order in a directory that holds the files of `sapo demo`. The next block of `text`
shows what they print. Comments in a page say what differs:

    <!-- not run: REASON -->       above a block: it is not run, or (text) not compared
    <!-- exits: 1 -->              above a block: the code its last command ends with
    <!-- before: COMMAND -->       a command to run first, which readers need not see
    <!-- needs: MODULE -->         without this module the page is not run

A `python` block that begins with `# NAME.py` is saved under that name. A command that ends with `&` runs until the end
of the page; it must print its address when it is ready.
"""

import contextlib
import io
import os
import re
import shlex
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from sapo.cli.main import app

BLOCK = re.compile(r"^((?:<!-- .*? -->\n)*)```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!-- ([\w ]+): (.*?) -->")
SHELL = set("|&;<>()$`*{}~")  # a command with one of these needs a shell
SOURCE = Path(__file__).parents[2] / "src"
PORT = "8000"  # of servers in pages; replaced by a free one
ADDRESS = "http://127.0.0.1:"  # what a server prints when it is ready


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line where it begins, and the comments above it."""

    language: str
    text: str
    line: int
    comments: dict[str, str]

    @property
    def runs(self) -> bool:
        return self.language in ("sh", "python") and "not run" not in self.comments


def all_pages(root: Path) -> list[Path]:
    """Return the README and the pages of the site, but not the report, which the laboratory writes."""
    return [path for path in (root / "README.md", *sorted((root / "docs").rglob("*.md"))) if path.name != "report.md"]


def read_blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    return [
        Block(found[2], found[3], text.count("\n", 0, found.start(2)) + 1, dict(COMMENT.findall(found[1])))
        for found in BLOCK.finditer(text)
    ]


def page_comments(text: str, name: str) -> list[str]:
    """Return the values of all comments with this name."""
    return [value for key, value in COMMENT.findall(text) if key == name]


def comparable(text: str) -> list[str]:
    """Return lines without numbers and runs of blanks: the last digits, and so widths, are those of a machine."""
    lines = [re.sub(r"[+-]?<?\d[\d.,]*\d|[+-]?\d", "#", re.sub("[ -]{2,}", " ", line)) for line in text.splitlines()]
    return [line.strip() for line in lines if line.strip()]


class Page:
    """One page in one directory: variables of Python blocks and background processes live until its end."""

    def __init__(self, text: str, room: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            text = text.replace(PORT, str(free.getsockname()[1]))
        self.text, self.room = text, room
        self.blocks = read_blocks(text)
        self.names: dict[str, Any] = {"__name__": "page"}
        self.servers: list[subprocess.Popen[str]] = []

    def run(self) -> Iterator[tuple[Block, str, str]]:
        """Run all blocks; yield each block of text that shows an output, with that output and what is shown."""
        printed: str | None = None
        try:
            for command in page_comments(self.text, "before"):
                self._shell(command, 0)
            for block in self.blocks:
                if block.runs:
                    printed = self._run(block)
                elif block.language == "text" and printed is not None and "not run" not in block.comments:
                    yield block, printed, block.text
                    printed = None
        finally:
            for server in self.servers:
                with server:  # waits for its end, and closes its pipe
                    server.terminate()

    def _run(self, block: Block) -> str:
        if block.language == "python":
            return self._python(block)
        return self._shell(block.text, int(block.comments.get("exits", 0)))

    def _python(self, block: Block) -> str:
        if name := re.match(r"# (\w+\.py)\n", block.text):
            (self.room / name[1]).write_text(block.text, "utf-8")
            return ""
        with contextlib.redirect_stdout(io.StringIO()) as output, _here(self.room), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile("\n" * block.line + block.text, "page", "exec"), self.names)
        return output.getvalue()

    def _shell(self, text: str, code: int) -> str:
        if "<<" in text or "\n " in text or "=$" in text:
            return self._subprocess(text, code)
        lines = [line for line in text.replace("\\\n", "").splitlines() if line.strip() and line[0] != "#"]
        return "".join(self._line(line, code if line is lines[-1] else 0) for line in lines)

    def _line(self, line: str, code: int) -> str:
        if line.rstrip().endswith("&"):
            self._serve(line.rstrip(" &"))
            return ""
        words = shlex.split(line, comments=True)
        quoted = re.sub(r"'[^']*'|\"[^\"$]*\"|#.*", "", line)
        if words[0] != "sapo" or SHELL & set(quoted):
            return self._subprocess(line, code)
        with _here(self.room), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = CliRunner().invoke(app, words[1:], prog_name="sapo", catch_exceptions=True)
        told = f"{line}\n{done.output}\n{done.exception!r}"
        assert done.exit_code == code, told
        return done.stdout

    def _subprocess(self, text: str, code: int) -> str:
        done = subprocess.run(
            ["bash", "-e", "-c", text],
            cwd=self.room,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, f"{text}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def _serve(self, command: str) -> None:
        server = subprocess.Popen(
            shlex.split(command),
            cwd=self.room,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.servers.append(server)
        assert server.stdout is not None
        said = next((line for line in server.stdout if ADDRESS in line), None)
        assert said is not None, f"{command} ended before it gave its address"

    def _environment(self) -> dict[str, str]:
        """Return an environment in which `python` and `sapo` are those of the tests."""
        tools = self.room / ".tools"
        if not tools.exists():
            tools.mkdir()
            for name, more in (("python", ""), ("sapo", " -m sapo")):
                (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{more} "$@"\n')
                (tools / name).chmod(0o755)
        path = f"{tools}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}


@contextlib.contextmanager
def _here(room: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(room)
    try:
        yield
    finally:
        os.chdir(before)
