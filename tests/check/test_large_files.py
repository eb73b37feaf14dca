"""Files that would fill the memory are refused in one line."""

import gzip
from pathlib import Path

import pytest

from sapo import SapoError
from sapo.check.reading import read_text
from sapo.errors import allow_limits


def test_a_small_file_that_unpacks_to_much_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"a O\n" * 1_000_000))
    with allow_limits(whole=3_000_000), pytest.raises(SapoError, match=r"bomb\.gz: .*`allow_limits\(whole=") as refusal:
        read_text(tmp_path / "bomb.gz")
    assert "\n" not in str(refusal.value)


def test_a_line_above_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_bytes(b"a O\n" + bytes(2_000) + b"\n")
    with allow_limits(line=1_000), pytest.raises(SapoError, match="bytes in a line"):
        read_text(tmp_path / "long.txt")
    assert len(read_text(tmp_path / "long.txt")[0]) == 3
