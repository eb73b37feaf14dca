"""The Penn Treebank, here a few trees and tagged sentences that we wrote ourselves, is read and becomes a corpus."""

from pathlib import Path

import pytest

from laboratory.datasets.fetching import bring_treebank, fetch
from laboratory.datasets.registry import find_corpus
from laboratory.datasets.treebank import read_sections, slash_sentences, tree_sentences
from laboratory.setup import Setup
from laboratory.sources import read_task
from laboratory.tasks import TASKS
from sapo.corpus.formats import read
from sapo.errors import SapoError

TREES = r"""
( (S
    (NP-SBJ-1 (DT The) (NN mill) )
    (VP (VBD was)
      (VP (VBN sold)
        (NP (-NONE- *-1) )
        (PP (IN for) (NP (CD 3\/4) (NN price) ))))
    (. .) ))

( (SINV (`` ``) (S-TPC-1 (NP-SBJ (PRP It)) (VP (VBZ rains))) (, ,) ('' '')
    (VP (VBD said) (SBAR (-NONE- 0) (S (-NONE- *T*-1)))) (NP-SBJ (NNP Ann) (-LRB- -LRB-) (CD 7) (-RRB- -RRB-)) (. .)))
((NP (NN Rain)))
"""
TAGGED = r"""
======================================

[ The/DT mill/NN ]
was/VBD sold/VBN for/IN
[ 3\/4/CD price/NN ]
./.

======================================

``/`` [ It/PRP ]
rains/VBZ ,/, ''/'' said/VBD|VBN
[ Ann/NNP -LRB-/( 7/CD -RRB-/) ]
./.
"""


def test_trees_give_their_leaves_without_traces() -> None:
    found = list(tree_sentences(TREES))
    assert found[0] == [
        ("The", "DT"),
        ("mill", "NN"),
        ("was", "VBD"),
        ("sold", "VBN"),
        ("for", "IN"),
        (r"3\/4", "CD"),
        ("price", "NN"),
        (".", "."),
    ]
    assert [word for word, _ in found[1]] == ["``", "It", "rains", ",", "''", "said", "Ann", "-LRB-", "7", "-RRB-", "."]
    assert found[2] == [("Rain", "NN")]
    assert len(found) == 3


def test_tagged_files_give_the_same_words() -> None:
    found = list(slash_sentences(TAGGED))
    from_trees = list(tree_sentences(TREES))[:2]
    assert [[word for word, _ in one] for one in found] == [[word for word, _ in one] for one in from_trees]
    assert found[0] == from_trees[0]
    assert dict(found[1])["said"] == "VBD"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("( (S (NN rain)) ) )", r"x:1: '\)' is outside of all brackets"),
        ("\nrain", "x:2: 'rain' is outside"),
        ("( (S (NN rain))", "x: ends inside a tree"),
    ],
)
def test_a_broken_tree_is_named(text: str, told: str) -> None:
    with pytest.raises(SapoError, match=told):
        list(tree_sentences(text, "x"))


def test_a_token_without_a_tag_is_named() -> None:
    with pytest.raises(SapoError, match="x:2: expected word/TAG, found 'rain'"):
        list(slash_sentences("It/PRP\nrain\n", "x"))


def put(directory: Path, name: str, text: str) -> None:
    path = directory / name[4:6] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_sections_are_split_as_in_the_paper(tmp_path: Path) -> None:
    for section in (0, 18, 19, 21, 22, 24):
        put(tmp_path, f"wsj_{section:02d}03.mrg", f"( (NP (NN w{section})) )")
    put(tmp_path, "wsj_0001.mrg", "( (NP (NN first)) )")
    put(tmp_path, "wsj_0001.pos", "ignored/NN\n")
    sentences = read_task(TASKS["pos-wsj"], Setup(data=tmp_path, runs=tmp_path / "runs", treebank=tmp_path))
    assert sentences.dev is not None
    words = [[one.words[0] for one in part] for part in (sentences.train, sentences.dev, sentences.test)]
    assert words == [["first", "w0", "w18"], ["w19", "w21"], ["w22", "w24"]]


def test_tagged_files_are_read_where_there_are_no_trees(tmp_path: Path) -> None:
    put(tmp_path, "WSJ_2201.POS", TAGGED)
    assert len(read_sections(tmp_path, "test")) == 2
    with pytest.raises(SapoError, match="no sentences of the train sections 00 to 18; it has the sections 22"):
        read_sections(tmp_path, "train")


def test_a_directory_without_a_treebank_is_named(tmp_path: Path) -> None:
    with pytest.raises(SapoError, match=r"has no files such as wsj_0001\.mrg"):
        read_sections(tmp_path, "train")
    with pytest.raises(SapoError, match="no such directory"):
        read_sections(tmp_path / "nowhere", "train")


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


def test_a_bought_treebank_becomes_a_corpus_of_the_usual_sections(bought: Path, home: Path) -> None:
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
