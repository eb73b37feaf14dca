"""Change one number of a model again and again, with a checksum that fits, and use what is still loaded.

Interpreted kernels check their indices, and a process of its own may crash: `refused_and_used` runs this file.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import sapo
from sapo.tagger.arrayfile import load_arrays, save_arrays


def refused_and_used(model: Path, words: list[str], times: int) -> tuple[int, int]:
    """Return how many of the changed models were refused, and how many tagged the words."""
    done = subprocess.run(
        [sys.executable, __file__, model, str(times), *words],
        env={**os.environ, "PYTHONPATH": str(Path(sapo.__file__).parent.parent)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    refused, used = map(int, done.stdout.split())
    return refused, used


def main(model: str, times: str, *words: str) -> None:
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    changed = f"{model}.changed"
    header, arrays = load_arrays(model, "a file")
    names = sorted(name for name in arrays if arrays[name].size)
    rng = np.random.default_rng(3)
    refused = used = 0
    for _ in range(int(times)):
        name = names[rng.integers(len(names))]
        array = arrays[name].copy().reshape(-1)
        place, other = rng.integers(len(array), size=2)
        array[place] = array[other] if rng.random() < 0.5 else rng.integers(0, 12)
        save_arrays(changed, header, {**arrays, name: array.reshape(arrays[name].shape)})
        try:
            tagger = sapo.Tagger.load(changed)
        except sapo.SapoError:
            refused += 1
            continue
        used += 1
        tagger.tag(list(words))
        tagger.nbest(list(words[::-1]), 2)
    assert "numba" not in sys.modules
    print(refused, used)


if __name__ == "__main__":
    main(*sys.argv[1:])
