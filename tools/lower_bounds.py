"""Run tests with the oldest dependencies that pyproject.toml allows: python tools/lower_bounds.py [ARGUMENTS ...]

An environment is made in .venv-lower with exactly the lower bounds of the core and of all extras except LARGE; test
tools are the newest. Arguments are passed to pytest; the default is TESTS. The oldest Python of pyproject.toml should
run it. Three extras are large and tested only if asked for:

    python tools/lower_bounds.py --extra neural tests/neural     (PyTorch: some gigabytes)
    python tools/lower_bounds.py --extra ray tests/apps/ray       (Ray: some minutes)
    python tools/lower_bounds.py --extra transformers tests/training/test_distil.py     (PyTorch, too)
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
VENV = ROOT / ".venv-lower"
LARGE = ("neural", "ray", "transformers")
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "safetensors")
TESTS = (
    "tests/apps/assist",
    "tests/cli",
    "tests/corpus",
    "tests/features",
    "tests/evaluate",
    "tests/golden",
    "tests/jit",
    "tests/laboratory",
    "tests/learn",
    "tests/search",
    "tests/apps/serve",
    "tests/sklearn",
    "tests/tagger",
    "tests/training",
)
# Old packages may use what is deprecated in the newest releases of their own dependencies, and leave files open.
WARNINGS = ("DeprecationWarning", "FutureWarning", "ResourceWarning", "pytest.PytestUnraisableExceptionWarning")
FILTER = [option for warning in WARNINGS for option in ("-W", f"default::{warning}")]


def lowest(requirement: str) -> str:
    """Return a requirement with its lower bound as the only version.

    >>> lowest("torch>=2.4,<3")
    'torch==2.4'
    """
    name, bound = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+).*", requirement).groups()  # type: ignore[union-attr]
    return f"{name}=={bound}"


def install(extras: list[str], requirements: list[str]) -> None:
    """Make the environment, with the lower bounds of these requirements."""
    pins = sorted({lowest(one) for one in requirements})
    print("with", ", ".join(pins), flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    pip = [str(VENV / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory() as directory:
        bounds = Path(directory) / "bounds.txt"
        bounds.write_text("\n".join(pins) + "\n")
        subprocess.run([*pip, "-c", str(bounds), "-e", f"{ROOT}[{','.join(extras)}]", *TOOLS], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extra", choices=LARGE, action="append", default=[])
    chosen, arguments = parser.parse_known_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    optional = project["optional-dependencies"]
    extras = [extra for extra in optional if extra != "dev" and (extra not in LARGE or extra in chosen.extra)]
    install(extras, [*project["dependencies"], *(one for extra in extras for one in optional[extra])])
    # Tests of a cluster share one, so they run in one process.
    workers = "0" if "ray" in chosen.extra else "auto"
    command = [str(VENV / "bin/pytest"), "-n", workers, *FILTER, *(arguments or TESTS)]
    sys.exit(subprocess.run(command, cwd=ROOT, check=False).returncode)


if __name__ == "__main__":
    main()
