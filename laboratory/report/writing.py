"""Write the files of the report on a directory of runs."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path

from laboratory.report.contents import TITLE, Contents, report_blocks, verdicts
from laboratory.report.drawing import draw
from laboratory.report.figures import FILE_NAMES, pictures
from laboratory.report.findings import Significances
from laboratory.report.html import to_html
from laboratory.report.markdown import to_markdown
from laboratory.report.results import TaskResults, by_task
from laboratory.report.run_records import THEORY, read_runs
from laboratory.report.significance import Compare, against_sapo, compare_with_tests
from laboratory.report.tables import task_numbers
from laboratory.report.theory_figures import theory_picture
from laboratory.report.theory_files import read_theory
from laboratory.report.timing import with_times_of
from sapo.cli.plots import check_matplotlib
from sapo.corpus.files import write_file
from sapo.errors import SapoError


def write_report(
    runs: str | Path,
    target: str | Path,
    *,
    times: str | Path | None = None,
    compare: Compare = compare_with_tests,
    say: Callable[[str], None] = lambda _: None,
) -> Contents:
    """Write report.html, report.md, numbers.json and figures/ of a directory of runs into `target`.

    `times` is a directory of runs that were made to be timed; `compare` compares two taggings; `say` hears what is
    being done.
    """
    check_matplotlib()
    reading = read_runs(runs)
    timed = () if times is None else read_runs(times).runs
    reading = replace(reading, runs=with_times_of(reading.runs, timed))
    tasks = by_task(reading.runs)
    where = _directory(Path(target))
    significances = {task.name: _compare(task, compare, say) for task in tasks}
    figures = []
    for picture in pictures(tasks):
        say(f"drawing {picture.name}")
        figures.append(draw(picture))
    theory = read_theory(Path(runs) / THEORY)
    theory_figures = [
        None if part.figure is None else draw(theory_picture(f"theory{at}", part.title, part.figure))
        for at, part in enumerate(theory, start=1)
    ]
    contents = Contents(reading, tasks, significances, figures, theory, theory_figures, timed=bool(timed))
    _write_all(where, contents)
    return contents


def _compare(task: TaskResults, compare: Compare, say: Callable[[str], None]) -> Significances:
    found = {}
    say(f"comparing the systems of {task.name} with SAPO")
    for system, significance in against_sapo(task, compare):
        found[system] = significance
        say(f"compared {system} of {task.name}")
    return found


def _directory(target: Path) -> Path:
    try:
        (target / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SapoError(f"{target}: no report can be written there ({error.strerror}); give another -o") from None
    return target


def _write_all(where: Path, contents: Contents) -> None:
    """Write the figures first: a page that exists then has all that it shows."""
    drawn = {}
    for one in (*contents.figures, *contents.theory_figures):
        if one is not None:
            drawn[f"{one.picture.name}.svg"] = one.svg
            drawn[f"{one.picture.name}.png"] = one.png
    ours = _earlier_figures(where)
    for name, data in drawn.items():
        _write(where / "figures" / name, data)
    for name in ours - set(drawn):  # these runs do not give them
        (where / "figures" / name).unlink(missing_ok=True)
    numbers = {
        "tasks": {task.name: task_numbers(task, contents.significances.get(task.name, {})) for task in contents.tasks},
        "tuning": {one.task: {"scores": one.scores, "strength": one.strength} for one in contents.reading.tunings},
        "claims": verdicts(contents),
        "skipped": {one.path: one.why for one in contents.reading.skipped},
    }
    text = json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    _write(where / "numbers.json", text.encode("utf-8"))
    _write(where / "report.md", to_markdown(report_blocks(contents)).encode("utf-8"))
    _write(where / "report.html", to_html(TITLE, report_blocks(contents)).encode("utf-8"))


def _earlier_figures(where: Path) -> set[str]:
    """Return the names of figures that an earlier report left. If there is none, files of these names are not ours."""
    try:
        page = (where / "report.html").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return set()
    if f"<title>{escape(TITLE)}</title>" not in page:
        return set()
    found = (path.name for path in (where / "figures").iterdir() if path.is_file())
    return {name for name in found if name in FILE_NAMES or re.fullmatch(r"theory\d+\.(svg|png)", name)}


def _write(path: Path, data: bytes) -> None:
    with write_file(path) as stream:
        stream.write(data)
