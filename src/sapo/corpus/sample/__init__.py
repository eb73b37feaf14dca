"""The bundled sample: paths of its two files and the names of their columns."""

from importlib.resources import as_file, files
from pathlib import Path

COLUMNS = ("word", "pos", "chunk", "entity")


def sample_path(part: str) -> Path:
    """The path of `train` or `test`.

    >>> sample_path("train").name
    'train.txt'
    """
    with as_file(files(__package__) / f"{part}.txt") as path:
        return path
