"""Files of doccano, Prodigy, Label Studio and BRAT: read, written and read again."""

import json
import os
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapo.corpus.annotations import Annotation, TaggedSpan
from sapo.corpus.blocks import LABEL, Block
from sapo.corpus.conversion import Source, Target, convert
from sapo.corpus.exchange import format
from sapo.corpus.formats import FORMATS, format_of, open_output, read, read_blocks
from sapo.errors import DataWarning, SapoError

TEXT = "Anna Lee sings in Oslo. She left!\n\nBob 😀 stays in Rome."
SPANS = [[0, 8, "PER"], [18, 22, "LOC"], [35, 38, "PER"], [50, 54, "LOC"]]
WORDS = [
    ("Anna", "Lee", "sings", "in", "Oslo", "."),
    ("She", "left", "!"),
    ("Bob", "😀", "stays", "in", "Rome", "."),
]
TAGS = [("B-PER", "I-PER", "O", "O", "B-LOC", "O"), ("O", "O", "O"), ("B-PER", "O", "O", "O", "B-LOC", "O")]


def result(start: int, end: int, label: str) -> dict[str, Any]:
    value = {"start": start, "end": end, "text": TEXT[start:end], "labels": [label]}
    return {"id": "x", "from_name": "ner", "to_name": "t", "type": "labels", "value": value}


def prodigy_task() -> dict[str, Any]:
    offsets = [(a, a + len(w)) for w, a in _places()]
    tokens = [{"text": TEXT[a:b], "start": a, "end": b, "id": i} for i, (a, b) in enumerate(offsets)]
    spans = [{"start": a, "end": b, "label": label} for a, b, label in SPANS]
    return {"text": TEXT, "tokens": tokens, "spans": spans, "answer": "accept", "meta": {"id": 7}, "_input_hash": 1}


def _places() -> list[tuple[str, int]]:
    found, at = [], 0
    for word in (word for words in WORDS for word in words):
        at = TEXT.index(word, at)
        found.append((word, at))
        at += len(word)
    return found


RECORDS: dict[str, tuple[str, Any]] = {
    "doccano-label": ("doccano", [{"id": 5, "text": TEXT, "label": SPANS, "Comments": []}]),
    "doccano-labels": ("doccano", [{"text": TEXT, "labels": SPANS}]),
    "doccano-entities": (
        "doccano",
        [
            {
                "text": TEXT,
                "entities": [
                    {"id": i, "label": label, "start_offset": a, "end_offset": b}
                    for i, (a, b, label) in enumerate(SPANS)
                ],
                "relations": [],
            }
        ],
    ),
    "prodigy": ("prodigy", [prodigy_task()]),
    "label-studio": (
        "label-studio",
        [{"id": 3, "data": {"body": TEXT}, "annotations": [{"result": [result(*span) for span in SPANS]}]}],
    ),
    "label-studio-min": (
        "label-studio",
        [{"id": 3, "text": TEXT, "annotator": 1, "label": [result(*span)["value"] for span in SPANS]}],
    ),
}


def write_records(path: Path, tool: str, listed: list[Any]) -> Path:
    lines = "\n".join(json.dumps(record) for record in listed)
    path.write_text(json.dumps(listed, indent=1) if tool == "label-studio" else lines, encoding="utf-8")
    return path


@pytest.fixture(params=[*RECORDS, "brat"])
def export(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """The name of a tool, and a file or directory of it."""
    if request.param == "brat":
        room = tmp_path / "brat"
        (room / "sub").mkdir(parents=True)
        (room / "sub" / "anna.txt").write_text(TEXT, encoding="utf-8")
        lines = [f"T{i}\t{label} {a} {b}\t{TEXT[a:b]}\n" for i, (a, b, label) in enumerate(SPANS, 1)]
        (room / "sub" / "anna.ann").write_text("".join([*lines, "R1\tin Arg1:T1 Arg2:T2\n"]), encoding="utf-8")
        return "brat", room
    tool, listed = RECORDS[request.param]
    return tool, write_records(tmp_path / "export.json", tool, listed)


def content(path: Path, tool: str) -> list[Any]:
    return [(one.words, one.tags) for one in read(path, format=tool)]


def test_sentences_and_tags_are_read(export: tuple[str, Path]) -> None:
    tool, path = export
    assert content(path, tool) == list(zip(WORDS, TAGS, strict=True))
    sentences = list(read(path, format=tool, labeled=False))
    assert [sentence.words for sentence in sentences] == WORDS
    assert all(sentence.tags is None for sentence in sentences)
    assert [sentence.text for sentence in sentences][1] == "She left!"


@pytest.mark.parametrize("target", ["doccano", "prodigy", "label-studio", "brat"])
def test_every_tool_can_be_written_as_every_other(export: tuple[str, Path], target: str, tmp_path: Path) -> None:
    tool, path = export
    there, back = tmp_path / "there", tmp_path / "back"
    assert convert(Source(path, tool), Target(there, target)).sentences == 3
    assert content(there, target) == list(zip(WORDS, TAGS, strict=True))
    convert(Source(there, target), Target(back, tool))
    assert content(back, tool) == list(zip(WORDS, TAGS, strict=True))


def test_text_is_cut_by_a_function_of_your_own(tmp_path: Path) -> None:
    path = write_records(tmp_path / "a.jsonl", "doccano", [{"text": "Oslo", "label": [[0, 4, "LOC"]]}])

    def letters(text: str) -> list[list[tuple[int, int]]]:
        return [[(at, at + 1) for at in range(len(text))]]

    (block,) = FORMATS["doccano"].read_blocks(path, splitter=letters)
    assert block.strings("word") == list("Oslo")
    assert block.strings(LABEL) == ["B-LOC", "I-LOC", "I-LOC", "I-LOC"]
    assert block.origin.texts() == ["Oslo"]


def test_documents_stay_whole_from_tool_to_tool(export: tuple[str, Path], tmp_path: Path) -> None:
    tool, path = export
    convert(Source(path, tool), Target(tmp_path / "there.jsonl", "doccano"))
    (line,) = (tmp_path / "there.jsonl").read_text(encoding="utf-8").splitlines()
    found = json.loads(line)
    key = next(key for key in ("label", "labels", "entities") if key in found)
    assert found["text"] == TEXT
    counted = [*SPANS[:3], [51, 55, "LOC"]]  # a browser counts the emoji twice
    assert [list(value.values())[1:] if isinstance(value, dict) else value for value in found[key]] in (
        counted,
        [[label, a, b] for a, b, label in counted],
    )


def gold(block: Block) -> tuple[Any, list[str]]:
    names = block.strings(LABEL)
    labels = sorted(set(names))
    return np.array([labels.index(name) for name in names], np.int32), labels


def test_predictions_are_written_where_people_can_correct_them(export: tuple[str, Path], tmp_path: Path) -> None:
    tool, path = export
    out = tmp_path / "out"
    with open_output(out, tool) as stream:
        for block in read_blocks(path, format=tool):
            for piece in FORMATS[tool].write(block, Annotation(*gold(block))):
                stream.write(piece)
    if tool == "label-studio":  # as people would accept it
        tasks = json.loads(out.read_text(encoding="utf-8"))
        for task in tasks:
            task["annotations"] = task.pop("predictions")
        out.write_text(json.dumps(tasks), encoding="utf-8")
    assert content(out, tool) == list(zip(WORDS, TAGS, strict=True))


def test_spans_have_probabilities_where_there_is_room(tmp_path: Path) -> None:
    spans = [[TaggedSpan(0, 2, "PER", 0.75)], [], [TaggedSpan(4, 5, "LOC", 0.5)]]
    for name, (tool, listed) in RECORDS.items():
        (block,) = read_blocks(write_records(tmp_path / name, tool, listed), format=tool, labeled=False)
        text = b"".join(FORMATS[tool].write(block, Annotation(np.zeros(15, np.int32), ["O"], spans=spans))).decode()
        assert "0.75" in text
        assert "0.5" in text


def test_other_keys_stay_and_the_answer_is_yet_to_be_given(tmp_path: Path) -> None:
    path = write_records(tmp_path / "a.jsonl", "prodigy", [prodigy_task()])
    (block,) = read_blocks(path, format="prodigy")
    task = json.loads(b"".join(FORMATS["prodigy"].write(block, Annotation(*gold(block)))))
    assert task["meta"] == {"id": 7}
    assert "answer" not in task
    assert task["spans"][0] == {"start": 0, "end": 8, "token_start": 0, "token_end": 1, "label": "PER"}


def test_only_accepted_tasks_are_learned(tmp_path: Path) -> None:
    tasks = [{**prodigy_task(), "answer": answer} for answer in ("accept", "reject", "ignore", "reject")]
    path = write_records(tmp_path / "a.jsonl", "prodigy", tasks)
    with pytest.warns(DataWarning) as told:
        assert len(list(read(path, format="prodigy"))) == 3
    assert sorted(str(one.message) for one in told) == [
        f"{path}: left out 1 tasks with the answer 'ignore'",
        f"{path}: left out 2 tasks with the answer 'reject'",
    ]
    assert len(list(read(path, format="prodigy", labeled=False))) == 12


def test_tasks_without_annotations_are_left_out_of_training(tmp_path: Path) -> None:
    tasks = [{"data": {"text": "a"}, "annotations": [{"result": [], "was_cancelled": True}]}, {"data": {"text": "b"}}]
    path = write_records(tmp_path / "a.json", "label-studio", tasks)
    with pytest.warns(DataWarning, match="left out 2 tasks without annotations"):
        assert list(read(path, format="label-studio")) == []
    assert len(list(read(path, format="label-studio", labeled=False))) == 2


def test_offsets_of_a_browser_count_emoji_twice(tmp_path: Path) -> None:
    value = {"start": 51, "end": 55, "text": "Rome", "labels": ["LOC"]}
    path = write_records(tmp_path / "a.json", "label-studio", [{"text": TEXT, "label": [value]}])
    assert [one.tags for one in read(path, format="label-studio")][2] == ("O", "O", "O", "O", "B-LOC", "O")


def test_spans_of_doccano_are_read_as_they_fit_the_tokens(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for last in ([50, 54, "LOC"], [51, 55, "LOC"]):
        path.write_text(json.dumps({"text": TEXT, "label": [*SPANS[:3], last]}))
        assert [one.tags for one in read(path, format="doccano")] == TAGS


def test_an_array_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_records(
        tmp_path / "a.json", "label-studio", [{"text": f"n {i} é", "x": {"]": "}"}} for i in range(50)]
    )
    data = path.read_bytes()
    for size in (1, 7, 1000):
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        monkeypatch.setattr(format, "read_chunks", lambda _, pieces=pieces: iter(pieces))
        found = list(format.read_array(path))
        assert [record["text"] for _, _, record in found] == [f"n {i} é" for i in range(50)]
        assert found[1][0] == 8


def test_gaps_of_brat_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("North and South Korea")
    (tmp_path / "a.ann").write_text("T1\tLOC 0 5;16 21\tNorth Korea\n")
    with pytest.warns(DataWarning, match=r"a.ann:1: the span 0 5;16 21 'LOC' has gaps; read as 0:21, without them"):
        assert content(tmp_path, "brat") == [(("North", "and", "South", "Korea"), ("B-LOC", *["I-LOC"] * 3))]
    assert format_of(tmp_path) == "brat"


def test_an_offset_of_brat_with_thousands_of_digits_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Anna")
    (tmp_path / "a.ann").write_text(f"T1\tPER 0 {'9' * 5000}\tAnna\n")
    with pytest.raises(SapoError, match=r"a.ann:1: expected 'T1<TAB>LABEL START END<TAB>TEXT', found 'T1.tPER 0 999"):
        content(tmp_path, "brat")


@pytest.mark.parametrize("name", ["a.txt", "a.ann"])
def test_a_named_pipe_in_a_directory_of_brat_is_not_waited_for(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.txt").write_text("Anna")
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(SapoError, match=rf"{name}: not a regular file; a directory of BRAT holds .txt and .ann files"):
        content(tmp_path, "brat")


def test_a_long_text_that_many_annotations_of_brat_name_is_compared_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(" " * 100_000 + "x")
    (tmp_path / "a.ann").write_text("T1\tX 0 100001\tx\n" * 2)
    with pytest.raises(SapoError, match=r"a.ann:1: 'x' does not stand at 0:100001 of the text"):
        content(tmp_path, "brat")


BAD = {
    "doccano": {
        '{"text": "Anna", "label": [[0, 4]]}': r"1: a span must be \[start, end, label\], found \(0, 4\)",
        '{"text": "Anna", "label": [[0, 9, "X"]]}': "1: span 0:9 'X' is not in the text",
        '{"text": "Anna"}': "1: has no list 'label' of spans; known here: text",
        '{"label": []}': "1: has no 'text'",
        "[1]": "1: expected an object",
        "{": "1: not JSON",
    },
    "prodigy": {
        '{"text": "Anna", "answer": "maybe"}': "1: the answer is 'maybe'; it must be accept, reject, ignore",
        '{"text": "Anna", "spans": [3]}': "1: 'spans' must be a list of objects",
        '{"text": "Anna", "spans": [{"start": 0}]}': "1: a span must be start, end and label",
        '{"text": "Anna", "tokens": ["Anna"]}': "1: a token must have start and end inside the text",
    },
    "label-studio": {
        '{"data": 1}': "expected an array of tasks",
        "[1]": "1: expected an object",
        '[{"data": 3}]': "1: 'data' must be an object",
        '[\n{"data": {"text": "a"}, "annotations": [{"result": 3}]}]': "2: 'result' of an annotation must be a list",
        '[{"text": "a"}': "its array does not end",
        '[{"text": "a", }]': "1: the task that begins here is not JSON",
    },
}


@pytest.mark.filterwarnings("ignore::sapo.errors.DataWarning")
@pytest.mark.parametrize(("tool", "text"), [(tool, text) for tool, texts in BAD.items() for text in texts])
def test_mistakes_are_named_with_their_line(tool: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad"
    path.write_text(text)
    with pytest.raises(SapoError, match=rf"^{path}(:|: ){BAD[tool][text]}"):
        list(read(path, format=tool))


def test_the_reader_of_jsonl_names_the_tool(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for record, hint in {
        '{"text": "Anna", "label": [[0, 4, "PER"]]}': "use `format='doccano'`",
        json.dumps(prodigy_task()): "use `format='prodigy'`",
        '[\n{"text": "a"}]': "use `format='json'`",
        '[{"text": "a"}]': "use `format='json'`",
    }.items():
        path.write_text(record)
        with pytest.raises(SapoError, match=hint):
            list(read(path, format="jsonl"))


def test_tags_that_mark_no_spans_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Anna NNP\n")
    with pytest.raises(
        SapoError, match="doccano stores spans; 'NNP' is not a label of a span, such as B-PER; write JSONL"
    ):
        convert(Source(tmp_path / "a.txt"), Target(tmp_path / "b.jsonl", "doccano"))


def test_a_directory_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "Anna", "label": [[0, 4, "A B"]]}')
    with pytest.raises(SapoError, match="BRAT has no label with a blank, such as 'A B'"):
        convert(Source(path, "doccano"), Target(tmp_path / "out", "brat"))
    assert [one.name for one in tmp_path.iterdir()] == ["a.jsonl"]
    with pytest.raises(SapoError, match="already exists; BRAT needs a new or empty directory"):
        convert(Source(path, "doccano"), Target(tmp_path, "brat"))


@pytest.mark.parametrize(("package", "name"), [("spacy", "a.spacy"), ("pyarrow", "a.parquet")])
def test_a_package_that_is_missing_is_named(
    package: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / name).write_bytes(zlib.compress(b"a"))
    with pytest.raises(SapoError, match=rf"(?i)need {package}: pip install 'sapo-nlp\["):
        list(read(tmp_path / name))
