"""The doctor and the ordinary reader agree on what a token, a comment and a sentence is."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sapo.check.reading import read_sheet
from sapo.corpus import read
from sapo.errors import SapoError

fields = st.sampled_from(["a", "#", "=", "-DOCSTART-", "b", "O", "\u00e9"])
lines = st.one_of(st.just([]), st.lists(fields, min_size=3, max_size=3), st.lists(fields, min_size=1, max_size=4))


@given(st.lists(lines, max_size=12), st.sampled_from(["\t", " ", "  "]), st.sampled_from(["\n", "\r\n"]))
def test_a_file_that_can_be_read_is_read_alike(rows: list[list[str]], separator: str, end: str) -> None:
    with tempfile.TemporaryDirectory() as room:
        path = Path(room) / "train.txt"
        path.write_bytes("".join(separator.join(row) + end for row in [["a", "b", "O"], *rows]).encode())
        sheet = read_sheet(path)
        try:
            expected = list(read(path))
        except SapoError:
            return
        assert not sheet.faults
        assert list(sheet.words) == [word for sentence in expected for word in sentence.words]
        assert list(sheet.labels) == [tag for sentence in expected for tag in sentence.tags or ()]
        assert sheet.lengths == [len(sentence) for sentence in expected]
