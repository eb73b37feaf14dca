"""What the harness has found stays mended: each file here once gave a traceback, or took too long."""

import random
from pathlib import Path

import pytest

from fuzz.mutations import mutated
from fuzz.target import ARRAYS
from fuzz.targets import TARGETS, use

SLOW = ("model-many-labels-2",)  # has 453 labels; model-lists-2 has the same kind of weights
FOUND = sorted(path for path in Path(__file__).parent.iterdir() if path.is_file() and path.suffix == "")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_a_finding_stays_mended(path: Path) -> None:
    name = path.name.rpartition("-")[0]
    _need(name)
    use(name, path.read_bytes())


@pytest.mark.filterwarnings("ignore")  # hostile numbers overflow
@pytest.mark.parametrize("name", [name for name in TARGETS if name not in SLOW])
def test_changed_files_do_no_harm(name: str) -> None:
    _need(name)
    rng, pool = random.Random(name), TARGETS[name].seeds()  # `make fuzz` draws others
    for _ in range(30 if TARGETS[name].form == ARRAYS else 100):  # models and checkpoints take longer
        data = mutated(rng.choice(pool), rng, pool, TARGETS[name].form)
        try:
            use(name, data)
        except Exception as error:
            raise AssertionError(f"{name}: {data!r}") from error


def _need(name: str) -> None:
    if (needs := TARGETS[name].needs) is not None:
        pytest.importorskip(needs)
