"""The examples of docs/neural.md run."""

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

PAGE = Path(__file__).parents[2] / "docs" / "neural.md"


def test_the_python_example_runs() -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    exec(example, names)
    assert [len(tags) for tags in names["best"]] == [7, 4]  # type: ignore[attr-defined]
    assert [len(ranked) for ranked in names["ranked"]] == [3, 3]  # type: ignore[attr-defined]
