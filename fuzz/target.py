"""What a target is (a function that takes bytes, and inputs to begin with), and small models for targets that tag."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sapo
from fuzz.doors import file

GOLDEN = Path(__file__).parent.parent / "tests" / "golden"
BYTES, JSON, ARRAYS = "bytes", "json", "arrays"  # how inputs are changed, beside their bytes


@dataclass(frozen=True, slots=True)
class Target:
    """A reader, inputs to begin with, how they are changed, and the package that it needs."""

    use: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    form: str = BYTES
    needs: str | None = None


TRAINING = [(["the", "cat", "sleeps"], ["DT", "NN", "VB"]), (["a", "dog"], ["DT", "NN"])] * 2
TEMPLATE = b"word[0]\nword[-1]\nsuffix(word[0], 2)\nlabel[-1]\n"
RUN: dict[str, Any] = {"rate": 0.1, "strength": 1.0, "tolerance": 0.0}


@functools.cache
def small() -> sapo.Tagger:
    """Return a model that takes words alone."""
    return sapo.train(TRAINING, template=file("t.txt", TEMPLATE), epochs=2, seed=1, **RUN)


@functools.cache
def golden(name: str) -> sapo.Tagger:
    """Return one of the models that are kept for ever."""
    return sapo.Tagger.load(GOLDEN / name)
