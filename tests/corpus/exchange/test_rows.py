"""CSV, TSV, JSON arrays and DataFrames of texts with spans: what is recognized, and what each wrong file says."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sapo
from sapo.corpus.conversion import Source, Target, convert
from sapo.corpus.exchange.documents import read_spans
from sapo.corpus.exchange.rows import read_csv
from sapo.corpus.formats import format_of, open_output, read
from sapo.errors import DataWarning, SapoError
from sapo.tagger.decoding import Output
from sapo.tagger.files import tagged_file

TEXT = "Anna sings. Her LumiLamp broke in Oslo."
SPANS = [{"start": 0, "end": 4, "label": "PER"}, {"start": 34, "end": 38, "label": "LOC"}]
WORDS = [("Anna", "sings", "."), ("Her", "LumiLamp", "broke", "in", "Oslo", ".")]
TAGS = [("B-PER", "O", "O"), ("O", "O", "O", "O", "B-LOC", "O")]


def write_csv(path: Path, rows: list[list[Any]], delimiter: str = ",") -> Path:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter).writerows(rows)
    path.write_text(stream.getvalue(), "utf-8", newline="")
    return path


def check(path: Any, document: str | None = "T-7", **how: Any) -> None:
    sentences = list(read(path, **how))
    assert [one.words for one in sentences] == WORDS
    assert [one.tags for one in sentences] == TAGS
    assert {one.document for one in sentences} == {document}


NOTATIONS = [
    json.dumps(SPANS),
    json.dumps([[0, 4, "PER"], [34, 38, "LOC"]]),
    json.dumps([{"begin": 0, "end": 4, "type": "PER"}, {"start_offset": "34", "end_offset": 38.0, "label": "LOC"}]),
    "0:4:PER; 34:38:LOC",
    "0:4:PER|34:38:LOC",
    "0:4:PER 34:38:LOC",
    "0:4:PER, 34:38:LOC",
    "0-4:PER;34-38:LOC;",
    "0:4:PER\n34:38:LOC",
]


@pytest.mark.parametrize("spans", NOTATIONS)
@pytest.mark.parametrize(
    ("ending", "delimiter"), [("csv", ","), ("csv", ";"), ("csv", "\t"), ("tsv", "\t"), ("csv", "|")]
)
def test_a_row_is_a_document_in_any_notation_and_with_any_delimiter(
    tmp_path: Path, spans: str, ending: str, delimiter: str
) -> None:
    check(write_csv(tmp_path / f"a.{ending}", [["id", "text", "spans"], ["T-7", TEXT, spans]], delimiter))


@pytest.mark.parametrize(("text", "spans"), [("Text", "Entities"), ("body", "annotations"), ("message", "label")])
def test_usual_names_are_recognized(tmp_path: Path, text: str, spans: str) -> None:
    check(write_csv(tmp_path / "a.csv", [["Ticket ID", text, spans, "x"], ["T-7", TEXT, "0:4:PER;34:38:LOC", "y"]]))


def test_other_names_can_be_given(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", [["words", "found"], [TEXT, "0:4:PER;34:38:LOC"]])
    check(path, None, columns=["words"], label="found")


def test_one_row_for_each_span_in_any_order(tmp_path: Path) -> None:
    rows = [
        ["doc_id", "text", "start", "end", "label"],
        ["T-7", TEXT, 34, 38, "LOC"],
        ["T-8", "Nothing here.", "", "", ""],
        ["T-7", "", 0, 4, "PER"],
    ]
    sentences = list(read(write_csv(tmp_path / "a.csv", rows)))
    assert [one.tags for one in sentences] == [*TAGS, ("O", "O", "O")]
    assert [one.document for one in sentences] == ["T-7", "T-7", "T-8"]


def test_without_an_id_rows_with_the_same_text_are_a_document(tmp_path: Path) -> None:
    rows = [["text", "start", "end", "label"], [TEXT, 34, 38, "LOC"], [TEXT, 0, 4, "PER"]]
    check(write_csv(tmp_path / "a.csv", rows), None)


@pytest.mark.parametrize("spans", [SPANS, json.dumps(SPANS), "0:4:PER;34:38:LOC"])
def test_a_json_array_is_a_table(tmp_path: Path, spans: Any) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"id": "T-7", "body": TEXT, "spans": spans}]), "utf-8")
    assert format_of(path) == "json"
    check(path)


def test_a_json_file_of_lines_and_an_array_of_tokens_are_read_as_such(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"id": "T-7", "text": TEXT, "spans": SPANS}) + "\n", "utf-8")
    assert format_of(path) == "jsonl"
    check(path)
    path.write_text(json.dumps([{"tokens": ["Anna", "sings"], "tags": ["B-PER", "O"]}]), "utf-8")
    assert [one.tags for one in read(path)] == [("B-PER", "O")]


@pytest.mark.parametrize("package", ["pandas", "polars"])
@pytest.mark.parametrize("spans", [SPANS, [(0, 4, "PER"), (34, 38, "LOC")], "0:4:PER;34:38:LOC"])
def test_a_data_frame_has_the_same_columns(package: str, spans: Any) -> None:
    if package == "polars" and isinstance(spans, list) and isinstance(spans[0], tuple):
        pytest.skip("polars has no lists of mixed types")
    check(pytest.importorskip(package).DataFrame({"id": ["T-7"], "text": [TEXT], "spans": [spans]}))


def test_a_data_frame_with_a_row_for_each_span_trains_a_tagger() -> None:
    pandas = pytest.importorskip("pandas")
    rows = [["T-7", TEXT, 0, 4, "PER"], ["T-7", TEXT, 34, 38, "LOC"], ["T-8", "Rain.", None, None, None]] * 3
    table = pandas.DataFrame(rows, columns=["id", "text", "start", "end", "label"])
    tagger = sapo.train(table, epochs=5)
    assert set(tagger.labels) == {"O", "B-PER", "B-LOC"}
    assert tagger.evaluate(table).main[0] == "F1"


def test_the_files_of_to_csv_and_to_json_are_read(tmp_path: Path) -> None:
    table = pytest.importorskip("pandas").DataFrame({"id": ["T-7"], "text": [TEXT], "spans": [json.dumps(SPANS)]})
    table.to_csv(tmp_path / "a.csv")  # with the index as a column without a name
    table.to_json(tmp_path / "a.json", orient="records")
    table.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    for name in ("a.csv", "a.json", "a.jsonl"):
        check(tmp_path / name)


def test_a_table_with_a_row_for_each_token_is_read_from_csv(tmp_path: Path) -> None:
    rows = [["Sentence #", "Word", "POS", "Tag"], ["1", "Anna", "NNP", "B-PER"], ["", "sings", "VBZ", "O"]]
    (sentence,) = read(write_csv(tmp_path / "a.csv", rows))
    assert (sentence.words, sentence.tags) == (("Anna", "sings"), ("B-PER", "O"))


def test_byte_order_mark_quoted_line_feeds_empty_rows_and_the_line_of_excel(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    text = (
        'sep=;\r\nid;text;spans\r\n\r\nT-1;"Dear ""Anna"",\r\n\r\nbye; now.";"6:10:PER"\r\n;;\r\nT-2;Oslo;0:4:LOC\r\n'
    )
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    first, second, third = read(path)
    assert (first.tags, third.tags) == (("O", "O", "B-PER", "O", "O"), ("B-LOC",))
    assert second.words == ("bye", ";", "now", ".")
    assert [line for line, _ in read_csv(path)] == [4, 8]


def test_spans_that_overlap_are_told_and_the_longest_is_kept(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", [["text", "spans"], ["Anna Lee sings", "0:8:PER; 5:8:PER"]])
    with pytest.warns(DataWarning, match=r"a.csv:2: span 5:8 'PER' \('Lee'\) overlaps 0:8 'PER' \('Anna Lee'\), which"):
        (sentence,) = read(path)
    assert sentence.tags == ("B-PER", "I-PER", "O")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id,text\nT-1,Anna sings\n", r"a\.csv: found no column of spans among id, text; add a column 'spans' with"),
        (
            b"id,words here,spans\nT-1,Anna sings,\n",
            r"a\.csv: found no column of words among id, words here, spans; na",
        ),
        (
            b"text,spans\nAnna,0:9:PER\n",
            r"a\.csv:2: span 0:9 'PER' is not in the text, which has 4 characters; correct",
        ),
        (b'text,spans\nAnna,"[[0, 4"\n', r"a\.csv:2: the spans are not JSON \(.*\), found '\[\[0, 4'$"),
        (b"text,spans\nAnna,PER\n", r"a\.csv:2: spans must be start, end and label: .* separated by ';', found 'PER'$"),
        (b"text,spans\nAnna,0:4:\n", r"a\.csv:2: spans must be start, end and label"),
        (
            b"text,start,end,label\nAnna,0,x,PER\n",
            r"""a\.csv:2: a span must have "start", "end" and "label", found '0:x:PER'""",
        ),
        (
            b"id,text,start,end,label\n1,Anna,0,4,PER\n1,Oslo,0,4,LOC\n",
            r"a\.csv:3: the text of '1' differs from that of",
        ),
        (
            b"id,text,start,end,label\n1,Anna,0,4,PER\n,Oslo,0,4,LOC\n",
            r"a\.csv:3: the cell 'id' is empty; write the name",
        ),
        (b"text,spans\nAnna, Oslo,0:4:PER\n", r"a\.csv:2: has 3 cells, but the first row has 2; put quotes around a c"),
        (b'text,spans\n\n"Anna,0:4:PER\n\n\n', r"a\.csv:3: the row that begins here is not CSV .*; close the quote$"),
        (b"text,spans,text\nAnna,,\n", r"a\.csv:1: two columns are called 'text'; rename one of them$"),
        ("text,spans\nZoë,0:3:PER\n".encode("latin-1"), r"a\.csv:2: not UTF-8: .* use `encoding='latin-1'`"),
        (b"", r"has no sentences$"),
        (b"text,spans\n", r"has no sentences$"),
    ],
)
def test_a_wrong_file_is_told_in_one_line_with_its_place(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(SapoError, match=message) as caught:
        sapo.train(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(path)) + 250


def test_a_column_that_is_not_there_is_told_with_the_nearest(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", [["text", "marked"], [TEXT, ""]])
    with pytest.raises(SapoError, match="has no column 'markd'; did you mean 'marked'"):
        list(read(path, label="markd"))


def test_exports_of_label_studio_are_recognized(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"data": {"text": "Anna"}, "annotations": []}]')
    assert format_of(path) == "label-studio"
    with pytest.raises(SapoError, match=r"a\.json:1: a task of Label Studio; use `format='label-studio'`"):
        list(read(path, format="json"))


def test_a_tagged_file_keeps_its_columns_and_gets_spans(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", [["id", "text", "spans", "team"], ["T-7", TEXT, json.dumps(SPANS), "blue"]])
    tagger = sapo.train([(list(words), list(tags)) for words, tags in zip(WORDS, TAGS, strict=True)] * 3, epochs=9)
    with open_output(tmp_path / "b.csv", "csv") as stream:
        for _, piece in tagged_file(tagger, path, Output()):
            stream.write(piece)
    ((_, row),) = read_csv(tmp_path / "b.csv")
    assert list(row) == ["id", "text", "spans", "team"]
    assert json.loads(row["spans"]) == SPANS
    assert row["team"] == "blue"


@pytest.mark.parametrize("target", ["b.csv", "b.tsv", "b.json", "b.jsonl"])
def test_documents_are_converted_whole_with_their_names(tmp_path: Path, target: str) -> None:
    path = write_csv(tmp_path / "a.csv", [["id", "text", "spans"], ["T-7", TEXT, "0:4:PER;34:38:LOC"]])
    format = {"b.tsv": "csv"}.get(target)
    convert(Source(path), Target(tmp_path / target, format, text=target == "b.jsonl"))
    check(tmp_path / target)


cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00\ufeff"), max_size=12)


@given(
    st.lists(st.tuples(cells, cells), min_size=1, max_size=5),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_a_csv_writer_wrote_is_read_as_it_was(
    tmp_path: Path, rows: list[tuple[str, str]], delimiter: str, end: str, mark: bool
) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([("text", "note"), *rows])
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbf" * mark + stream.getvalue().encode())
    found = [(row["text"], row["note"]) for _, row in read_csv(path)]
    assert found == [row for row in rows if any(cell.strip() for cell in row)]


@given(st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@pytest.mark.filterwarnings("ignore::sapo.errors.DataWarning")
def test_any_bytes_are_read_or_told_in_one_line(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"text,spans\n" + data)
    message = ""
    try:
        list(read(path))
    except SapoError as error:
        message = str(error)
    assert "\n" not in message


labels = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=4).filter(
    lambda name: not name[0].isdigit()
)


@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), labels), max_size=4),
    st.sampled_from(["; ", "|", " ", ", "]),
)
def test_all_notations_of_spans_mean_the_same(spans: list[tuple[int, int, str]], separator: str) -> None:
    objects = [{"start": start, "end": end, "label": label} for start, end, label in spans]
    written = [
        separator.join(f"{start}:{end}:{label}" for start, end, label in spans),
        json.dumps(objects),
        json.dumps(spans),
        objects,
        [list(span) for span in spans],
    ]
    found = [read_spans(value, "a.csv:2") for value in written]
    assert [(one.start, one.end, one.type) for one in found[0]] == spans
    assert all(other == found[0] for other in found)
