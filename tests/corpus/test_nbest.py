"""The n best taggings in each format: ranked, with their probabilities, and readable by the same format."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.corpus.annotations import Annotation, RankedTagging
from sapo.corpus.blocks import Block, Sentence
from sapo.corpus.formats import FORMATS, read, read_blocks

MakeFile = Callable[[bytes | str, str], Path]
Ranked = list[RankedTagging]

LABELS = ["N", "V", "Ä"]


def ranked(*taggings: tuple[str, float]) -> Ranked:
    """Taggings as 'N V N' with their P_k; among all taggings they have half of it."""
    return [one_of_n([LABELS.index(tag) for tag in tags.split()], value) for tags, value in taggings]


def one_of_n(tags: list[int], p_k: float) -> RankedTagging:
    return RankedTagging(np.array(tags, np.int32), p_k / 2, p_k)


def only_block(path: Path) -> Block:
    (block,) = read_blocks(path, labeled=False)
    return block


TAGGINGS = [ranked(("N V", 0.75), ("N N", 0.25)), ranked(("Ä", 1.0))]


@pytest.mark.parametrize("separator", [" ", "\t"])
def test_column_files_give_each_sentence_once_for_each_tagging(make_file: MakeFile, separator: str) -> None:
    text = "# sent_id = 1\nAnna|NNP\nsings|VBZ\n\n\n# sent_id = 2\nHush|UH\n\n".replace("|", separator)
    block = only_block(make_file(text, "a.txt"))
    expected = """\
# tagging = 1
# probability = 0.375000
# p_k = 0.750000
# top_n_mass = 0.500000
# sent_id = 1
Anna|NNP|N
sings|VBZ|V

# tagging = 2
# probability = 0.125000
# p_k = 0.250000
# top_n_mass = 0.500000
# sent_id = 1
Anna|NNP|N
sings|VBZ|N

# tagging = 1
# probability = 0.500000
# p_k = 1.000000
# top_n_mass = 0.500000
# sent_id = 2
Hush|UH|Ä

"""
    assert b"".join(
        FORMATS["columns"].write(block, Annotation(None, LABELS, taggings=TAGGINGS))
    ).decode() == expected.replace("|", separator)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_rank_and_probability_are_comments_whatever_the_number_of_columns(make_file: MakeFile, width: int) -> None:
    block = only_block(make_file(" ".join("abcd"[:width]) + "\n\n", "a.txt"))
    result = make_file(
        b"".join(
            FORMATS["columns"].write(block, Annotation(None, LABELS, taggings=[ranked(("N", 0.75), ("V", 0.25))]))
        ),
        "b.txt",
    )
    assert [(sentence.words, sentence.tags) for sentence in read(result)] == [(("a",), ("N",)), (("a",), ("V",))]


CONLLU = """\
# text = Dámelo
1-2	Dámelo	_	_	_	_	_	_	_	_
1	Dáme	dar	<1>	V	_	0	root	_	_
1.1	x	x	X	X	_	_	_	_	_
2	lo	él	<2>	P	_	1	obj	_	_

"""


def test_conllu_gives_each_sentence_with_all_its_lines_once_for_each_tagging(make_file: MakeFile) -> None:
    second = CONLLU.replace("D", "T")
    block = only_block(make_file(CONLLU + second, "a.conllu"))
    taggings = [ranked(("N V", 0.75), ("N N", 0.25)), ranked(("V Ä", 1.0))]
    assert b"".join(FORMATS["conllu"].write(block, Annotation(None, LABELS, taggings=taggings))).decode() == (
        "# tagging = 1\n# probability = 0.375000\n# p_k = 0.750000\n# top_n_mass = 0.500000\n"
        + CONLLU.replace("<1>", "N").replace("<2>", "V")
        + "# tagging = 2\n# probability = 0.125000\n# p_k = 0.250000\n# top_n_mass = 0.500000\n"
        + CONLLU.replace("<1>", "N").replace("<2>", "N")
        + "# tagging = 1\n# probability = 0.500000\n# p_k = 1.000000\n# top_n_mass = 0.500000\n"
        + second.replace("<1>", "V").replace("<2>", "Ä")
    )


def test_jsonl_gives_each_record_once_with_all_its_taggings(make_file: MakeFile) -> None:
    records = [{"tokens": ["Anna", "sings"], "id": 1}, {"text": "Hush", "id": 2}]
    path = make_file("".join(json.dumps(record) + "\n" for record in records), "a.jsonl")
    found = b"".join(FORMATS["jsonl"].write(only_block(path), Annotation(None, LABELS, taggings=TAGGINGS))).decode()
    assert [json.loads(line) for line in found.splitlines()] == [
        {
            **records[0],
            "tags": ["N", "V"],
            "nbest": [
                {"tags": ["N", "V"], "p_k": 0.75, "probability": 0.375},
                {"tags": ["N", "N"], "p_k": 0.25, "probability": 0.125},
            ],
            "top_n_mass": 0.5,
        },
        {
            **records[1],
            "tokens": ["Hush"],
            "tags": ["Ä"],
            "nbest": [{"tags": ["Ä"], "p_k": 1.0, "probability": 0.5}],
            "top_n_mass": 0.5,
        },
    ]


def test_jsonl_of_text_gets_the_spans_of_the_best_tagging(make_file: MakeFile) -> None:
    path = make_file('{"text": "Anna sings"}\n', "a.jsonl")
    taggings = [[one_of_n([1, 0], 0.9), one_of_n([0, 0], 0.1)]]
    record = json.loads(
        b"".join(FORMATS["jsonl"].write(only_block(path), Annotation(None, ["O", "B-PER"], taggings=taggings)))
    )
    assert record["spans"] == [{"start": 0, "end": 4, "label": "PER"}]


def test_an_empty_sentence_of_jsonl_has_one_empty_tagging(make_file: MakeFile) -> None:
    path = make_file('{"tokens": []}\n', "a.jsonl")
    taggings = [[one_of_n([], 1.0)]]
    record = json.loads(b"".join(FORMATS["jsonl"].write(only_block(path), Annotation(None, LABELS, taggings=taggings))))
    assert record["nbest"] == [{"tags": [], "p_k": 1.0, "probability": 0.5}]
    assert (record["tokens"], record["tags"]) == ([], [])


@pytest.mark.parametrize("format", ["columns", "conllu", "jsonl"])
@pytest.mark.parametrize("value", [1e-9, 1 / 3, 0.0])
def test_a_probability_is_written_with_six_digits(make_file: MakeFile, format: str, value: float) -> None:
    path = make_file(FORMATS[format].write_sentence(Sentence({"word": ("a", "b")}, ("N", "N"))), f"a.{format}")
    (block,) = read_blocks(path, format=format)
    found = b"".join(FORMATS[format].write(block, Annotation(None, LABELS, taggings=[ranked(("N V", value))]))).decode()
    if format == "jsonl":
        assert json.loads(found)["nbest"][0]["p_k"] == round(value, 6)
    else:
        assert f"# p_k = {value:.6f}\n" in found


@st.composite
def tagged_corpora(draw: st.DrawFn) -> tuple[list[Sentence], list[Ranked]]:
    """Sentences of one to four columns and up to three taggings for each."""
    width = draw(st.integers(1, 4))
    word = st.text(st.sampled_from("ab#=ä日"), min_size=1, max_size=3)
    sentences, taggings = [], []
    for length in draw(st.lists(st.integers(1, 3), min_size=1, max_size=4)):
        columns = [draw(st.lists(word, min_size=length, max_size=length).map(tuple)) for _ in range(width)]
        columns[0] = ("w", *columns[0][1:])  # no comment
        sentences.append(Sentence({f"c{i}" if i else "word": column for i, column in enumerate(columns)}))
        tags = st.lists(st.integers(0, 2), min_size=length, max_size=length)
        paths = draw(st.lists(tags, min_size=1, max_size=3))
        taggings.append([one_of_n(path, 1 / len(paths)) for path in paths])
    return sentences, taggings


@pytest.mark.parametrize("format", ["columns", "conllu"])
@settings(deadline=None, max_examples=50)
@given(tagged_corpora())
def test_the_n_best_taggings_can_be_read_as_sentences_in_their_order(
    make_file: MakeFile, format: str, corpus: tuple[list[Sentence], list[Ranked]]
) -> None:
    sentences, taggings = corpus
    write = FORMATS[format].write_sentence
    path = make_file("".join(map(write, sentences)), "in.dat")
    (block,) = read_blocks(path, format=format, labeled=False)
    result = make_file(b"".join(FORMATS[format].write(block, Annotation(None, LABELS, taggings=taggings))), "out.dat")
    expected = [
        (sentence.words, tuple(LABELS[tag] for tag in tagging.tags))
        for sentence, ranked in zip(sentences, taggings, strict=True)
        for tagging in ranked
    ]
    assert [(found.words, found.tags) for found in read(result, format=format)] == expected
