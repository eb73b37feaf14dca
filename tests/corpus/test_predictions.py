"""Probabilities of tags and of spans in each format: where they stand, and that the rest stays as it was."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sapo.corpus.annotations import Annotation, TaggedSpan
from sapo.corpus.blocks import Block
from sapo.corpus.formats import FORMATS, read, read_blocks
from sapo.errors import SapoError

MakeFile = Callable[[bytes | str, str], Path]
LABELS = ["O", "B-PER", "I-PER"]
TAGS = np.array([1, 2, 0, 0], np.int32)
MARGINAL = np.array([[0.0005, 0.75, 0.2495], [0.25, 0.25, 0.5], [1.0, 0.0, 0.0], [0.9, 0.1, 0.0]])
SPANS = [[TaggedSpan(0, 2, "PER", 0.625)], []]
CONLLU = """\
# text = Anna Lind sings
1	Anna	_	<1>	_	_	2	x	_	SpaceAfter=No
2-3	Lindsings	_	_	_	_	_	_	_	_
2	Lind	_	<2>	_	Case=Nom	3	y	_	_
3	sings	_	<3>	_	_	0	root	_	_

1	Hush	_	<4>	_	_	0	root	_	_

"""


def only_block(path: Path, **reading: str) -> Block:
    (block,) = read_blocks(path, labeled=False, **reading)
    return block


@pytest.mark.parametrize("separator", [" ", "\t"])
def test_column_files_get_the_tag_and_a_probability_as_two_columns(make_file: MakeFile, separator: str) -> None:
    text = "# id = 1\nAnna|x\nLind|y\nsings|z\n\nHush|u\n\n".replace("|", separator)
    block = only_block(make_file(text, "a.txt"))
    marginals = "# id = 1\nAnna|x|B-PER|0.750000\nLind|y|I-PER|0.500000\nsings|z|O|1.000000\n\nHush|u|O|0.900000\n\n"
    found = b"".join(FORMATS["columns"].write(block, Annotation(TAGS, LABELS, MARGINAL))).decode()
    assert found == marginals.replace("|", separator)
    spans = "# id = 1\nAnna|x|B-PER|0.625000\nLind|y|I-PER|0.625000\nsings|z|O|_\n\nHush|u|O|_\n\n"
    assert b"".join(FORMATS["columns"].write(block, Annotation(TAGS, LABELS, spans=SPANS))).decode() == spans.replace(
        "|", separator
    )


def test_what_a_column_file_gets_can_be_read_again(make_file: MakeFile) -> None:
    block = only_block(make_file("Anna x\nLind y\nsings z\n\nHush u\n\n", "a.txt"))
    again = make_file(b"".join(FORMATS["columns"].write(block, Annotation(TAGS, LABELS, spans=SPANS))), "b.txt")
    assert [sentence.tags for sentence in read(again, label="-2")] == [("B-PER", "I-PER", "O"), ("O",)]
    assert [sentence.tags for sentence in read(again)] == [("0.625000", "0.625000", "_"), ("_",)]


def test_conllu_gets_probabilities_in_misc(make_file: MakeFile) -> None:
    block = only_block(make_file(CONLLU, "a.conllu"))
    expected = CONLLU
    for number, tag in enumerate(TAGS.tolist(), 1):
        expected = expected.replace(f"<{number}>", LABELS[tag])
    marginals = expected.replace("SpaceAfter=No\n", "SpaceAfter=No|TagProbability=0.750000\n")
    marginals = marginals.replace("y\t_\t_\n", "y\t_\tTagProbability=0.500000\n")
    three, four = marginals.split("root\t_\t_\n")[:2]
    marginals = f"{three}root\t_\tTagProbability=1.000000\n{four}root\t_\tTagProbability=0.900000\n\n"
    assert b"".join(FORMATS["conllu"].write(block, Annotation(TAGS, LABELS, MARGINAL))).decode() == marginals
    spans = expected.replace("SpaceAfter=No\n", "SpaceAfter=No|SpanProbability=0.625000\n")
    spans = spans.replace("y\t_\t_\n", "y\t_\tSpanProbability=0.625000\n")
    assert b"".join(FORMATS["conllu"].write(block, Annotation(TAGS, LABELS, spans=SPANS))).decode() == spans


def test_conllu_with_the_label_in_feats_gets_both(make_file: MakeFile) -> None:
    block = only_block(make_file(CONLLU, "a.conllu"), label="Entity")
    lines = b"".join(FORMATS["conllu"].write(block, Annotation(TAGS, LABELS, spans=SPANS))).decode().splitlines()
    assert lines[3].split("\t")[5:] == ["Case=Nom|Entity=I-PER", "3", "y", "_", "SpanProbability=0.625000"]
    assert lines[4].split("\t")[5:] == ["Entity=O", "0", "root", "_", "_"]


def test_conllu_with_the_label_in_misc_has_no_place_for_a_probability(make_file: MakeFile) -> None:
    block = only_block(make_file(CONLLU, "a.conllu"), label="misc")
    with pytest.raises(SapoError, match="the label is MISC, where the probability goes"):
        b"".join(FORMATS["conllu"].write(block, Annotation(TAGS, LABELS, MARGINAL)))


def test_jsonl_gets_all_labels_above_a_thousandth_best_first(make_file: MakeFile) -> None:
    records = [{"tokens": ["Anna", "Lind", "sings"], "id": 1}, {"text": "Hush", "id": 2}]
    block = only_block(make_file("".join(json.dumps(record) + "\n" for record in records), "a.jsonl"))
    found = b"".join(FORMATS["jsonl"].write(block, Annotation(TAGS, LABELS, MARGINAL))).decode().splitlines()
    first, second = map(json.loads, found)
    marginals = first.pop("marginals")
    assert marginals == [{"B-PER": 0.75, "I-PER": 0.2495}, {"I-PER": 0.5, "O": 0.25, "B-PER": 0.25}, {"O": 1.0}]
    assert list(marginals[0]) == ["B-PER", "I-PER"]
    assert first == {**records[0], "tags": ["B-PER", "I-PER", "O"]}
    assert second["marginals"] == [{"O": 0.9, "B-PER": 0.1}]


def test_jsonl_gets_spans_of_tokens_and_where_there_is_text_of_characters(make_file: MakeFile) -> None:
    records = [{"text": "Anna  Lind sings"}, {"tokens": ["Hush"]}]
    block = only_block(make_file("".join(json.dumps(record) + "\n" for record in records), "a.jsonl"))
    first, second = map(
        json.loads, b"".join(FORMATS["jsonl"].write(block, Annotation(TAGS, LABELS, spans=SPANS))).decode().splitlines()
    )
    assert first["token_spans"] == [{"start": 0, "end": 2, "label": "PER", "probability": 0.625}]
    assert first["spans"] == [{"start": 0, "end": 10, "label": "PER", "probability": 0.625}]
    assert second == {"tokens": ["Hush"], "tags": ["O"], "token_spans": []}
