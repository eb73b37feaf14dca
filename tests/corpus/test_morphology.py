"""Whole FEATS as a label, alone or behind a part of speech: read, written back, converted, refused."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.corpus.annotations import Annotation, Placement, RankedTagging
from sapo.corpus.conllu import COLUMNS, write, write_sentence
from sapo.corpus.conversion import Source, Target, convert
from sapo.corpus.formats import read, read_blocks
from sapo.errors import SapoError

MakeFile = Callable[[bytes | str, str], Path]
TagWithGold = Callable[..., bytes]

TEXT = """\
# text = Vámonos al mar
1-2	Vámonos	_	_	_	_	_	_	_	_
1	Vamos	ir	VERB	V|imp	Mood=Imp|Number=Plur|Number[psor]=Sing	0	root	0:root	_
2	nos	nosotros	PRON	P	Case=Acc,Dat|Number=Plur	1	obj	1:obj	_
3	a	a	ADP	_	_	5	case	5:case	SpaceAfter=No
3.1	x	x	NOUN	N	Number=Dual	_	_	0:root	_
4	mar	mar	X	=	Foreign=Yes	1	obl	1:obl	_

"""
FEATS = ["Mood=Imp|Number=Plur|Number[psor]=Sing", "Case=Acc,Dat|Number=Plur", "_", "Foreign=Yes"]
WHOLE = ["feats", "upos+feats", "xpos+feats"]


def rows(*fields: tuple[str, str, str]) -> str:
    """Lines with these UPOS, XPOS and FEATS."""
    lines = (f"{i}\tw\tw\t{u}\t{x}\t{f}\t0\troot\t_\t_\n" for i, (u, x, f) in enumerate(fields, 1))
    return "".join(lines) + "\n"


def tags_of(path: Path, label: str) -> list[str]:
    return [tag for sentence in read(path, label=label) for tag in sentence.tags or ()]


@pytest.mark.parametrize(
    ("label", "front"),
    [
        ("feats", ["", "", "", ""]),
        ("FEATS", ["", "", "", ""]),
        ("upos+feats", ["VERB|", "PRON|", "ADP|", "X|"]),
        ("UPOS+FEATS", ["VERB|", "PRON|", "ADP|", "X|"]),
        ("xpos+feats", ["V|imp|", "P|", "_|", "=|"]),
    ],
)
def test_the_label_is_feats_with_or_without_a_part_of_speech(make_file: MakeFile, label: str, front: list[str]) -> None:
    found = tags_of(make_file(TEXT, "a.conllu"), label)
    assert found == [pos + feats for pos, feats in zip(front, FEATS, strict=True)]


def test_no_column_gives_away_what_the_label_holds(make_file: MakeFile) -> None:
    path = make_file(TEXT, "a.conllu")
    assert next(read_blocks(path, label="feats")).columns == (*COLUMNS[:5], "label", *COLUMNS[6:])
    block = next(read_blocks(path, label="upos+feats"))
    assert block.columns == ("id", "word", "lemma", "label", "xpos", *COLUMNS[6:])
    assert block.strings("xpos") == ["V|imp", "P", "_", "="]
    assert block.strings("head") == ["0", "1", "5", "1"]


@pytest.mark.parametrize("label", WHOLE)
def test_other_orders_and_repetitions_are_the_same_label(make_file: MakeFile, label: str) -> None:
    orders = ["Case=Nom|Number=Sing", "Number=Sing|Case=Nom", "Case=Nom|Number=Sing|Case=Nom"]
    path = make_file(rows(*(("X", "X", feats) for feats in orders)), "a.conllu")
    assert len(set(tags_of(path, label))) == 1


def test_a_key_with_two_values_keeps_both(make_file: MakeFile) -> None:
    path = make_file(rows(("X", "X", "Case=Nom|Case=Acc")), "a.conllu")
    assert tags_of(path, "feats") == ["Case=Acc|Case=Nom"]


KEYS = st.sampled_from(["Case", "Number", "Number[psor]", "NumForm", "case", "Ä", "_"])
VALUES = st.sampled_from(["Nom", "Acc,Nom", "1", "ö", "a=b", "=", "_", "+"])
FEATURES = st.just("_") | st.lists(st.builds("{}={}".format, KEYS, VALUES), min_size=1, max_size=5).map("|".join)
UPOS = st.sampled_from(["NOUN", "X", "_", "ÄÖ"])
XPOS = st.sampled_from(["NN", "_", "NN|SIN|IND", "=", "|", "a|_", "_|_"])
COMMENTS = st.sampled_from(["", "# text = w\n", "1-2\tww" + 8 * "\t_" + "\n", "0.1\tx" + 8 * "\t_" + "\n"])
SENTENCES = st.lists(
    st.builds(
        lambda comment, fields: comment + rows(*fields), COMMENTS, st.lists(st.tuples(UPOS, XPOS, FEATURES), min_size=1)
    ),
    min_size=1,
    max_size=4,
)


@given(SENTENCES, st.sampled_from(WHOLE), st.sampled_from(["\n", "\r\n"]))
def test_tagging_with_the_own_labels_gives_back_the_same_bytes(
    make_file: MakeFile, tag_with_gold: TagWithGold, sentences: list[str], label: str, line_end: str
) -> None:
    text = "".join(sentences).replace("\n", line_end)
    assert tag_with_gold(make_file(text, "a.conllu"), label=label).decode() == text


@given(SENTENCES, st.sampled_from(WHOLE))
def test_labels_that_are_written_into_an_empty_place_are_read_back(
    make_file: MakeFile, sentences: list[str], label: str
) -> None:
    given = make_file("".join(sentences), "a.conllu")
    words, back = given.with_name("a.txt"), given.with_name("b.conllu")
    convert(Source(given, label=label), Target(words))
    convert(Source(words), Target(back, into=label))
    assert tags_of(back, label) == tags_of(given, label)


@pytest.mark.parametrize("label", WHOLE)
def test_sentences_that_were_read_are_written_as_they_were(make_file: MakeFile, label: str) -> None:
    sentences = read(make_file(TEXT, "a.conllu"), label=label)
    assert "".join(write_sentence(sentence, Placement(label)) for sentence in sentences) == TEXT


def test_new_tags_change_their_columns_and_nothing_else(make_file: MakeFile) -> None:
    block = next(read_blocks(make_file(TEXT, "a.conllu"), label="upos+feats", labeled=False))
    labels = ["NOUN|Case=Nom|Number=Sing", "X|_"]
    found = b"".join(write(block, Annotation(np.array([0, 1, 0, 1], np.int32), labels))).decode()
    expected = []
    for line in TEXT.split("\n"):
        fields = line.split("\t")
        if fields[0].isdigit():
            fields[3], _, fields[5] = labels[1 - int(fields[0]) % 2].partition("|")
        expected.append("\t".join(fields))
    assert found.split("\n") == expected


def test_tags_are_written_over_broken_feats(make_file: MakeFile) -> None:
    block = next(read_blocks(make_file(rows(("X", "X", "oops")), "a.conllu"), label="feats", labeled=False))
    assert (
        b"".join(write(block, Annotation(np.zeros(1, np.int32), ["Number=Sing|Case=Nom"]))).split(b"\t")[5]
        == b"Case=Nom|Number=Sing"
    )


def test_probabilities_stand_beside_the_tags(make_file: MakeFile) -> None:
    block = next(read_blocks(make_file(rows(("X", "N", "_")), "a.conllu"), label="upos+feats", labeled=False))
    labels, tags = ["NOUN|Case=Nom"], np.zeros(1, np.int32)
    line = "1\tw\tw\tNOUN\tN\tCase=Nom\t0\troot\t_\t{}\n\n"
    assert b"".join(write(block, Annotation(tags, labels, np.ones((1, 1))))).decode() == line.format(
        "TagProbability=1.000000"
    )
    written = b"".join(write(block, Annotation(None, labels, taggings=[[RankedTagging(tags, 1.0, 1.0)]]))).decode()
    assert written.endswith("\n" + line.format("_"))


@pytest.mark.parametrize("label", WHOLE)
@pytest.mark.parametrize(
    "feats", ["Case", "Case=", "=Nom", "Case=Nom|", "|Case=Nom", "Case=Nom||A=B", "_|Case=Nom", "__"]
)
def test_broken_feats_are_told_with_file_and_line(make_file: MakeFile, label: str, feats: str) -> None:
    path = make_file("# text = w w\n" + rows(("X", "X", "_"), ("X", "X", feats)), "a.conllu")
    with pytest.raises(SapoError) as caught:
        tags_of(path, label)
    assert str(caught.value) == f"{path}:3: FEATS must be '_' or KEY=VALUE joined by '|', found {feats!r}"


@pytest.mark.parametrize("fields", [("X", "X", ""), ("", "", "Case=Nom")])
def test_an_empty_field_is_told_with_file_and_line(make_file: MakeFile, fields: tuple[str, str, str]) -> None:
    path = make_file(rows(fields), "a.conllu")
    with pytest.raises(SapoError, match=r"a\.conllu:1: the label, column \d, is empty"):
        tags_of(path, "upos+feats")


def test_a_part_of_speech_that_ends_like_a_feature_is_told(make_file: MakeFile) -> None:
    path = make_file(rows(("X", "X", "_"), ("X", "N|a=b", "Case=Nom")), "a.conllu")
    with pytest.raises(SapoError, match=r"a\.conllu:2: XPOS 'N\|a=b' ends like a feature"):
        tags_of(path, "xpos+feats")


@pytest.mark.parametrize(
    ("into", "tag"), [("feats", "NN"), ("feats", "NN|Case=Nom"), ("upos+feats", "NN"), ("upos+feats", "|_")]
)
def test_a_tag_of_another_form_is_refused(make_file: MakeFile, into: str, tag: str) -> None:
    source = make_file(f"a {tag}\n", "a.txt")
    with pytest.raises(SapoError, match=r"sentence 1: the tag .* does not have the form (UPOS\|)?FEATS, as"):
        convert(Source(source), Target(source.with_name("a.conllu"), into=into))
    block = next(read_blocks(make_file(TEXT, "b.conllu"), label=into, labeled=False))
    with pytest.raises(SapoError, match="does not have the form"):
        block.check_labels([tag])


def test_a_label_is_converted_into_another_place(make_file: MakeFile) -> None:
    source = make_file(TEXT, "a.conllu")
    target = source.with_name("b.conllu")
    convert(Source(source, label="feats"), Target(target, into="xpos"))
    assert tags_of(target, "xpos") == FEATS
    assert tags_of(target, "feats") == FEATS
