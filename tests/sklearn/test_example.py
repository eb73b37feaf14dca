"""The example for users of sklearn-crfsuite runs, and would run there: only the import differs."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sapo
from sapo.corpus.formats import read
from sapo.corpus.sample import COLUMNS, sample_path

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "chunking_sklearn_crfsuite.py"


def run(script: Path, data: Path) -> str:
    """What a program prints when the bundled sample stands in for CoNLL-2000."""
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(Path(sapo.__file__).parent.parent), "SAPO_DATA": str(data)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "conll2000").mkdir()
    for part in ("train", "test"):
        with gzip.open(tmp_path / "conll2000" / f"{part}.txt.gz", "wt", encoding="utf-8") as stream:
            for sentence in read(sample_path(part), columns=COLUMNS, label="chunk"):
                rows = zip(sentence.words, sentence.columns["pos"], sentence.tags or (), strict=True)
                stream.write("".join(f"{' '.join(row)}\n" for row in rows) + "\n")
    return tmp_path


def test_the_example_runs(data: Path) -> None:
    pytest.importorskip("sklearn")
    told = run(EXAMPLE, data)
    first, *_ = told.splitlines()
    assert float(first.rpartition(" ")[2]) > 0.9
    assert "I-NP" in told
    assert "->" in told


def test_the_example_runs_with_sklearn_crfsuite_when_the_import_is_changed_back(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("sklearn_crfsuite")
    ours = "from sapo.compat import CRF, metrics  # was: from sklearn_crfsuite import CRF, metrics"
    text = EXAMPLE.read_text("utf-8")
    assert text.count(ours) == 1
    (tmp_path / "theirs.py").write_text(text.replace(ours, "from sklearn_crfsuite import CRF, metrics"), "utf-8")
    theirs, here = run(tmp_path / "theirs.py", data), run(EXAMPLE, data)
    assert [line.split()[:1] for line in theirs.splitlines()[:10]] == [
        line.split()[:1] for line in here.splitlines()[:10]
    ]
