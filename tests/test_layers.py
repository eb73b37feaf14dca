"""What is slow to load is loaded only when it is needed."""

import os
import subprocess
import sys
from pathlib import Path

import sapo

HEAVY = ("numba", "numpy", "torch", "matplotlib", "sklearn", "ray")
LOADED = f"print(*[name for name in {HEAVY} if name in sys.modules], 'end', file=sys.stderr)"


def loads(code: str, **more: str) -> list[str]:
    """Which heavy modules a new process has loaded after this code."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\n{LOADED}"],
        env={**os.environ, "PYTHONPATH": str(Path(sapo.__file__).parent.parent), **more},
        capture_output=True,
        text=True,
        check=True,
    )
    *found, end = done.stderr.split()
    assert end == "end"
    return found


def run_command(*args: object) -> str:
    return f"""
from sapo.cli import main
sys.argv = {["sapo", *map(str, args)]!r}
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""


def test_only_one_file_knows_numba() -> None:
    package = Path(sapo.__file__).parent
    importing = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if any(line.strip().startswith(("import numba", "from numba")) for line in path.read_text("utf-8").splitlines())
    ]
    assert importing == ["jit/compiler.py"]


def test_importing_sapo_loads_nothing_heavy() -> None:
    assert loads("import sapo; sapo.__version__; sapo.SapoError") == []


def test_help_loads_nothing_heavy() -> None:
    assert loads(run_command("--help")) == []


def test_tagging_a_sentence_loads_no_numba(tmp_path: Path) -> None:
    sapo.train([(["a", "dog"], ["DT", "NN"])], template="pos", epochs=1).save(tmp_path / "model")
    (tmp_path / "text.txt").write_text("a\ndog\n")
    assert loads(run_command("tag", tmp_path / "model", tmp_path / "text.txt")) == ["numpy"]
