"""Write RUNS/theory/*.json, the parts of the report on theory. A part that exists is not made again."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from laboratory.setup import Say, Setup
from laboratory.sources import check_sources
from laboratory.tasks import TASKS
from laboratory.theory.approximation import NAMES, approximation
from laboratory.theory.bound_section import bound_section
from laboratory.theory.convergence import FULL, SMALL, Study, study_convergence
from laboratory.theory.equation_7_section import equation_7_section
from sapo import __version__, jit
from sapo.corpus.files import write_file

APPROXIMATION = "1-approximation"
OF_JOURNEYS: dict[str, Callable[[Sequence[Study]], dict[str, Any]]] = {
    "2-condition": equation_7_section,
    "3-bound": bound_section,
}
PARTS = (APPROXIMATION, *OF_JOURNEYS)


def command(setup: Setup) -> str:
    return "python -m laboratory experiment theory" + (" --small" if setup.small else "")


def left(setup: Setup) -> list[str]:
    """Return the parts that are missing or were made by another command."""
    return [name for name in PARTS if _made_by(_path(setup, name)) != command(setup)]


def forget(setup: Setup) -> None:
    for name in PARTS:
        _path(setup, name).unlink(missing_ok=True)


def make_parts(setup: Setup, say: Say) -> list[Path]:
    """Make what is left, and say what is done; return all files."""
    wanted = left(setup)
    if APPROXIMATION in wanted:
        for name in NAMES:  # before any work: is all data there?
            check_sources(TASKS[name], setup, say)
    jit.compile_kernels()
    if APPROXIMATION in wanted:
        _write(setup, APPROXIMATION, approximation(setup, say))
    later = [name for name in OF_JOURNEYS if name in wanted]
    if later:
        studies = [study_convergence(plan, say) for plan in (SMALL if setup.small else FULL)]
        for name in later:
            _write(setup, name, OF_JOURNEYS[name](studies))
    return [_path(setup, name) for name in PARTS]


def _path(setup: Setup, name: str) -> Path:
    return setup.runs / "theory" / f"{name}.json"


def _made_by(path: Path) -> str | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found.get("command") if isinstance(found, dict) else None


def _write(setup: Setup, name: str, part: dict[str, Any]) -> None:
    path = _path(setup, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    made = {"title": part["title"], "command": command(setup), "version": __version__, **part}
    with write_file(path) as stream:
        stream.write((json.dumps(made, ensure_ascii=False, indent=1) + "\n").encode())
