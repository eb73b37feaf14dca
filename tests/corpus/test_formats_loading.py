"""Formats are loaded when they are used, and the names of the tools stand in two places."""

from sapo.corpus.exchange import TOOLS
from sapo.corpus.formats import FORMATS
from sapo.corpus.formats import TOOLS as NAMES


def test_every_format_can_be_loaded() -> None:
    assert tuple(TOOLS) == NAMES
    assert len(FORMATS) == len(list(FORMATS))
    assert all(hasattr(FORMATS[name], "read_blocks") for name in FORMATS)
    assert "nothing" not in FORMATS
