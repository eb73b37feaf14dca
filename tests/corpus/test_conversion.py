"""From every format and scheme to every other: words and tags survive, and what cannot be written is told."""

import gzip
import itertools
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.corpus.blocks import Sentence
from sapo.corpus.conversion import Conversion, Source, Target
from sapo.corpus.conversion import convert as convert_files
from sapo.corpus.formats import FORMATS, read
from sapo.errors import SapoError
from sapo.tags.schemes import SCHEMES
from sapo.tags.spans import Span, spans_to_tags, tags_to_spans

MakeFile = Callable[[bytes | str, str], Path]
Piped = Callable[[bytes, int], AbstractContextManager[None]]

ENDINGS = {"columns": "txt", "conllu": "conllu", "jsonl": "jsonl"}
PAIRS = list(itertools.product(ENDINGS, ENDINGS))

WORDS = st.text(
    st.sampled_from("abAB019.,#=-_|/'\"\\<äß日🦀\u0301 "), min_size=1, max_size=6
).filter(lambda text: text == text.strip())  # fmt: skip
TAGS = st.sampled_from(["O", "B-PER", "I-PER", "B-a-b", "NN", "$", "#", ",", "``", "-LRB-", "Ä", "_", "="])


def convert(source: str | Path, target: str | Path, **options: Any) -> Conversion:
    """Convert with options of either side: those that both have begin with source_ or target_."""
    reading = {name: options.pop(name) for name in ("label", "columns", "labeled") if name in options}
    reading |= {name: options.pop(f"source_{name}") for name in ("format", "scheme") if f"source_{name}" in options}
    writing = {name.removeprefix("target_"): value for name, value in options.items()}
    return convert_files(Source(source, **reading), Target(target, **writing))


@st.composite
def labeled_sentences(draw: st.DrawFn) -> list[Sentence]:
    drawn = draw(st.lists(st.lists(st.tuples(WORDS, TAGS), min_size=1, max_size=5), max_size=4))
    return [
        Sentence({"word": tuple(word for word, _ in sentence)}, tuple(tag for _, tag in sentence)) for sentence in drawn
    ]


def written(sentences: list[Sentence], format: str) -> str:
    return "".join(FORMATS[format].write_sentence(sentence) for sentence in sentences)


def pairs(sentences: Any) -> list[list[tuple[str, str]]]:
    return [list(zip(sentence.words, sentence.tags or (), strict=True)) for sentence in sentences]


# formats


@pytest.mark.parametrize(("source", "target"), PAIRS)
@settings(deadline=None, max_examples=20)
@given(labeled_sentences())
def test_words_and_tags_survive_from_every_format_to_every_other_and_back(
    make_file: MakeFile, source: str, target: str, sentences: list[Sentence]
) -> None:
    start = make_file(written(sentences, source), f"start.{ENDINGS[source]}")
    there = make_file("", f"there.{ENDINGS[target]}")
    back = make_file("", f"back.{ENDINGS[source]}")
    assert convert(start, there).sentences == len(sentences)
    assert pairs(read(there)) == pairs(sentences)
    assert convert(there, back).sentences == len(sentences)
    assert back.read_text() == start.read_text()


@pytest.mark.parametrize("format", ENDINGS)
def test_conversion_into_the_same_format_keeps_all_columns(make_file: MakeFile, format: str) -> None:
    columns = {"word": ("a", "b"), "lemma": ("c", "d"), "xpos": ("e", "f")}
    names = ["word", "lemma", "xpos", "tag"] if format == "columns" else None
    text = written([Sentence(columns, ("X", "Y"))], format)
    source, target = make_file(text, "source.dat"), make_file("", "target.dat")
    convert(source, target, source_format=format, target_format=format, columns=names)
    assert target.read_text() == text


def test_columns_by_name_go_to_their_places_in_conllu_and_to_their_keys_in_jsonl(make_file: MakeFile) -> None:
    source = make_file("sings sing VBZ VERB\n", "a.txt")
    names = ["word", "lemma", "pos", "tag"]
    convert(source, source.with_name("b.conllu"), columns=names)
    assert source.with_name("b.conllu").read_text() == "# text = sings\n1\tsings\tsing\tVERB\tVBZ\t_\t_\t_\t_\t_\n\n"
    convert(source, source.with_name("b.jsonl"), columns=names)
    assert json.loads(source.with_name("b.jsonl").read_text()) == {
        "tokens": ["sings"],
        "lemma": ["sing"],
        "pos": ["VBZ"],
        "tags": ["VERB"],
    }


CONLLU = """\
# text = Dámelo ya
1-2	Dámelo	_	_	_	_	_	_	_	_
1	Dáme	dar	VERB	V	Number=Sing	0	root	_	_
2	lo	él	PRON	P	_	1	obj	_	_
2.1	x	x	X	X	_	_	_	_	_
3	ya	ya	ADV	R	_	1	advmod	_	_

"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "Dáme\tVERB\nlo\tPRON\nya\tADV\n\n"),
        ({"label": "xpos"}, "Dáme\tV\nlo\tP\nya\tR\n\n"),
        ({"label": "Number"}, "Dáme\tSing\nlo\t_\nya\t_\n\n"),
        ({"labeled": False}, "Dáme\nlo\nya\n\n"),
        ({"keep": ["word", "lemma"]}, "Dáme\tdar\tVERB\nlo\tél\tPRON\nya\tya\tADV\n\n"),
        ({"keep": ["xpos", "word"], "label": "deprel"}, "V\tDáme\troot\nP\tlo\tobj\nR\tya\tadvmod\n\n"),
    ],
)
def test_from_conllu_come_the_words_or_the_columns_that_are_asked_for(
    make_file: MakeFile, options: dict[str, Any], expected: str
) -> None:
    source, target = make_file(CONLLU, "a.conllu"), make_file("", "a.txt")
    assert convert(source, target, **options).sentences == 1
    assert target.read_text() == expected


@pytest.mark.parametrize("label", [None, "xpos", "lemma", "Number"])
def test_from_conllu_to_conllu_not_a_byte_changes(make_file: MakeFile, label: str | None) -> None:
    source, target = make_file(CONLLU * 2, "a.conllu"), make_file("", "b.conllu")
    assert convert(source, target, label=label).sentences == 2
    assert target.read_text() == CONLLU * 2


@pytest.mark.parametrize(
    ("into", "line"),
    [
        (None, "1\ta\t_\tT\t_\t_\t_\t_\t_\t_"),
        ("upos", "1\ta\t_\tT\t_\t_\t_\t_\t_\t_"),
        ("xpos", "1\ta\t_\t_\tT\t_\t_\t_\t_\t_"),
        ("XPOS", "1\ta\t_\t_\tT\t_\t_\t_\t_\t_"),
        ("Chunk", "1\ta\t_\t_\t_\tChunk=T\t_\t_\t_\t_"),
    ],
)
def test_the_label_goes_where_it_is_wanted_in_conllu(make_file: MakeFile, into: str | None, line: str) -> None:
    source, target = make_file("a T\n", "a.txt"), make_file("", "a.conllu")
    convert(source, target, into=into)
    assert target.read_text() == f"# text = a\n{line}\n\n"
    assert pairs(read(target, label=into)) == [[("a", "T")]]


def test_a_label_may_move_from_one_column_of_conllu_to_another(make_file: MakeFile) -> None:
    source, target = make_file(CONLLU, "a.conllu"), make_file("", "b.conllu")
    convert(source, target, label="xpos", into="Tag")
    assert pairs(read(target, label="Tag")) == pairs(read(source, label="xpos"))


@pytest.mark.parametrize("keep", [["pos"], ["word", "pos"], ["pos", "word"]])
def test_only_the_columns_to_keep_are_written_in_their_order(make_file: MakeFile, keep: list[str]) -> None:
    source, target = make_file("a P C T\n", "a.txt"), make_file("", "b.txt")
    convert(source, target, keep=keep)
    assert target.read_text() == "\t".join([*({"word": "a", "pos": "P"}[name] for name in keep), "T"]) + "\n\n"


@pytest.mark.parametrize("target", ["b.txt", "b.conllu", "b.jsonl"])
def test_a_corpus_without_sentences_becomes_an_empty_file(make_file: MakeFile, target: str) -> None:
    source = make_file("\n\n", "a.txt")
    assert convert(source, source.with_name(target)).sentences == 0
    assert source.with_name(target).read_bytes() == b""


def test_zipped_files_are_read_and_written(make_file: MakeFile) -> None:
    source, target = make_file(gzip.compress(b"a X\n\n"), "a.txt.gz"), make_file("", "b.txt.gz")
    convert(source, target)
    assert gzip.decompress(target.read_bytes()) == b"a X\n\n"


def test_a_file_may_be_converted_onto_itself(make_file: MakeFile) -> None:
    word = "w" * 500
    path = make_file(f"{word} I-X\n{word} I-X\n\n" * 2500, "a.txt")  # more than is read at a time
    assert convert(path, path, target_scheme="bioes").sentences == 2500
    assert path.read_text() == f"{word} B-X\n{word} E-X\n\n" * 2500


def test_conversion_runs_from_standard_input_to_standard_output(
    piped: Piped, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with piped(b"a I-X\n\nb O\n\n", 5):
        assert (
            convert("-", "-", target_format="jsonl", target_scheme="iob2").sentences == 2
        )  # read twice, for the scheme
    assert capfdbinary.readouterr().out == b'{"tokens": ["a"], "tags": ["B-X"]}\n{"tokens": ["b"], "tags": ["O"]}\n'


# schemes


@st.composite
def sentences_with_spans(draw: st.DrawFn) -> list[tuple[list[Span], int]]:
    """Spans that do not overlap and the number of tokens, for some sentences; at least one span in all."""
    sentences = []
    for gaps in draw(st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from("AB"))))):
        spans, end = [], 0
        for gap, size, kind in gaps:
            spans.append(Span(end + gap, end + gap + size, kind))
            end += gap + size
        sentences.append((spans, end + 1))
    return [([Span(0, 1, "A")], 1), *sentences]


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(("source", "target"), list(itertools.product(SCHEMES, SCHEMES)))
@settings(deadline=None, max_examples=8)
@given(sentences_with_spans())
def test_every_scheme_becomes_every_other_and_comes_back_whether_told_or_recognized(
    make_file: MakeFile, source: str, target: str, told: bool, corpus: list[tuple[list[Span], int]]
) -> None:
    text = written(
        [Sentence({"word": ("w",) * size}, tuple(spans_to_tags(spans, size, source))) for spans, size in corpus],
        "columns",
    )
    start, there, back = make_file(text, "start.txt"), make_file("", "there.txt"), make_file("", "back.txt")
    convert(start, there, source_scheme=source if told else None, target_scheme=target)
    found = [(tags_to_spans(sentence.tags or (), target), len(sentence)) for sentence in read(there)]
    assert found == corpus
    convert(there, back, source_scheme=target if told else None, target_scheme=source)
    assert back.read_text() == text


def test_without_a_wanted_scheme_tags_stay_as_they_are_even_broken_ones(make_file: MakeFile) -> None:
    source, target = make_file("a I-X\nb L-Y\nc NN\n", "a.txt"), make_file("", "b.txt")
    convert(source, target)
    assert target.read_text() == "a I-X\nb L-Y\nc NN\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target_scheme": "iob"}, r"^unknown scheme 'iob'; did you mean 'iob2'\?$"),
        (
            {"source_scheme": "BIO", "target_scheme": "iob2"},
            r"^unknown scheme 'BIO'; did you mean 'iob2'\?$",
        ),
        ({"target_scheme": "iob2"}, r"a\.txt: its tags follow none of the schemes iob1, iob2, bioes, bilou, bmes$"),
        ({"source_scheme": "iob2", "target_scheme": "iob1"}, r"a\.txt: sentence 2: token \d: 'I-Y' cannot follow 'O'"),
        ({"keep": ["lemma"]}, r"a\.txt: sentence 1: there is no column 'lemma'; the columns are word$"),
        ({"target_format": "xml"}, r"^unknown format 'xml'"),
        ({"source_format": "xml"}, r"^unknown format 'xml'"),
        ({"label": "5"}, r"a\.txt: there is no column 5"),
        ({"target_format": "jsonl", "text": True}, r"a\.txt: sentence 3: 'NN' is not a span tag"),
    ],
)
def test_what_cannot_be_converted_is_told_and_the_old_target_stays(
    make_file: MakeFile, options: dict[str, Any], message: str
) -> None:
    source = make_file("a B-X\nb I-X\n\na O\nb I-Y\n\nc NN\n", "a.txt")
    target = make_file("old", "target.txt")
    with pytest.raises(SapoError, match=message):
        convert(source, target, **options)
    assert target.read_text() == "old"
    assert not list(target.parent.glob(".*.part"))


def test_a_missing_source_leaves_the_old_target_too(make_file: MakeFile) -> None:
    target = make_file("old", "target.txt")
    with pytest.raises(SapoError, match="no such file"):
        convert(target.with_name("nowhere.txt"), target)
    assert target.read_text() == "old"


def test_a_word_that_cannot_stand_in_columns_is_told_with_its_sentence(make_file: MakeFile) -> None:
    records = [{"tokens": ["a"], "tags": ["O"]}, {"tokens": ["b\tc"], "tags": ["O"]}]
    source = make_file("\n".join(map(json.dumps, records)), "a.jsonl")
    with pytest.raises(SapoError, match=r"a\.jsonl: sentence 2: 'b\\tc' cannot be written to a column file; use JSONL"):
        convert(source, source.with_name("b.txt"))


# running text


SIMPLE_WORDS = st.sampled_from(["Anna", "sings", "in", "Oslo", ".", ",", "n't", "U.S.", "5", "日本"])


@st.composite
def sentences_with_entities(draw: st.DrawFn) -> list[Sentence]:
    sentences = []
    for spans, size in draw(sentences_with_spans()):
        words = draw(st.lists(SIMPLE_WORDS, min_size=size, max_size=size))
        sentences.append(Sentence({"word": tuple(words)}, tuple(spans_to_tags(spans, size, "iob2"))))
    return sentences


@pytest.mark.parametrize("format", ENDINGS)
@settings(deadline=None, max_examples=20)
@given(sentences_with_entities())
def test_words_and_entities_survive_as_running_text_with_spans(
    make_file: MakeFile, format: str, sentences: list[Sentence]
) -> None:
    start = make_file(written(sentences, format), f"start.{ENDINGS[format]}")
    there, back = make_file("", "there.jsonl"), make_file("", f"back.{ENDINGS[format]}")
    convert(start, there, text=True)
    for line, sentence in zip(there.read_text().splitlines(), sentences, strict=True):
        record = json.loads(line)
        assert record["text"] == " ".join(sentence.words)
        assert set(record) == {"text", "spans"}
    tokens = [token for sentence in pairs(sentences) for token in sentence]  # text may be cut into other sentences
    assert [token for sentence in pairs(read(there)) for token in sentence] == tokens
    convert(there, back)
    assert [token for sentence in pairs(read(back)) for token in sentence] == tokens


def test_running_text_stays_as_it_was_from_jsonl_to_jsonl(make_file: MakeFile) -> None:
    record = {"text": " Anna's  \tcat\u00a0(Oslo)... ", "spans": [{"start": 1, "end": 5, "label": "PER"}]}
    text = json.dumps(record, ensure_ascii=False) + "\n"
    source, target = make_file(text, "a.jsonl"), make_file("", "b.jsonl")
    convert(source, target, text=True)
    assert target.read_text() == text


def test_running_text_becomes_the_text_of_conllu(make_file: MakeFile) -> None:
    source, target = make_file('{"text": "Anna\'s cat", "spans": []}', "a.jsonl"), make_file("", "a.conllu")
    convert(source, target)
    assert target.read_text().splitlines()[0] == "# text = Anna's cat"


def test_the_names_of_files_may_be_strings(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a X\n")
    assert convert(str(tmp_path / "a.txt"), str(tmp_path / "b.jsonl")).sentences == 1
    assert (tmp_path / "b.jsonl").read_text() == '{"tokens": ["a"], "tags": ["X"]}\n'


# what else a file has


def test_from_jsonl_to_jsonl_all_keys_stay(make_file: MakeFile) -> None:
    record = {"id": 7, "tokens": ["a", "b"], "tags": ["B-X", "I-X"], "meta": {"by": "me"}}
    source, target = make_file(json.dumps(record), "a.jsonl"), make_file("", "b.jsonl")
    assert convert(source, target, target_scheme="bioes").lost == ()
    assert json.loads(target.read_text()) == {**record, "tags": ["B-X", "E-X"]}


def test_from_jsonl_to_running_text_all_other_keys_stay(make_file: MakeFile) -> None:
    record = {"id": 7, "tokens": ["a", "b"], "ner": ["B-X", "I-X"]}
    source, target = make_file(json.dumps(record), "a.jsonl"), make_file("", "b.jsonl")
    convert(source, target, label="ner", text=True)
    expected = {"id": 7, "text": "a b", "spans": [{"start": 0, "end": 3, "label": "X"}]}
    assert json.loads(target.read_text()) == expected


def test_from_columns_to_columns_only_the_tags_change(make_file: MakeFile) -> None:
    text = "-DOCSTART- -X- O\r\n\r\n# id = 7\r\na  B-X P\r\nb I-X\tP \r\n\r\n\r\n# end = 1"
    source, target = make_file(text, "a.txt"), make_file("", "b.txt")
    assert convert(source, target, label="1", target_scheme="bioes").lost == ()
    assert target.read_bytes() == text.replace("I-X", "E-X").encode()
    assert convert(source, target, labeled=False).sentences == 1
    assert target.read_bytes() == text.encode()


def test_from_conllu_to_conllu_line_endings_stay_and_a_tag_that_does_not_fit_is_told(make_file: MakeFile) -> None:
    text = "# end = 1\r\n1\ta\t_\tX|Y\t_\tA=b\t_\t_\t_\t_\r\n"
    source, target = make_file(text, "a.conllu"), make_file("", "b.conllu")
    convert(source, target, into="xpos")
    assert target.read_bytes() == text.replace("X|Y\t_", "X|Y\tX|Y").encode()
    with pytest.raises(SapoError, match=r"a\.conllu: the tag 'X\|Y' cannot be written to FEATS"):
        convert(source, target, into="Tag")


@pytest.mark.parametrize(
    ("source", "text", "target", "options", "lost"),
    [
        ("a.txt", "# id = 7\na P X\n", "b.jsonl", {}, ("1 line (comments and -DOCSTART- lines)",)),
        ("a.txt", "# id = 7\na P X\n", "b.txt", {"keep": ["word"]}, ("1 line (comments and -DOCSTART- lines)",)),
        ("a.txt", "a P C D X\n", "b.conllu", {}, ("chunk, c3",)),
        ("a.txt", "a P X\n", "b.jsonl", {"text": True, "label": "pos", "columns": ["word", "pos", "c"]}, ("c",)),
        ("a.txt", "a P X\n", "b.jsonl", {"keep": ["word"]}, ()),
        ("a.jsonl", '{"id": 7, "tokens": ["a"], "p": ["P"], "tags": ["X"], "m": {}}', "b.txt", {}, ("m",)),
        ("a.jsonl", '{"text": "a", "spans": [], "id": 7, "m": 1}', "b.txt", {}, ("m",)),
        ("a.jsonl", '{"text": "a", "spans": [], "id": 7}', "b.conllu", {}, ()),
    ],
)
def test_what_the_other_format_cannot_hold_is_told(
    make_file: MakeFile, source: str, text: str, target: str, options: dict[str, Any], lost: tuple[str, ...]
) -> None:
    if options.get("text"):
        text = text.replace("P", "O")
    assert convert(make_file(text, source), make_file("", target), **options).lost == lost


def test_from_conllu_to_columns_all_but_the_words_is_told(make_file: MakeFile) -> None:
    assert convert(make_file(CONLLU, "a.conllu"), make_file("", "a.txt")).lost == (
        "3 lines (comments, multiword tokens and empty nodes)",
        "lemma, xpos, feats, head, deprel, deps, misc",
    )
