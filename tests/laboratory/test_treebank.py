"""Trees and tagged files of the Penn Treebank, here a few that we wrote ourselves."""

import dataclasses
from pathlib import Path

import pytest

from laboratory.datasets.treebank import read_sections
from laboratory.datasets.trees import slash_sentences, tree_sentences
from laboratory.setup import Setup
from laboratory.sources import read_task
from laboratory.tasks import TASKS
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


def test_sections_are_parted_as_in_the_paper(tmp_path: Path, setup: Setup) -> None:
    for section in (0, 18, 19, 21, 22, 24):
        put(tmp_path, f"wsj_{section:02d}03.mrg", f"( (NP (NN w{section})) )")
    put(tmp_path, "wsj_0001.mrg", "( (NP (NN first)) )")
    put(tmp_path, "wsj_0001.pos", "ignored/NN\n")
    read = read_task(TASKS["pos-wsj"], dataclasses.replace(setup, treebank=tmp_path))
    assert read.dev is not None
    words = [[one.words[0] for one in part] for part in (read.train, read.dev, read.test)]
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
