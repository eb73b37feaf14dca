"""Files that are no model, or a damaged or a tampered one: one clear line, and never more than that."""

import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from changed_arrays import refused_and_used
from sapo.cli.inspect import describe_text
from sapo.errors import SapoError
from sapo.tagger.arrayfile import load_arrays, save_arrays
from sapo.tagger.file import load_model
from sapo.tagger.inspect import describe
from sapo.tagger.tagger import Tagger


def refused(path: Path) -> str:
    with pytest.raises(SapoError) as told:
        load_model(path)
    message = str(told.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


def test_a_file_cut_anywhere_is_refused(path: Path) -> None:
    data = path.read_bytes()
    cut = path.with_name("cut.sapo")
    for length in (*range(100), *range(100, len(data), 7), *range(len(data) - 20, len(data))):
        cut.write_bytes(data[:length])
        assert "not a sapo model: " in refused(cut)


def test_a_flipped_bit_is_found_or_changes_nothing(path: Path) -> None:
    data = path.read_bytes()
    changed = path.with_name("changed.sapo")
    header, arrays = load_arrays(path, "a file")
    let_through = 0
    for place in range(0, len(data), 3):
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        changed.write_bytes(flipped)
        try:
            load_model(changed)
        except SapoError:
            continue
        let_through += 1
        new_header, new_arrays = load_arrays(changed, "a file")
        assert new_header == header
        assert {name: array.tobytes() for name, array in new_arrays.items()} == {
            name: array.tobytes() for name, array in arrays.items()
        }
    assert let_through < 20  # blanks of the header, and nothing else


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    foreign = {
        "text": b"The DT B-NP\n" * 100,
        "zeros": bytes(1000),
        "json": b'{"weights": [1, 2, 3]}' * 10,
        "gzip": b"\x1f\x8b\x08" + bytes(100),
        "pickle": pickle.dumps(list(range(1000))),
        "safetensors": safetensors.numpy.save({"weights": np.zeros(3)}),
        "safetensors with notes": safetensors.numpy.save({"weights": np.zeros(3)}, {"sapo": "{}"}),
        "endless header": (2**63).to_bytes(8, "little") + b"{" + bytes(100),
        "negative header": b"\xff" * 8 + b"{" + bytes(100),
    }
    for name, data in foreign.items():
        path.write_bytes(data)
        assert "not a sapo model: " in refused(path), name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data.pkl", b"x" * 100)
    assert "not a sapo model: it begins like some other file" in refused(path)


def test_an_empty_file_a_directory_and_a_missing_file_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert "not a sapo model: it is too short" in refused(tmp_path / "empty")
    assert "is a directory, not a sapo model" in refused(tmp_path)
    assert "no such file" in refused(tmp_path / "missing")


def test_another_format_is_refused_with_the_way_out(change: Callable[..., Path]) -> None:
    assert "has format 99, this sapo reads format 2; install a newer sapo" in refused(change(format=99))
    assert "has format 1, this sapo reads format 2; train the model again" in refused(change(format=1))


@pytest.mark.parametrize("version", [None, "1", 1.5, [1]])
def test_a_format_that_is_no_number_is_refused(change: Callable[..., Path], version: Any) -> None:
    assert "it has no format number" in refused(change(format=version))


@pytest.mark.parametrize(
    "header",
    [
        {"labels": []},
        {"labels": ["D", "A", "N"]},
        {"labels": 4},
        {"kind": "pickle"},
        {"kind": None},
        {"kind": "features"},
        {"encoder": {}},
        {"encoder": None},
        {"encoder": {"template": "word[", "file_columns": ["word", "label"]}},
        {"encoder": {"template": "word[0]\nlabel[-1]", "file_columns": ["word", "label"]}},
        {"encoder": {"template": "pos[0]", "file_columns": ["word", "pos", "label"]}},
        {"encoder": {"template": 3, "file_columns": ["word", "label"]}},
        {"encoder": {"template": "word", "file_columns": None}},
        {"reader": 3},
        {"record": 3},
    ],
)
def test_a_header_that_does_not_fit_is_refused(change: Callable[..., Path], header: dict[str, Any]) -> None:
    assert "its parts do not fit together" in refused(change(**header))


def test_whatever_is_let_through_stays_inside_its_arrays(path: Path) -> None:
    refused, used = refused_and_used(path, ["the", "old", "hen", "new"], times=300)
    assert refused > 50
    assert used > 50


def test_the_header_table_of_the_file_is_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "crafted"
    notes = json.dumps({"checksum": "", "header": {}})
    entries: list[Any] = [
        {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]},
        {"dtype": "F32", "shape": [1], "data_offsets": [-4, 0]},
        {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]},
        {"dtype": "object", "shape": [1], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": "1", "data_offsets": [0]},
        {"dtype": "F32"},
        [],
        None,
    ]
    for entry in entries:
        table = json.dumps({"__metadata__": {"sapo": notes}, "weights": entry}).encode()
        path.write_bytes(len(table).to_bytes(8, "little") + table + bytes(8))
        assert "its header is broken" in refused(path), entry


def test_a_header_nested_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep"
    table = b'{"a":' + b"[" * 100_000
    path.write_bytes(len(table).to_bytes(8, "little") + table)
    assert "its header is broken" in refused(path)


def test_numbers_that_json_does_not_know_are_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        save_arrays(tmp_path / "x", {"objective": float("nan")}, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("header", [[], "model", 3, None])
def test_a_header_that_is_no_object_is_refused(path: Path, header: Any) -> None:
    save_arrays(path, header, load_arrays(path, "a file")[1])
    with pytest.raises(SapoError, match="not a sapo model"):
        load_model(path)


@pytest.mark.parametrize("shape", ["[1e999]", "[0, 1000000000000000000000000000000]", "[0, 9223372036854775807, 4]"])
def test_a_shape_that_is_no_size_is_refused(tmp_path: Path, shape: str) -> None:
    notes = json.dumps(json.dumps({"checksum": "", "header": {}}))
    entry = f'{{"dtype": "F32", "shape": {shape}, "data_offsets": [0, 0]}}'
    table = f'{{"__metadata__": {{"sapo": {notes}}}, "weights": {entry}}}'.encode()
    path = tmp_path / "crafted"
    path.write_bytes(len(table).to_bytes(8, "little") + table)
    with pytest.raises(SapoError, match="its header is broken"):
        load_model(path)


def test_words_that_are_no_utf8_are_refused(change: Callable[..., Path], path: Path) -> None:
    blob = load_arrays(path, "a file")[1]["column.word.blob"].copy()
    blob[0] = 0xFF
    with pytest.raises(SapoError):
        describe(load_model(change({"column.word.blob": blob})), top=100)


@pytest.mark.parametrize("labels", [["D", "A", "N", 3], ["D", "D", "N", "V"], "DANV"])
def test_labels_that_are_not_different_strings_are_refused(change: Callable[..., Path], labels: Any) -> None:
    with pytest.raises(SapoError):
        load_model(change(labels=labels))


@pytest.mark.parametrize("reader", [{"columns": 3}, {"columns": [1, 2], "format": "columns"}, {"label": 7}])
def test_a_reader_of_the_wrong_kind_is_refused(change: Callable[..., Path], tmp_path: Path, reader: Any) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the D\n")
    with pytest.raises(SapoError):
        Tagger.load(change(reader={"format": "columns", **reader})).evaluate(text)


@pytest.mark.parametrize("record", [{"note": "by hand"}, {"settings": 3}])
def test_a_record_of_the_wrong_kind_can_be_looked_at_or_is_refused(change: Callable[..., Path], record: Any) -> None:
    try:
        description = describe(load_model(change(record=record)))
    except SapoError:
        return
    assert describe_text({"file": "changed.sapo", "megabytes": 0.0, **description})


def test_a_template_nested_without_end_is_refused(change: Callable[..., Path]) -> None:
    template = "lower(" * 5000 + "word" + ")" * 5000
    with pytest.raises(SapoError):
        load_model(change(encoder={"template": template, "file_columns": ["word", "label"]}))
