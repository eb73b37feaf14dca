"""The Penn Treebank that a user bought becomes a corpus like the others."""

from pathlib import Path

import pytest

from laboratory.datasets import fetch, find_corpus
from laboratory.datasets.treebank import bring_treebank
from sapo.corpus import read
from sapo.errors import SapoError


@pytest.fixture
def bought(tmp_path: Path) -> Path:
    """Trees of two files in each of 25 sections, as they lie in LDC99T42."""
    for section in range(25):
        folder = tmp_path / "treebank_3" / "parsed" / "mrg" / "wsj" / f"{section:02d}"
        folder.mkdir(parents=True)
        for number in (1, 2):
            tree = f"\n( (S \n  (NP-SBJ (NNP S{section}) )\n  (VP (VBZ naps) (NP (-NONE- *) ))\n  (. .) ))\n"
            (folder / f"wsj_{section:02d}{number:02d}.mrg").write_text(tree * number)
    return tmp_path / "treebank_3"


def test_sections_are_split_as_everybody_splits_them(bought: Path, home: Path) -> None:
    directory, counts = bring_treebank(bought)
    assert counts == {"train": 57, "dev": 9, "test": 9}
    assert directory == fetch("wsj") == find_corpus("wsj") == home / "wsj"
    for part, sections in {"train": range(19), "dev": range(19, 22), "test": range(22, 25)}.items():
        sentences = list(read(directory / f"{part}.txt.gz"))
        assert [s.words[0] for s in sentences] == [f"S{section}" for section in sections for _ in range(3)]
        assert all(s.words[1:] == ("naps", ".") and s.tags == ("NNP", "VBZ", ".") for s in sentences)


def test_it_cannot_be_downloaded(home: Path) -> None:
    with pytest.raises(SapoError, match=r"LDC99T42.*laboratory data get wsj --from"):
        fetch("wsj")


def test_a_directory_without_all_sections_is_told(bought: Path, home: Path, tmp_path: Path) -> None:
    for tree in bought.rglob("wsj_23*.mrg"):
        tree.unlink()
    with pytest.raises(SapoError, match=r"no wsj_XXXX.mrg of the sections 23; give the directory parsed/mrg/wsj"):
        bring_treebank(bought)
    with pytest.raises(SapoError, match=r"elsewhere: no such directory"):
        bring_treebank(tmp_path / "elsewhere")
    assert not home.exists()


def test_trees_that_are_there_twice_are_told(bought: Path, home: Path) -> None:
    (bought / "copy").mkdir()
    (bought / "copy" / "wsj_0001.mrg").write_text("( (S (A a) ))")
    with pytest.raises(SapoError, match=r"wsj_0001.mrg is there twice"):
        bring_treebank(bought)


def test_a_broken_tree_is_told_with_its_file(bought: Path, home: Path) -> None:
    broken = next(bought.rglob("wsj_2001.mrg"))
    broken.write_text("( (S (A a) )")
    with pytest.raises(SapoError, match=rf"^{broken}: ends inside a tree"):
        bring_treebank(bought)
    assert find_corpus("wsj") is None
