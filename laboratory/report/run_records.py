"""Read a directory of runs. Files that are unfinished or damaged are left out and named."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sapo.errors import SapoError

# A run of a hundred passes has some 50 kB; what is far beyond is no run, and reading it would only fill the memory.
MOST_BYTES = 16 << 20
MOST_FILES = 10_000
THEORY = "theory"
TUNING = "tuning.jsonl"
TEXTS = ("task", "title", "metric", "system", "command", "template", "version")  # of a run's first line
COUNTS = ("seed", "features", "labels", "train_sentences", "train_tokens", "test_sentences", "test_tokens")


@dataclass(frozen=True, slots=True)
class Pass:
    """What was measured of one pass; score and token accuracy are of the test set, in per cent."""

    epoch: int
    score: float
    seconds: float
    token_accuracy: float | None
    objective: float | None
    w_complexity: float | None  # a neural system may have none


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One system trained on one task from one seed."""

    task: str
    title: str
    metric: str
    system: str
    seed: int
    command: str
    template: str
    version: str
    features: int
    paper_features: int | None
    labels: int
    train_sentences: int
    train_tokens: int
    test_sentences: int
    test_tokens: int
    settings: dict[str, Any]
    passes: tuple[Pass, ...]
    path: Path

    @property
    def tags_path(self) -> Path:
        return self.path.with_suffix(".tags")


@dataclass(frozen=True, slots=True)
class TuningRecord:
    """The strengths that were tried for a task, each with its mean score, and the chosen one."""

    task: str
    scores: dict[float, float]
    strength: float
    how: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not in the report, and why."""

    path: str  # from the directory of runs
    why: str


@dataclass(frozen=True, slots=True)
class Reading:
    """All that a directory of runs holds."""

    runs: tuple[RunRecord, ...]
    tunings: tuple[TuningRecord, ...]
    skipped: tuple[Skipped, ...]


class _DamagedError(Exception):
    """Why a file is left out."""


def read_runs(directory: str | Path) -> Reading:
    """Read all runs of a directory. A damaged file is skipped; raise SapoError if no run is left."""
    root = Path(directory)
    if not root.is_dir():
        raise SapoError(f"{root}: no such directory; give one that `python -m laboratory experiment` has made")
    runs, tunings, skipped = [], [], []
    for path in _run_files(root):
        try:
            if path.name == TUNING:
                tunings.append(_tuning(path))
            else:
                runs.append(_run(path))
        except _DamagedError as why:
            skipped.append(Skipped(path.relative_to(root).as_posix(), str(why)))
    if not runs:
        first = f" ({skipped[0].path}: {skipped[0].why})" if skipped else ""
        raise SapoError(f"{root}: holds no finished run{first}; make some with `python -m laboratory experiment`")
    return Reading(tuple(runs), tuple(tunings), tuple(skipped))


def _run_files(root: Path) -> list[Path]:
    found = sorted(path for path in root.glob("*/*.jsonl") if path.parent.name != THEORY)
    if len(found) > MOST_FILES:
        raise SapoError(f"{root}: holds {len(found)} files of runs, more than {MOST_FILES}; give a smaller directory")
    return found


def _run(path: Path) -> RunRecord:
    lines = list(_objects(path))
    header = _of_kind(lines[0], "run", "the first line")
    if lines[-1].get("kind") != "end":
        raise _DamagedError(f"unfinished: ends after {len(lines) - 1} passes")
    if lines[-1].get("interrupted"):
        raise _DamagedError(f"interrupted after {len(lines) - 2} passes")
    passes = tuple(_pass(line, epoch) for epoch, line in enumerate(lines[1:-1], start=1))
    if not passes:
        raise _DamagedError("holds no pass")
    told: dict[str, Any] = {key: _text(header, key) for key in TEXTS} | {key: _count(header, key) for key in COUNTS}
    run = RunRecord(
        **told,
        paper_features=None if header.get("paper_features") is None else _count(header, "paper_features"),
        settings=_dictionary(header, "settings"),
        passes=passes,
        path=path,
    )
    expected = f"{run.task}/{run.system.lower()}-seed{run.seed}.jsonl"
    if path.parts[-2:] != tuple(expected.split("/")):
        raise _DamagedError(f"is the run of {expected} by its first line")
    return run


def _pass(line: dict[str, Any], epoch: int) -> Pass:
    _of_kind(line, "pass", f"line {epoch + 1}")
    if _count(line, "epoch") != epoch:
        raise _DamagedError(f"pass {epoch} is missing: line {epoch + 1} is of pass {line['epoch']}")
    return Pass(
        epoch=epoch,
        score=_number(line, "score"),
        seconds=_number(line, "seconds"),
        **{
            key: None if line.get(key) is None else _number(line, key)
            for key in ("token_accuracy", "objective", "w_complexity")
        },
    )


def _tuning(path: Path) -> TuningRecord:
    lines = list(_objects(path))
    if lines[-1].get("kind") != "end":
        raise _DamagedError("unfinished: has no last line with the chosen strength")
    tried: dict[float, list[float]] = {}
    for at, line in enumerate(lines[:-1], start=1):
        _of_kind(line, "tuning", f"line {at}")
        tried.setdefault(_number(line, "strength"), []).append(_number(line, "score"))
    return TuningRecord(
        task=path.parent.name,
        scores={strength: sum(scores) / len(scores) for strength, scores in sorted(tried.items())},
        strength=_number(lines[-1], "strength"),
        how=_text(lines[-1], "how"),
    )


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON object of each line; there is at least one."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise _DamagedError(f"larger than {MOST_BYTES >> 20} MB")
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise _DamagedError(f"cannot be read ({error.strerror or error})") from None
    if lines[-1] == b"":
        lines.pop()
    if not lines:
        raise _DamagedError("is empty")
    for at, line in enumerate(lines, start=1):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            raise _DamagedError(f"line {at} is not JSON") from None
        if not isinstance(found, dict):
            raise _DamagedError(f"line {at} is not a JSON object")
        yield found


def _of_kind(line: dict[str, Any], kind: str, where: str) -> dict[str, Any]:
    if line.get("kind") != kind:
        raise _DamagedError(f"{where} must be of kind '{kind}', not {line.get('kind')!r:.40}")
    return line


def _text(line: dict[str, Any], key: str) -> str:
    value = line.get(key)
    if not isinstance(value, str) or not value:
        raise _DamagedError(f"'{key}' must be a text, not {value!r:.40}")
    return value


def _count(line: dict[str, Any], key: str) -> int:
    value = line.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _DamagedError(f"'{key}' must be a count, not {value!r:.40}")
    return value


def _number(line: dict[str, Any], key: str) -> float:
    value = line.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e300:
        raise _DamagedError(f"'{key}' must be a finite number, not {value!r:.40}")
    return float(value)


def _dictionary(line: dict[str, Any], key: str) -> dict[str, Any]:
    value = line.get(key)
    if not isinstance(value, dict):
        raise _DamagedError(f"'{key}' must be an object, not {value!r:.40}")
    return value
