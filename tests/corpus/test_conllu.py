"""CoNLL-U: words are read, every other line is kept, and the label is read from and written to its place."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sapo
from sapo.corpus.annotations import Annotation, Placement
from sapo.corpus.blocks import Sentence
from sapo.corpus.conllu import COLUMNS, write, write_sentence
from sapo.corpus.formats import read, read_blocks
from sapo.errors import SapoError

MakeFile = Callable[[bytes | str, str], Path]
TagWithGold = Callable[..., bytes]

TEXT = """\
# newdoc id = one
# sent_id = 1
# text = Vámonos al mar!
1-2	Vámonos	_	_	_	_	_	_	_	_
1	Vamos	ir	VERB	V	Mood=Imp|Number=Plur|Number[psor]=Sing|Person=1	0	root	0:root	_
2	nos	nosotros	PRON	P	Case=Acc|Number=Plur	1	obj	1:obj	_
3-4	al	_	_	_	_	_	_	_	_
3	a	a	ADP	E	_	5	case	5:case	_
4	el	el	DET	D	Number=Sing	5	det	5:det	_
4.1	x	x	NOUN	N	Number=Dual	_	_	0:root	_
4.2	y	y	NOUN	N	_	_	_	0:root	_
5	mar	mar	NOUN	N	Gender=Masc|Number=Sing	1	obl	1:obl	SpaceAfter=No
6	!	!	PUNCT	.	_	1	punct	1:punct	_
6.1	z	z	VERB	V	_	_	_	0:root	_

# sent_id = 2
# text = Mary bread
0.1	_	_	VERB	V	_	_	_	0:root	_
1	Mary	Mary	PROPN	NNP	Number=Sing	0	root	0:root	_
# a comment inside
2	bread	bread	NOUN	NN	Number=Sing	1	orphan	0.1:obj	_

"""
WORDS = [("Vamos", "nos", "a", "el", "mar", "!"), ("Mary", "bread")]


@pytest.mark.parametrize(
    ("label", "tags"),
    [
        (None, ["VERB PRON ADP DET NOUN PUNCT", "PROPN NOUN"]),
        ("upos", ["VERB PRON ADP DET NOUN PUNCT", "PROPN NOUN"]),
        ("UPOS", ["VERB PRON ADP DET NOUN PUNCT", "PROPN NOUN"]),
        ("xpos", ["V P E D N .", "NNP NN"]),
        ("lemma", ["ir nosotros a el mar !", "Mary bread"]),
        ("deprel", ["root obj case det obl punct", "root orphan"]),
        ("Number", ["Plur Plur _ Sing Sing _", "Sing Sing"]),
        ("Number[psor]", ["Sing _ _ _ _ _", "_ _"]),
        ("Mood", ["Imp _ _ _ _ _", "_ _"]),
        ("Person", ["1 _ _ _ _ _", "_ _"]),
        ("Num", ["_ _ _ _ _ _", "_ _"]),
        ("Tense", ["_ _ _ _ _ _", "_ _"]),
    ],
)
def test_the_label_is_a_column_or_a_key_of_feats(make_file: MakeFile, label: str | None, tags: list[str]) -> None:
    sentences = list(read(make_file(TEXT, "a.conllu"), label=label))
    assert [sentence.words for sentence in sentences] == WORDS
    assert [" ".join(sentence.tags or ()) for sentence in sentences] == tags


def test_the_label_stands_in_the_place_of_its_column_and_feats_stay_beside_their_key(make_file: MakeFile) -> None:
    path = make_file(TEXT, "a.conllu")
    assert next(read_blocks(path)).columns == tuple("label" if name == "upos" else name for name in COLUMNS)
    assert next(read_blocks(path, label="Number")).columns == (*COLUMNS, "label")
    assert next(read_blocks(path, label="xpos", labeled=False)).columns == COLUMNS


def test_lines_that_are_no_words_are_kept_with_their_place(make_file: MakeFile) -> None:
    first, second = read(make_file(TEXT, "a.conllu"))
    assert [(place, line.split("\t")[0]) for place, line in first.notes] == [
        (0, "# newdoc id = one"),
        (0, "# sent_id = 1"),
        (0, "# text = Vámonos al mar!"),
        (0, "1-2"),
        (2, "3-4"),
        (4, "4.1"),
        (4, "4.2"),
        (6, "6.1"),
    ]
    assert [place for place, _ in second.notes] == [0, 0, 0, 1]
    assert (first.text, second.text) == ("Vámonos al mar!", "Mary bread")


LABELS = ["upos", "xpos", "lemma", "feats", "misc", "Number", "Number[psor]", "Case", "Tense"]
SHAPES = {
    "usual": TEXT,
    "CRLF": TEXT.replace("\n", "\r\n"),
    "no last empty line": TEXT.removesuffix("\n"),
    "no last newline": TEXT.removesuffix("\n\n"),
    "more empty lines": "\n\n" + TEXT.replace("\n\n", "\n\n\n"),
    "comment at the end": TEXT + "# the end\n",
}


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("shape", SHAPES)
def test_tagging_with_the_own_labels_gives_back_the_same_bytes(
    make_file: MakeFile, tag_with_gold: TagWithGold, label: str, shape: str
) -> None:
    text = SHAPES[shape]
    assert tag_with_gold(make_file(text, "a.conllu"), label=label).decode() == text


@pytest.mark.parametrize("label", ["upos", "xpos"])
def test_a_new_tag_changes_its_field_and_nothing_else(make_file: MakeFile, label: str) -> None:
    block = next(read_blocks(make_file(TEXT, "a.conllu"), label=label, labeled=False))
    found = b"".join(write(block, Annotation(np.arange(8, dtype=np.int32), [f"Ä{i}" * i for i in range(8)]))).decode()
    number = 0
    expected = []
    for line in TEXT.splitlines():
        fields = line.split("\t")
        if fields[0].isdigit():
            fields[COLUMNS.index(label)] = f"Ä{number}" * number
            number += 1
        expected.append("\t".join(fields))
    assert found.splitlines() == expected


@pytest.mark.parametrize(
    ("label", "tag", "feats"),
    [
        ("Number", "Sing", ["Number=Sing", "Case=Nom|Number=Sing", "Number=Sing", "Number=Sing|Person=3"]),
        ("Number", "_", ["_", "Case=Nom", "_", "Person=3"]),
        ("Aspect", "Perf", ["Aspect=Perf", "Aspect=Perf|Case=Nom", "Aspect=Perf|Number=Plur", "Aspect=Perf|Person=3"]),
    ],
)
def test_a_key_of_feats_is_put_in_its_alphabetical_place_or_taken_out(
    make_file: MakeFile, label: str, tag: str, feats: list[str]
) -> None:
    old = ["_", "Case=Nom", "Number=Plur", "Person=3"]
    text = "".join(f"{i}\tw\tw\tX\tX\t{value}\t0\troot\t_\t_\n" for i, value in enumerate(old, 1)) + "\n"
    block = next(read_blocks(make_file(text, "feats.conllu"), label=label, labeled=False))
    written = b"".join(write(block, Annotation(np.zeros(4, np.int32), [tag]))).decode()
    assert [line.split("\t")[5] for line in written.splitlines() if line] == feats


@pytest.mark.parametrize("label", ["number", "3", "Number=Sing", "a b", "Number[", "-1"])
def test_a_label_that_is_neither_a_column_nor_a_key_is_told(make_file: MakeFile, label: str) -> None:
    with pytest.raises(SapoError, match="is neither a column of CoNLL-U nor a key of FEATS such as Number") as caught:
        next(read_blocks(make_file(TEXT, "a.conllu"), label=label))
    assert f"a.conllu: '{label}'" in str(caught.value)


def test_columns_have_their_names_already(make_file: MakeFile) -> None:
    with pytest.raises(SapoError, match="the columns of CoNLL-U have their names"):
        next(read_blocks(make_file(TEXT, "a.conllu"), columns=["word", "tag"]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace("5\tmar\tmar\t", "5\tmar\t"), ":12: expected 10 columns, found 9 ('5\\tmar\\tNOUN"),
        ("1 a b c d e f g h i\n", ":1: expected 10 columns, found 1 ('1 a b c"),
        ("a NN\n", ":1: expected 10 columns, found 1 ('a NN')"),
    ],
)
def test_a_line_without_ten_columns_is_told_with_file_and_line(make_file: MakeFile, text: str, message: str) -> None:
    path = make_file(text, "bad.conllu")
    with pytest.raises(SapoError) as caught:
        list(read(path))
    assert str(caught.value).startswith(f"{path}{message}")


def test_a_file_that_is_not_utf8_is_told_with_file_line_and_byte(make_file: MakeFile) -> None:
    path = make_file(TEXT.encode("latin-1"), "latin.conllu")
    with pytest.raises(SapoError, match=r"latin\.conllu:3: not UTF-8: byte 0xe1 at place 11 of the line"):
        list(read(path))


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "# only a comment\n\n"])
def test_a_file_without_words_holds_no_sentence(make_file: MakeFile, text: str) -> None:
    assert list(read(make_file(text, "empty.conllu"))) == []


@pytest.mark.parametrize("label", ["upos", "xpos", "lemma", "Number", "Number[psor]"])
def test_sentences_that_were_read_are_written_as_they_were(make_file: MakeFile, label: str) -> None:
    sentences = read(make_file(TEXT, "a.conllu"), label=label)
    assert "".join(write_sentence(sentence, Placement(label)) for sentence in sentences) == TEXT


def test_plain_words_and_tags_get_ten_columns_and_their_text() -> None:
    sentence = Sentence({"word": ("Anna", "sings")}, ("NNP", "VBZ"))
    assert write_sentence(sentence, Placement("xpos")) == (
        "# text = Anna sings\n1\tAnna\t_\t_\tNNP\t_\t_\t_\t_\t_\n2\tsings\t_\t_\tVBZ\t_\t_\t_\t_\t_\n\n"
    )


def test_columns_that_conllu_knows_go_to_their_place_and_pos_is_xpos() -> None:
    sentence = Sentence({"word": ("sings",), "lemma": ("sing",), "pos": ("VBZ",)}, ("VERB",), text="¡sings!")
    assert write_sentence(sentence) == "# text = ¡sings!\n1\tsings\tsing\tVERB\tVBZ\t_\t_\t_\t_\t_\n\n"


def test_tags_may_go_to_a_key_of_feats() -> None:
    sentence = Sentence({"word": ("a", "b"), "feats": ("Case=Nom", "_")}, ("B-NP", "O"))
    written = write_sentence(sentence, Placement("Chunk")).splitlines()
    assert [line.split("\t")[5] for line in written[1:3]] == ["Case=Nom|Chunk=B-NP", "Chunk=O"]


def test_words_without_a_blank_behind_them_say_so_where_the_text_is_known() -> None:
    lines = write_sentence(Sentence({"word": ("Anna", "'s", "cat", "!")}, text="Anna's  cat!")).splitlines()
    assert lines[0] == "# text = Anna's cat!"
    assert [line.rpartition("\t")[2] for line in lines[1:5]] == ["SpaceAfter=No", "_", "SpaceAfter=No", "_"]


def test_the_text_is_made_by_what_the_words_say_of_blanks() -> None:
    columns = {"word": ("Anna", "'s", "cat"), "misc": ("Lang=en|SpaceAfter=No", "_", "SpaceAfter=No")}
    assert write_sentence(Sentence(columns)).startswith("# text = Anna's cat\n")


def test_a_text_of_other_words_says_nothing_about_blanks() -> None:
    assert "SpaceAfter" not in write_sentence(Sentence({"word": ("Anne", "sings")}, text="Anna sings."))


@pytest.mark.parametrize(
    ("label", "way_out"),
    [
        *((label, "use upos, xpos, .* as the label") for label in ("id", "word", "deps")),
        *((label, "learn it with: sapo edits train") for label in ("lemma", "Lemma")),
        ("head", "learn it with: sapo ud train"),
    ],
)
def test_what_a_tagger_cannot_predict_is_refused_before_training(make_file: MakeFile, label: str, way_out: str) -> None:
    path = make_file(TEXT, "a.conllu")
    refused = rf"^{re.escape(str(path))}: '{label}' cannot be predicted by a tagger, because it is .*; {way_out}$"
    with pytest.raises(SapoError, match=refused):
        sapo.train(path, label=label)
    with pytest.raises(SapoError, match=refused):
        sapo.train(path, label=label, stream=path.parent / "cache")
    with pytest.raises(SapoError, match=refused):
        sapo.Trainer(sapo.train([(["a"], ["A"])], template="pos")).update(path, label=label)
    assert list(read(path, label=label))  # reading and converting stay possible


@pytest.mark.parametrize("label", ["xpos", "feats", "upos+feats", "deprel", "Number"])
def test_what_the_refusal_offers_can_be_learned(make_file: MakeFile, label: str) -> None:
    assert sapo.train(make_file(TEXT, "a.conllu"), label=label, epochs=1).labels
