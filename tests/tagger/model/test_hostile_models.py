"""Models that somebody made to hurt, with a checksum that fits: refused in one line, or harmless."""

import dataclasses
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapo
from sapo.errors import SapoError
from sapo.features.encoder import TemplateEncoder, freeze
from sapo.features.strings import narrow
from sapo.features.tables import FrozenTables, OpenTables, make_tables
from sapo.tagger.arrayfile import load_arrays, save_arrays
from sapo.tagger.file import load_model, model_bytes
from sapo.tagger.model import Model
from sapo.tagger.tagger import Tagger
from sapo.training.update import Trainer

RECORD: dict[str, Any] = {
    "learner": "sapo",
    "settings": {"n": 5},
    "template": "own",
    "sentences": 2,
    "tokens": 6,
    "passes": 1,
    "kept_pass": 1,
    "stopped": "all passes done",
    "score_name": "accuracy",
    "history": [],
}


def refused(path: Path) -> str:
    with pytest.raises(SapoError) as told:
        load_model(path)
    assert "\n" not in str(told.value)
    return str(told.value)


def opened(model: Model, **changed: Any) -> TemplateEncoder:
    """Read the open tables of the model's encoder, as shards and networks keep them, with other arrays."""
    arrays = {**model.encoder.arrays(), **{name.replace("__", "."): array for name, array in changed.items()}}
    return TemplateEncoder.from_arrays(
        model.encoder.header(), {name: array for name, array in arrays.items() if array is not None}
    )


def refused_tables(model: Model, **changed: Any) -> None:
    with pytest.raises((ValueError, KeyError)):
        opened(model, **changed)


def open_arrays(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    assert isinstance(model.encoder.tables, OpenTables)
    tables = model.encoder.tables
    return tables.keys.copy(), tables.slots.copy(), tables.offsets.copy()


def test_a_key_past_its_direct_table_is_refused(model: Model) -> None:
    keys, slots, offsets = open_arrays(model)
    row = int(slots[: offsets[1]].max()) - 1  # of the first table, which is direct
    keys[row] = 1 << 40
    refused_tables(model, feature__keys=keys)


def test_a_key_with_more_bits_than_its_table_is_refused(model: Model) -> None:
    keys, slots, offsets = open_arrays(model)
    row = int(slots[offsets[1] : offsets[2]].max()) - 1  # of the second table, which is hashed
    keys[row] |= 1 << 62
    refused_tables(model, feature__keys=keys)


def test_a_feature_in_two_tables_or_in_none_is_refused(model: Model) -> None:
    _, slots, offsets = open_arrays(model)
    places = np.flatnonzero(slots[: offsets[1]])
    twice, gone = slots.copy(), slots.copy()
    twice[places[0]] = slots[places[1]]
    gone[places[0]] = 0
    for changed in (twice, gone):
        refused_tables(model, feature__slots=changed)


def test_slots_that_are_nearly_full_are_not_trusted(model: Model) -> None:
    _, slots, offsets = open_arrays(model)
    second = slots[offsets[1] : offsets[2]]
    full = second[second > 0]
    room = 1 << (len(full) - 1).bit_length()
    smaller = np.concatenate([slots[: offsets[1]], full, np.zeros(room - len(full), np.int32), slots[offsets[2] : -1]])
    offsets[2:] -= len(second) - room
    encoder = opened(model, feature__slots=smaller, feature__slot_offsets=offsets)
    names = range(encoder.features)
    assert encoder.feature_names(names) == model.encoder.feature_names(names)
    assert np.array_equal(encoder.tables.offsets, model.encoder.tables.offsets)


def test_tables_cannot_be_made_of_keys_that_leave_them(model: Model) -> None:
    encoder = model.encoder
    keys, groups = encoder.tables.keys.copy(), encoder.tables.groups()
    none = np.empty(0, np.int64), np.empty(0, np.int32)
    direct, hashed = np.flatnonzero(groups == 0), np.flatnonzero(groups == 1)
    for rows, value in ((direct[:1], 1 << 40), (direct[:1], -1), (hashed[:2], 77)):
        wrong = keys.copy()
        wrong[rows] = value
        with pytest.raises(SapoError, match="changed or damaged"):
            make_tables(encoder.layout, (wrong, groups), none)


def test_a_frozen_table_with_a_feature_twice_can_be_tagged_with_but_does_not_go_on(
    change: Callable[..., Path], path: Path
) -> None:
    arrays = load_arrays(path, "a file")[1]
    rests = np.zeros_like(arrays["feature.rests"])
    buckets = arrays["feature.buckets"].copy()
    buckets[1:] = buckets[-1]  # all in one bucket, with the same rest
    tagger = Tagger.load(change({"feature.rests": rests, "feature.buckets": buckets}))
    assert len(tagger.tag(["the", "hen"])) == 2
    with pytest.raises(SapoError, match="changed or damaged"):
        Trainer(tagger)


def test_a_string_table_that_is_nearly_full_does_not_hang(model: Model) -> None:
    slots = np.ones(1 << 13, np.int32)
    slots[0] = 0
    tagger = Tagger(dataclasses.replace(model, encoder=opened(model, column__word__slots=slots)))
    trainer = Trainer(tagger)
    words = [f"new{number}" for number in range(50)]
    trainer.update([(words, ["N"] * 50)])
    assert trainer.tagger.tag(["hen"])


INDICES = [  # all that a kernel uses as an index
    "feature.slots",
    "feature.slot_offsets",
    "column.word.offsets",
    "view.1.offsets",
    "view.1.value_offsets",
    "view.1.values",
    "view.2.offsets",
    "view.2.value_offsets",
    "view.2.values",
]
OTHERS = ["feature.keys", "column.word.blob", "view.1.blob", "view.2.blob"]


def test_all_open_arrays_of_indices_are_known_here(model: Model) -> None:
    made_anew = {"column.word.slots", "view.1.slots", "view.2.slots"}
    assert set(model.encoder.arrays()) == {*INDICES, *OTHERS, *made_anew}


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("value", [-1, -(2**31), 2**20, 2**31 - 1])
def test_an_open_index_out_of_range_is_refused_wherever_it_stands(model: Model, name: str, value: int) -> None:
    original = model.encoder.arrays()[name]
    for place in (0, len(original) // 2, len(original) - 1):
        array = original.copy()
        array[place] = value
        refused_tables(model, **{name: array})


@pytest.mark.parametrize("name", [*INDICES, *OTHERS])
def test_an_open_array_of_another_length_type_or_shape_is_refused(model: Model, name: str) -> None:
    original = model.encoder.arrays()[name]
    for array in (None, original[:0], original[:-1], np.concatenate([original, original[-1:]]), original[:, None]):
        refused_tables(model, **{name: array})
    for dtype in {np.dtype(kind) for kind in ("u1", "i4", "i8", "f4", "f8")} - {original.dtype}:
        refused_tables(model, **{name: original.astype(dtype)})


def test_open_tables_that_are_full_are_refused_for_a_search_in_them_would_never_end(model: Model) -> None:
    arrays = model.encoder.arrays()
    first, last = arrays["feature.slot_offsets"][1:3]  # the table of the one template that joins two atoms
    full = arrays["feature.slots"].copy()
    full[first:last] = 1
    refused_tables(model, feature__slots=full)


@pytest.mark.parametrize("key", [5, 2**20 - 1, 2**60, 2**63 - 1])
def test_open_features_that_no_words_have_are_named_or_refused(model: Model, key: int) -> None:
    keys = np.full_like(model.encoder.arrays()["feature.keys"], key)
    try:
        encoder = opened(model, feature__keys=keys)
        names = encoder.feature_names(range(encoder.features))
    except ValueError:
        return
    assert len(names) == len(keys)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e35])
@pytest.mark.parametrize("name", ["weight.values", "edge.values"])
def test_weights_that_are_no_finite_numbers_are_refused(
    change: Callable[..., Path], path: Path, name: str, value: float
) -> None:
    values = load_arrays(path, "a file")[1][name].copy()
    values[-1] = value
    assert name.split(".")[0] in refused(change({name: values}))


def test_a_model_that_forbids_every_tagging_is_refused(change: Callable[..., Path], model: Model) -> None:
    count = len(model.labels)
    bans = np.packbits(np.ones((count + 2) * count, bool))
    assert "no tagging" in refused(change({"bans": bans}))


@pytest.mark.parametrize(
    "header",
    [
        {"temperature": 10**400},
        {"temperature": 1e-300},
        {"bias": {"N": 10**400}},
        {"bias": {"N": 1e300}},
        {"bias": {"N": "1"}},
        {"record": {**RECORD, "settings": []}},
        {"record": {**RECORD, "settings": [["n", 5]]}},
        {"record": {**RECORD, "sentences": -2}},
        {"record": {**RECORD, "sentences": 10**400}},
        {"record": {**RECORD, "history": [{"epoch": 1, "objective": 10**400, "w_complexity": 1.0, "dev": None}]}},
        {"record": {**RECORD, "continued": [1]}},
        {"record": {**RECORD, "continued": [{"settings": {}, "sentences": "many"}]}},
        {"record": {**RECORD, "features": "many"}},
        {"record": {**RECORD, "missing": 3}},
        {"record": []},
        {"reader": []},
        {"constraints": {"scheme": None, "exceptions": [["N", "unknown"]], "rules": []}},
        {"constraints": {"scheme": None, "exceptions": [[None, None]], "rules": []}},
        {"constraints": {"scheme": "iob2", "exceptions": [], "rules": []}},
        {"constraints": {"scheme": None, "exceptions": [], "rules": ["forbid unknown N"]}},
        {"constraints": {"scheme": None, "exceptions": [], "rules": "forbid"}},
        {"constraints": []},
    ],
)
def test_a_header_whose_parts_do_not_fit_is_refused(change: Callable[..., Path], header: dict[str, Any]) -> None:
    assert "not a sapo model" in refused(change(**header))


def test_a_sound_record_is_let_through(change: Callable[..., Path]) -> None:
    continued = {"settings": {}, "sentences": 1, "updates": 1, "passes": 1, "stopped": "all right"}
    loaded = load_model(change(record={**RECORD, "continued": [continued], "features": 9, "missing": "_"}))
    assert model_bytes(loaded)


@pytest.mark.parametrize("text", ["NaN", "Infinity", '"\\ud800"', "1e999"])
def test_what_could_not_be_saved_again_is_not_loaded(path: Path, text: str) -> None:
    header, arrays = load_arrays(path, "a file")
    forged = path.with_name("forged.sapo")
    forged.write_bytes(_packed({**header, "reader": {"note": json.loads(text)}}, arrays))
    refused(forged)


def _packed(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Write as `pack_arrays` does, but whatever JSON the header needs."""
    import safetensors.numpy

    from sapo.tagger.arrayfile import checksum_of

    text = json.dumps({"checksum": checksum_of(header, arrays), "header": header})
    return safetensors.numpy.save({name: array.copy() for name, array in arrays.items()}, {"sapo": text})


@pytest.mark.parametrize("count", [5_001, 65_535])
def test_labels_above_the_limit_are_refused_before_their_pairs_take_memory(
    change: Callable[..., Path], count: int
) -> None:
    zeros = narrow(np.zeros(count, np.int32))
    none = narrow(np.zeros(0, np.int32)), np.zeros(0, np.float32)
    edges = {"edge.counts": zeros, "edge.labels": none[0], "edge.values": none[1]}
    many = change(edges, labels=[f"L{number}" for number in range(count)])
    tracemalloc.start()
    try:
        assert f"{count:,} labels are more than 5,000; if that is right, use `allow_limits" in refused(many)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50 << 20


def test_pairs_of_labels_take_memory_only_where_they_have_weights(change: Callable[..., Path]) -> None:
    count = 4_000
    edges = {"edge.counts": narrow(np.zeros(count, np.int32)), "edge.labels": narrow(np.zeros(0, np.int32))}
    many = change({**edges, "edge.values": np.zeros(0, np.float32)}, labels=[f"L{number}" for number in range(count)])
    program = (
        "import sys; from sapo.tagger.file import load_model; load_model(sys.argv[1])\n"
        "def peak(): return int(next(l for l in open('/proc/self/status') if l.startswith('VmHWM')).split()[1])\n"
        "before = peak(); load_model(sys.argv[2]); print(peak() - before)"
    )
    if not Path("/proc/self/status").exists():
        pytest.skip("the peak of memory is not known here")
    command = [sys.executable, "-c", program, str(many.with_name("small.sapo")), str(many)]
    grown = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert grown < 30 << 10  # KB; 4,000 x 4,000 numbers take 61 MB


@pytest.mark.parametrize("name", ["labels", "shown"])
def test_a_label_above_the_limit_is_refused(change: Callable[..., Path], model: Model, name: str) -> None:
    labels = ["x" * (1 << 20) + "x", *model.labels[1:]]
    assert "1,048,577 characters of a label are more than 1,048,576" in refused(change(**{name: labels}))


def _file(text: str) -> bytes:
    return len(text.encode()).to_bytes(8, "little") + text.encode()


NOTE = json.dumps({"sapo": json.dumps({"checksum": "", "header": {}})})


@pytest.mark.parametrize(
    "text",
    [
        '{"__metadata__": ' + NOTE + ', "\\ud800": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}}',
        '{"__metadata__": ' + NOTE + ', "a": {"dtype": "U8", "shape": [' + "9999999999, " * 300_000 + "0]}}",
        '{"__metadata__": ' + json.dumps({"sapo": '{"header": {"a": [' + "[]," * 2_500_000 + "0]}}"}) + "}",
        '{"__metadata__": ' + json.dumps({"sapo": '{"header": {"a": "😀' + "x" * 9_000_000 + '"}}'}) + "}",
        '{"a": [' + '{"":0},' * 1_100_000 + "0]}",
    ],
    ids=["half of a character", "a shape that takes hours", "many lists", "a long text", "many objects"],
)
def test_a_header_with_a_few_bytes_and_a_large_claim_is_refused(path: Path, text: str) -> None:
    path.write_bytes(_file(text))
    tracemalloc.start()
    try:
        assert "not a sapo model: it" in refused(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 << 20


def test_a_header_that_could_not_be_loaded_is_not_saved(model: Model, tmp_path: Path) -> None:
    large = dataclasses.replace(model, reader={"note": "x" * (9 << 20)})
    with pytest.raises(SapoError, match="a file has room for 8,388,608"):
        Tagger(large).save(tmp_path / "large.sapo")
    assert not list(tmp_path.iterdir())


def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.sapo")
    assert "not a regular file" in refused(tmp_path / "pipe.sapo")


def test_frozen_keys_that_no_vocabulary_has_do_not_go_on(model: Model) -> None:
    encoder = freeze(model.encoder).encoder
    assert isinstance(encoder.tables, FrozenTables)
    rests = np.full_like(encoder.tables.frozen.rests, 255)
    rests.flags.writeable = False
    tables = dataclasses.replace(encoder.tables, frozen=encoder.tables.frozen._replace(rests=rests))
    with pytest.raises(SapoError, match="changed or damaged"):
        type(encoder)(encoder.templates, encoder.strings, encoder.views, tables).growing()


def test_a_network_of_absurd_size_is_refused_at_once(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    tagger = sapo.train([(["no", "rain"], ["DT", "NN"])], learner="bilstm", epochs=1, hidden=3, word_size=2)
    tagger.save(tmp_path / "network.sapo")
    header, arrays = load_arrays(tmp_path / "network.sapo", "a file")
    for name, value in (("depth", 100_000), ("hidden", 1 << 62), ("word_size", 1 << 62), ("char_size", 1 << 40)):
        options = {**header["encoder"]["options"], name: value}
        save_arrays(tmp_path / "large.sapo", {**header, "encoder": {**header["encoder"], "options": options}}, arrays)
        assert name in refused(tmp_path / "large.sapo")
    weights = {**arrays, "network.linear.bias": np.full_like(arrays["network.linear.bias"], np.nan)}
    save_arrays(tmp_path / "nan.sapo", header, weights)
    assert "network.linear.bias" in refused(tmp_path / "nan.sapo")
