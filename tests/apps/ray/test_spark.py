"""The function of the page for `mapInPandas`, with real Spark in local mode: `make test-spark`."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sapo

pytest.importorskip("pyspark", reason="pyspark is not installed: make test-spark")
if shutil.which("java") is None:
    pytest.skip("there is no Java, which Spark needs", allow_module_level=True)

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "cluster.md"
SENTENCES = [["a", "dog"], ["the", "cat"], ["no", "rain"]]


def test_spark_tags_the_rows_of_a_table_as_the_page_says(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    found = re.search(r"```python\n(# spark_tags\.py\n.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    (tmp_path / "spark_tags.py").write_text(found[1])
    tagger = sapo.train([(words, ["DT", "NN"]) for words in SENTENCES], template="pos", epochs=3)
    tagger.save(tmp_path / "pos.sapo")
    parquet.write_table(pyarrow.table({"tokens": SENTENCES}), tmp_path / "sentences.parquet")
    done = subprocess.run(
        [sys.executable, "spark_tags.py"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(sapo.__file__).parent.parent),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_SUBMIT_ARGS": "--master local[2] --conf spark.ui.enabled=false "
            "--conf spark.driver.bindAddress=127.0.0.1 --conf spark.driver.host=127.0.0.1 pyspark-shell",
        },
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows = parquet.read_table(tmp_path / "tagged.parquet").to_pylist()
    assert sorted(row["tokens"] for row in rows) == sorted(SENTENCES)
    assert all(row["tags"] == tagger.tag(row["tokens"]) for row in rows)
