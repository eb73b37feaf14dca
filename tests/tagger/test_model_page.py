"""docs/reference/model-file.md names every array and field that a model file has, with its type, and no others."""

import re
from pathlib import Path

import numpy as np
import pytest

import sapo
from golden_models import HERE
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.features.clusters import Clusters
from sapo.features.names import NameList
from sapo.tagger.arrayfile import load_arrays

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "model-file.md"
LINEAR = [path for path in sorted(HERE.glob("*.sapo")) if not path.name.startswith("network")]


TYPES = {"I64": "int64", "F32": "float32", "I32": "int32", "F16": "float16", "U8": "uint8"}


def table_of(section: str) -> dict[str, str]:
    """Return the first column of the table of a section, and the second."""
    table = PAGE.read_text("utf-8").split(f"## {section}")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `([^`]+)` \| (.+?) \|", table, re.MULTILINE))


def described() -> set[str]:
    """Return the names of the first column of the page's table of arrays."""
    return set(table_of("Arrays"))


def general(name: str) -> str:
    """Return the name of an array as the page writes it."""
    return re.sub(r"^view\.\d+", "view.N", re.sub(r"^(column|knowledge)\.[^.]+", r"\1.NAME", name))


@pytest.fixture(scope="module")
def knowing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model that has clusters, a list of names and vectors, which the golden ones do not."""
    directory = tmp_path_factory.mktemp("model")
    (directory / "clusters.txt").write_text("01\train\t3\n01\tsnow\t2\n11\tthe\t9\n")
    (directory / "names.txt").write_text("New York\nOslo\n")
    (directory / "vectors.txt").write_text("rain 1 0\noslo 0 1\n")
    tagger = sapo.train(
        sample_path("train"),
        columns=COLUMNS,
        label="pos",
        template="pos",
        epochs=1,
        clusters=directory / "clusters.txt",
        names={"city": directory / "names.txt"},
        vectors=directory / "vectors.txt",
    )
    tagger.save(directory / "model.sapo")
    return directory / "model.sapo"


@pytest.mark.parametrize("path", LINEAR, ids=lambda path: path.name)
def test_the_page_names_every_array_of_a_golden_model(path: Path) -> None:
    assert {general(name) for name in load_arrays(path, "a model")[1]} <= described()


def test_the_page_names_no_array_that_no_model_has(knowing: Path) -> None:
    files = [*LINEAR, knowing]
    found = {general(name) for path in files for name in load_arrays(path, "a model")[1]}
    # only keys that were chosen to collide give a table a seed
    assert described() - found == {"feature.seeds"}
    assert found <= described()


def test_the_page_names_the_arrays_of_knowledge() -> None:
    clusters, names = Clusters({"rain": "01"}), NameList.of(["Oslo"])
    both = {*clusters.arrays(), *names.arrays()}
    assert {f"knowledge.NAME.{key}" for key in both} <= described()
    assert all(isinstance(array, np.ndarray) for array in names.arrays().values())


def test_arrays_have_the_types_and_dimensions_of_the_page(knowing: Path) -> None:
    types = table_of("Arrays")
    for path in [*LINEAR, knowing]:
        for name, array in load_arrays(path, "a model")[1].items():
            kind = types[general(name)]
            sizes = re.search(r"\[(.+)\]", kind)
            if kind.startswith("narrow"):
                assert (array.dtype, array.ndim) == (np.uint8, 2), name
                assert 1 <= array.shape[0] <= 4, name
            else:
                assert str(array.dtype) in {TYPES[one] for one in re.findall(r"[IFU]\d+", kind)}, name
                assert array.ndim == (len(sizes[1].split(",")) if sizes else 1), name


def test_the_page_names_every_field_of_the_header(knowing: Path) -> None:
    fields, page = table_of("Header"), PAGE.read_text("utf-8")
    for path in [*LINEAR, knowing]:
        header = load_arrays(path, "a model")[0]
        assert set(header) <= set(fields)
        optional = {name for name, text in fields.items() if text.startswith("optional")}
        assert set(fields) - optional - {"encoder"} <= set(header)
        for name in (*header.get("encoder", {}), *header.get("encoder", {}).get("knowledge", {}), *header["reader"]):
            assert f"`{name}`" in page
