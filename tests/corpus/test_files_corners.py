"""Writing: through links, and to a standard output that is full."""

import subprocess
import sys
from pathlib import Path

import pytest

from sapo.corpus.files import write_file


def test_a_link_stays_a_link_and_its_file_is_written(tmp_path: Path) -> None:
    # os.replace puts a new file in the place of the link; the file it leads to keeps the old content
    (tmp_path / "store").mkdir()
    real, link = tmp_path / "store" / "real.txt", tmp_path / "link.txt"
    real.write_bytes(b"old")
    link.symlink_to(real)
    with write_file(link) as stream:
        stream.write(b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


WRITE = """
from sapo.corpus.files import write_file
from sapo.errors import SapoError
try:
    with write_file("-") as stream:
        stream.write(b"x" * 100)
except SapoError as error:
    raise SystemExit(f"told: {error}")
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_standard_output_is_told_in_one_line() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", WRITE], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.stderr.splitlines()[0].startswith("told: ")
    assert "No space left on device" in done.stderr.splitlines()[0]
