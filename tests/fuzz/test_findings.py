"""What the harness has found stays mended: each file here once gave a traceback, or took too long."""

import random
from pathlib import Path

import pytest

from fuzz.mutations import mutated
from fuzz.targets import TARGETS, use

FOUND = sorted(path for path in Path(__file__).parent.iterdir() if path.suffix == "")


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_a_finding_stays_mended(path: Path) -> None:
    name = path.name.rpartition("-")[0]
    if "network" in name:
        pytest.importorskip("torch")
    use(name, path.read_bytes())


@pytest.mark.parametrize("name", [name for name in TARGETS if not TARGETS[name].arrays])
def test_a_hundred_changed_files_do_no_harm(name: str) -> None:
    rng, pool = random.Random(name), TARGETS[name].seeds()  # `make fuzz` draws others
    for _ in range(100):
        data = mutated(rng.choice(pool), rng, pool, arrays=False)
        try:
            use(name, data)
        except Exception as error:
            raise AssertionError(f"{name}: {data!r}") from error
