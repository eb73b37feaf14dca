"""Run tests with the oldest dependencies that pyproject.toml allows: python tools/lower_bounds.py [TESTS ...]

An environment is made in .venv-lower with exactly the lower bounds of the core and of the extras in EXTRAS; test tools
are the newest. Arguments are passed to pytest; the default is TESTS. The oldest Python of pyproject.toml should run it.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
VENV = ROOT / ".venv-lower"
EXTRAS = ("data", "sklearn", "report", "serve", "arrow")
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "safetensors", "scipy", "jinja2")
TESTS = (
    "tests/corpus",
    "tests/encode",
    "tests/model",
    "tests/tagger",
    "tests/training",
    "tests/sklearn",
    "tests/serve",
)


def lowest(requirement: str) -> str:
    """Return a requirement with its lower bound as the only version.

    >>> lowest("torch>=2.4,<3")
    'torch==2.4'
    """
    name, bound = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+).*", requirement).groups()  # type: ignore[union-attr]
    return f"{name}=={bound}"


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [*project["dependencies"], *(one for extra in EXTRAS for one in project["optional-dependencies"][extra])]
    pins = sorted({lowest(one) for one in needed})
    print("with", ", ".join(pins), flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    pip = [str(VENV / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory() as directory:
        bounds = Path(directory) / "bounds.txt"
        bounds.write_text("\n".join(pins) + "\n")
        subprocess.run([*pip, "-c", str(bounds), "-e", f"{ROOT}[{','.join(EXTRAS)}]", *TOOLS], check=True)
    tests = sys.argv[1:] or TESTS
    sys.exit(subprocess.run([str(VENV / "bin/pytest"), "-n", "auto", *tests], cwd=ROOT, check=False).returncode)


if __name__ == "__main__":
    main()
