"""Run the tests of what differs from main, for at most a minute: python tools/quick.py [SECONDS]

A changed test file runs, then the tests of the room of each changed file: tests/tags for src/sapo/tags/schemes.py.
Files not committed count as changed. The first failure ends the run. The rooms that use a changed room are not tested;
`make test` does that.
"""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
ALWAYS = ["tests/test_house.py", "tests/test_public.py"]
ALONE = {"tests/apps/ray": "cluster", "tests/apps/teach/browser": "browser"}  # one process each: targets of make
SECONDS = 75.0  # the start and the end take a few more


def main() -> int:
    """Run the tests. Return 0 if none has failed."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    targets = {
        target
        for name in changed_files()
        for target in places_of_tests(name)
        if (ROOT / target.split("::")[0]).exists()
    }
    files, directories = (sorted(one for one in targets if (ROOT / one).is_dir() == kind) for kind in (False, True))
    for alone, target in ALONE.items():
        if any(PurePosixPath(alone).is_relative_to(directory) for directory in directories):
            print(f"not run: {alone} (make {target})")
    chosen = dict.fromkeys([*files, *ALWAYS, *directories])
    print("pytest", *chosen, flush=True)
    ignored = [f"--ignore={alone}" for alone in ALONE]
    with subprocess.Popen([sys.executable, "-m", "pytest", "-x", "-n", "2", *ignored, *chosen], cwd=ROOT) as tests:
        try:
            return tests.wait(seconds)
        except subprocess.TimeoutExpired:
            tests.send_signal(signal.SIGINT)
            tests.wait()
            print(f"no failure in {seconds:.0f} seconds; `make test` runs the other tests")
            return 0


def changed_files() -> list[str]:
    """Return the files that differ from main, committed or not."""
    base = git("merge-base", "HEAD", "main") or ["HEAD"]
    return [*git("diff", "--name-only", *base), *git("ls-files", "--others", "--exclude-standard")]


def git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.splitlines()


def places_of_tests(name: str) -> Iterator[str]:
    """Return where the tests of a file may be."""
    path = PurePosixPath(name)
    match path.parts:
        case ("src", "sapo", room, *_) if path.suffix == ".py":
            yield name  # its doctests
            room = room.removesuffix(".py")
            yield f"tests/{room}"
            yield f"tests/test_{room}.py"
        case ("laboratory", *_):
            yield "tests/laboratory"
        case ("tests", *_) if path.name == "conftest.py":
            yield str(path.parent)
        case ("tests", *_) if path.name.startswith("test_"):
            yield name
        case ("docs", *_) | ("README.md",):
            yield "tests/docs/test_pages.py::test_links_lead_somewhere"
        case ("pyproject.toml",) | ("Makefile",) | (".github", *_):
            yield "tests/test_layers.py"
            yield "tests/test_workflows.py"


if __name__ == "__main__":
    sys.exit(main())
