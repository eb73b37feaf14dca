"""The files of a directory of runs: where they are, whether they are finished, what is in them."""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sapo.corpus.files import write_file
from sapo.errors import SapoError
from sapo.jit.arrays import Ints, Longs

Line = dict[str, Any]


def run_path(directory: Path, system: str, seed: int) -> Path:
    """
    >>> run_path(Path("runs/chunking"), "Perc-Avg", 0).as_posix()
    'runs/chunking/perc-avg-seed0.jsonl'
    """
    return directory / f"{system.lower()}-seed{seed}.jsonl"


def read_lines(path: Path) -> list[Line]:
    """Read the lines of a file, none if there is no file. A last line that was cut off is left out."""
    try:
        texts = path.read_text("utf-8").splitlines(keepends=True)
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise SapoError(f"{path}: cannot be read ({error})") from None
    lines = []
    for number, text in enumerate(texts, 1):
        try:
            line = json.loads(text)
        except ValueError:
            line = None
        if not isinstance(line, dict):
            if number == len(texts):
                break
            raise SapoError(f"{path}:{number}: not a line of a run: {text.strip()!r:.40}; delete the file to redo it")
        lines.append(line)
    return lines


def is_finished(lines: Sequence[Line]) -> bool:
    return bool(lines) and lines[-1].get("kind") == "end"


def append_line(path: Path, line: Line) -> None:
    """Write a line at once, so that a run that is stopped leaves all lines so far."""
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(_text(line))
    except OSError as error:
        raise SapoError(f"{path}: cannot be written ({error.strerror or error})") from None


def write_lines(path: Path, lines: Sequence[Line]) -> None:
    """Write the whole file at once."""
    with write_file(path) as stream:
        stream.write("".join(map(_text, lines)).encode())


def write_tags(path: Path, labels: Sequence[str], tags: Ints, offsets: Longs) -> None:
    """Write one tag a line, and an empty line after each sentence."""
    names = [labels[tag] for tag in tags.tolist()]
    ends = offsets.tolist()
    with write_file(path) as stream:
        for begin, end in itertools.pairwise(ends):
            stream.write("".join(f"{name}\n" for name in [*names[begin:end], ""]).encode())


def _text(line: Line) -> str:
    return json.dumps(line, ensure_ascii=False) + "\n"
