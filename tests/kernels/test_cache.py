"""Compiled kernels are kept apart: those with bounds checks from those without, and all of them from stale ones."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sapo.kernels import score

LATE = """
import numpy as np
from sapo import kernels
kernels.compile_kernels()
from sapo.kernels import score
score.path_score(np.zeros((1, 1), np.float32), np.zeros((1, 1, 1), np.float32), np.zeros(1, np.int32), 1)
"""


def test_checked_kernels_notice_an_index_outside(kernel_mode: str) -> None:
    if kernel_mode != "checked":
        pytest.skip("kernels run without bounds checks")
    node = np.zeros((2, 2), np.float32)
    with pytest.raises(IndexError):
        score.path_score(node, node[np.newaxis], np.array([0, 2], np.int32), 2)


def test_a_kernel_imported_after_compiling_is_cached_with_the_others(tmp_path: Path) -> None:
    # elsewhere numba neither notices a changed callee nor tells checked kernels from unchecked ones
    subprocess.run([sys.executable, "-c", LATE], env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, check=True)
    homes = {path.parent.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*.nbi")}
    assert homes == {"sapo"}
