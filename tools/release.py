"""Build the wheel and the sdist, and use the wheel as its users will: python tools/release.py [--quick]

    --quick   install the wheel beside the packages of this environment, and train without compiling (a few seconds)

Otherwise the wheel is installed into a clean environment with its dependencies, and `sapo demo`, `train` and `tag` run
compiled. Files are in dist/ afterwards. Exits with 1 and one line if something is wrong.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
NEEDED = ("sapo/py.typed", "sapo/features/presets/chunking.txt", "sapo/cli/explanation.css", "sapo/corpus/sample/")
UNWANTED = ("tests/", "laboratory/", "benchmarks/", "docs/")
SOURCES = (
    "src/sapo/__init__.py",
    "tests/conftest.py",
    "docs/tutorial.md",
    "mkdocs.yml",
    "tools/release.py",
    "Makefile",
)


def main() -> None:
    """Check everything, in the order in which it goes wrong most often."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    version = check_versions()
    wheel, sdist = build(version)
    check_contents(wheel, sdist)
    with tempfile.TemporaryDirectory() as directory:
        room = Path(directory)
        command, environment = install_beside(wheel, room) if quick else install_clean(wheel, room)
        use(command, environment, room, version, quick=quick)
    print(f"{wheel.name} and {sdist.name} are fine")


def check_versions() -> str:
    """Return the version, which all files must agree on."""
    version: str = tomllib.loads(_read("pyproject.toml"))["project"]["version"]
    for name, pattern in (
        ("src/sapo/__init__.py", rf'^__version__ = "{re.escape(version)}"$'),
        ("CITATION.cff", rf"^version: {re.escape(version)}$"),
        ("CHANGELOG.md", rf"^## {re.escape(version)}\b"),
    ):
        if not re.search(pattern, _read(name), re.MULTILINE):
            _fail(f"{name}: does not have version {version} of pyproject.toml")
    return version


def build(version: str) -> tuple[Path, Path]:
    """Build the sdist, and from it the wheel, without the network."""
    shutil.rmtree(DIST, ignore_errors=True)
    _run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(DIST), str(ROOT)])
    return DIST / f"sapo_nlp-{version}-py3-none-any.whl", DIST / f"sapo_nlp-{version}.tar.gz"


def check_contents(wheel: Path, sdist: Path) -> None:
    """Look for what must, and must not, be in the files."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for needed in NEEDED:
        if not any(name.startswith(needed) for name in names):
            _fail(f"{wheel.name}: has no {needed}")
    for name in names:
        if name.startswith(UNWANTED) or "__pycache__" in name:
            _fail(f"{wheel.name}: should not have {name}")
    with tarfile.open(sdist) as source:
        members = {name.partition("/")[2] for name in source.getnames()}
    for needed in SOURCES:
        if needed not in members:
            _fail(f"{sdist.name}: has no {needed}; see [tool.hatch.build.targets.sdist]")


def install_beside(wheel: Path, room: Path) -> tuple[list[str], dict[str, str]]:
    """Unpack the wheel into a directory that comes before the packages of this environment."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(room / "packages")
    interpreted = {"NUMBA_DISABLE_JIT": "1"}
    return [sys.executable, "-m", "sapo"], {**os.environ, **interpreted, "PYTHONPATH": str(room / "packages")}


def install_clean(wheel: Path, room: Path) -> tuple[list[str], dict[str, str]]:
    """Install the wheel and its dependencies into an environment of its own, with an empty cache."""
    _run([sys.executable, "-m", "venv", str(room / "venv")])
    _run([str(room / "venv/bin/pip"), "install", "--quiet", "--disable-pip-version-check", str(wheel)])
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return [str(room / "venv/bin/sapo")], {**environment, "XDG_CACHE_HOME": str(room / "cache")}


def use(command: list[str], environment: dict[str, str], room: Path, version: str, *, quick: bool) -> None:
    """Run the commands that every user runs first."""

    def sapo(*arguments: str) -> str:
        return _run([*command, *arguments], cwd=room, env=environment)

    if sapo("--version").strip() != f"sapo {version}":
        _fail(f"sapo --version prints {sapo('--version')!r}, not {version}")
    python = command[0] if quick else str(room / "venv/bin/python")
    if not _run([python, "-c", "import sapo; print(sapo.__file__)"], cwd=room, env=environment).startswith(str(room)):
        _fail("the package that was used is not that of the wheel")
    _run([python, "-m", "sapo", "--version"], cwd=room, env=environment)
    sapo("demo", ".", "-q")
    train = (room / "ner-train.txt").read_text("utf-8").split("\n\n")
    (room / "few.txt").write_text("\n\n".join(train[:30]) + "\n\n", "utf-8")
    few = ("few.txt", "-e", "2", "--rate", "0.2", "--strength", "0.3") if quick else ("ner-train.txt",)
    if not quick and "held-out" not in sapo("demo"):
        _fail("sapo demo does not show its scores")
    sapo("train", *few, "-q", "-o", "ner.sapo")
    if sapo("tag", "ner.sapo", "--text", "The trams in Zagreb were slow.").count("\n") < 7:
        _fail("sapo tag does not tag a sentence")
    if "_sapo_completion" not in _run(command, cwd=room, env={**environment, "_SAPO_COMPLETE": "bash_source"}):
        _fail("no completion for bash")


def _read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def _run(command: list[str], *, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        _fail(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def _fail(message: str) -> None:
    print(f"release: {message}", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main()
