"""How long it takes to tag one sentence, from nothing: python benchmarks/start.py [MODEL] [--runs 15]

A new process each time, with warm files: `sapo tag`, and in Python `import sapo`, `Tagger.load` and the first tag.
Beside them Python alone and Python with NumPy, which we cannot make faster. All of them run in turn. Without MODEL, one
is trained on CoNLL-2000 with the preset `chunking` (see SAPO_DATA). Times are seconds of waiting, with the start of
Python: until the tags are there, and until Python has ended. Run it on a quiet machine.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
SENTENCE = [("The", "DT"), ("cat", "NN"), ("sleeps", "VBZ"), ("in", "IN"), ("Oslo", "NNP"), (".", ".")]
IN_PYTHON = f"import sys, sapo; print(sapo.Tagger.load(sys.argv[1]).tag({SENTENCE}), flush=True)"


def commands(model: Path, sentence: Path) -> dict[str, list[str]]:
    """What is measured."""
    sapo = [sys.executable, "-c", "from sapo.cli import main; main()"]
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "python -c 'import numpy'": [sys.executable, "-c", "import numpy"],
        "sapo tag, one sentence": [*sapo, "tag", str(model), str(sentence)],
        "import sapo, load, first tag": [sys.executable, "-c", IN_PYTHON, str(model)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--runs", type=int, default=15)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        # Bytecode as an installed package has it, whatever this environment says about it.
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        env |= {"PYTHONPATH": str(ROOT / "src"), "PYTHONPYCACHEPREFIX": f"{directory}/bytecode"}
        model, sentence = given.model or Path(directory) / "model", Path(directory) / "sentence.txt"
        sentence.write_text("".join(f"{word} {pos}\n" for word, pos in SENTENCE))
        if given.model is None:
            train = Path(os.environ["SAPO_DATA"]) / "conll2000/train.txt.gz"
            sapo = [sys.executable, "-c", "from sapo.cli import main; main()"]
            subprocess.run([*sapo, "train", str(train), "-t", "chunking", "-q", "-o", str(model)], env=env, check=True)
        print(f"model of {model.stat().st_size / 1e6:.1f} MB, {given.runs} runs")
        print("| command | tags: best | median | end: best | median |\n|---|--:|--:|--:|--:|")
        taken: dict[str, list[tuple[float, float]]] = {}
        for turn in range(given.runs + 1):
            for name, command in commands(model, sentence).items():
                seconds = measure(command, env)
                if turn:  # the first turn warms the files
                    taken.setdefault(name, []).append(seconds)
    for name, pairs in taken.items():
        columns = [f"{min(column):.3f} | {statistics.median(column):.3f}" for column in zip(*pairs, strict=True)]
        print(f"| {name} | {' | '.join(columns)} |")


def measure(command: list[str], env: dict[str, str]) -> tuple[float, float]:
    """Run a command; return the seconds until it printed something, or ended, and until it ended."""
    started = time.perf_counter()
    with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.read(1)
        first = time.perf_counter() - started
        running.stdout.read()
    assert running.returncode == 0
    return first, time.perf_counter() - started


if __name__ == "__main__":
    main()
