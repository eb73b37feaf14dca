"""Install packages into an environment, which is made if it is not there: python tools/install.py .venv -e . ...

A new environment needs a pip of its own, which takes some seconds to install. Meanwhile the pip of this Python, if it
has one that can do so, installs the packages. Bytecode is compiled at the end by all cores; pip would use one.
"""

import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

NOTHING = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
QUIETLY = ["install", "--quiet", "--disable-pip-version-check", "--no-compile"]
FIRST = (22, 3)  # the first pip that can install into another environment


def can_install_elsewhere() -> bool:
    """Return whether the pip of this Python has the option --python."""
    try:
        return tuple(map(int, version("pip").split(".")[:2])) >= FIRST
    except (PackageNotFoundError, ValueError):
        return False


def main() -> int:
    directory, *packages = sys.argv[1:]
    python = Path(directory) / "bin" / "python"
    if not python.exists():
        venv.create(directory, symlinks=True)
    with subprocess.Popen([python, "-m", "ensurepip", "--default-pip"], **NOTHING) as own:
        if not can_install_elsewhere():
            own.wait()
            pip = [python, "-m", "pip"]
        else:
            pip = [sys.executable, "-m", "pip", "--python", python]
        failed = subprocess.run([*pip, *QUIETLY, *packages]).returncode
    if not failed:  # some packages have templates that do not compile: they are never imported
        subprocess.run([python, "-W", "ignore", "-m", "compileall", "-qq", "-j", "0", Path(directory) / "lib"])
    return failed


if __name__ == "__main__":
    sys.exit(main())
