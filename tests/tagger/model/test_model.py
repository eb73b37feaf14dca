"""A model saved and loaded is the same model, and equal models are equal files."""

import dataclasses
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.corpus.blocks import Sentence, block_from_sentences
from sapo.errors import SapoError
from sapo.features.building import build_encoder
from sapo.features.ready import build_feature_encoder
from sapo.features.strings import StringTable
from sapo.features.template import parse_templates
from sapo.search.lattice import Parameters
from sapo.tagger.arrayfile import load_arrays, pack_arrays
from sapo.tagger.file import load_model, model_bytes, model_from_bytes, save_model
from sapo.tagger.model import Model
from sapo.tagger.tagger import Tagger

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
LINES = ["word[0]", "word[-2] & word", "suffix(word, 1)", "substrings(word, 2)", "classes(word[1])", "bias"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)

RECORD = {  # what training leaves
    "learner": "sapo",
    "settings": {"n": 5, "rate": 0.1, "stop_ratio": None},
    "template": "pos",
    "sentences": 2,
    "tokens": 7,
    "passes": 1,
    "kept_pass": 1,
    "stopped": "converged",
    "score_name": "accuracy",
    "history": [{"epoch": 1, "objective": 0.1 + 0.2, "dev": None, "w_complexity": 1e-9}],
}


def random_weights(rng: np.random.Generator, features: int, labels: int) -> Parameters:
    shapes = ((features, labels), (labels, labels))
    return Parameters.plain(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))


@st.composite
def models(draw: st.DrawFn) -> Model:
    """Of any words, labels and templates, with ready-made features or without."""
    rows = draw(st.lists(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4), min_size=1, max_size=4))
    labels = StringTable()
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    if draw(st.booleans()):
        lines = draw(st.lists(st.sampled_from(LINES), min_size=1, unique=True))
        text = "\n".join([*lines, *draw(st.sampled_from([[], ["label[-1]"]]))])
        sentences = [Sentence({"word": tuple(w for w, _ in row)}, tuple(t for _, t in row)) for row in rows]
        encoder, _ = build_encoder([block_from_sentences(sentences)], parse_templates(text, ("word", "label")), labels)
        weights = random_weights(rng, encoder.features, len(labels))
        record = {**RECORD, "notes": draw(VALUES)} if draw(st.booleans()) else {}
        return Model(tuple(labels.strings()), encoder, weights, {"columns": ["word", "label"]}, record)
    gold = labels.add([tag for row in rows for _, tag in row])
    features, _ = build_feature_encoder([[{"w": word} for word, _ in row] for row in rows], gold)
    return Model(tuple(labels.strings()), features, random_weights(rng, features.features, len(labels)))


def assert_same(one: Model, other: Model) -> None:
    assert one.labels == other.labels
    assert one.reader == other.reader
    assert one.record == other.record
    assert one.encoder.kind == other.encoder.kind
    assert one.encoder.transitions == other.encoder.transitions
    assert one.encoder.header() == other.encoder.header()
    mine, theirs = weights_by_name(one), weights_by_name(other)
    for name in mine.keys() | theirs.keys():  # features without a weight are not in files
        np.testing.assert_array_equal(mine.get(name, 0.0), theirs.get(name, np.zeros(len(one.labels))))
    np.testing.assert_array_equal(one.parameters.edges, other.parameters.edges)
    np.testing.assert_array_equal(one.parameters.bans, other.parameters.bans)


def weights_by_name(model: Model) -> dict[str, np.ndarray]:
    names = model.encoder.feature_names(range(model.encoder.features))
    return dict(zip(names, model.parameters.features, strict=True))


@settings(deadline=None, max_examples=60)
@given(model=models(), words=st.lists(WORDS, max_size=5))
def test_a_model_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, model: Model, words: list[str]) -> None:
    path = tmp_path_factory.mktemp("model") / "any.sapo"
    save_model(model, path)
    loaded = load_model(path)
    assert_same(loaded, model)
    tokens = words if model.encoder.kind == "templates" and model.encoder.columns else [{"w": word} for word in words]
    if model.encoder.kind == "features" or model.encoder.columns:
        found, expected = Tagger(loaded).nbest(tokens), Tagger(model).nbest(tokens)
        np.testing.assert_allclose([one.score for one in found], [one.score for one in expected], rtol=1e-5, atol=1e-5)
    # and a file of the loaded one is the same file
    again = path.with_name("again.sapo")
    save_model(loaded, again)
    assert again.read_bytes() == path.read_bytes()


def test_equal_models_are_equal_files_and_different_ones_are_not(model: Model, path: Path, tmp_path: Path) -> None:
    twin = Model(
        tuple(model.labels),
        model.encoder,
        Parameters.plain(model.parameters.features.copy(), np.asfortranarray(model.parameters.edges)),
        dict(model.reader),
        dict(model.record),
    )
    save_model(twin, tmp_path / "twin.sapo")
    assert (tmp_path / "twin.sapo").read_bytes() == path.read_bytes()
    weights = model.parameters.features.copy()
    weights[0, 0] = np.nextafter(weights[0, 0], np.float32(9))
    other = Parameters.plain(weights, model.parameters.edges)
    save_model(Model(model.labels, model.encoder, other, model.reader), tmp_path / "other.sapo")
    assert (tmp_path / "other.sapo").read_bytes() != path.read_bytes()


def test_the_file_is_mapped_not_copied(path: Path) -> None:
    loaded = load_model(path)
    (strings,) = (table.small_arrays()["blob"] for table in loaded.encoder.strings.values())
    assert not strings.flags.owndata
    assert not strings.flags.writeable


def test_a_model_can_be_saved_over_the_file_it_is_mapped_from(path: Path) -> None:
    before = path.read_bytes()
    loaded = load_model(path)
    tags = Tagger(loaded).tag(["the", "hen"])
    save_model(loaded, path)
    assert path.read_bytes() == before
    assert Tagger(loaded).tag(["the", "hen"]) == tags


def test_the_old_file_survives_a_disk_that_is_full(model: Model, path: Path) -> None:
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, hard))
    try:
        with pytest.raises(SapoError, match=r"small\.sapo: cannot be written .*File too large.*unchanged"):
            save_model(model, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_the_old_file_survives_an_interruption(
    model: Model, path: Path, monkeypatch: pytest.MonkeyPatch, raising: Callable[[BaseException], Callable[..., None]]
) -> None:
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        save_model(model, path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.fixture
def raising() -> Callable[[BaseException], Callable[..., None]]:
    def make(error: BaseException) -> Callable[..., None]:
        def call(*_: object) -> None:
            raise error

        return call

    return make


@pytest.mark.parametrize("name", ["no/such/directory/m.sapo", "."])
def test_a_path_that_cannot_be_written_is_told(model: Model, tmp_path: Path, name: str) -> None:
    with pytest.raises(SapoError, match="cannot be written"):
        save_model(model, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_the_bytes_of_a_model_are_those_of_its_file_and_are_checked_alike(tmp_path: Path) -> None:
    encoder, _ = build_feature_encoder([[["a", "b"]]], np.zeros(1, np.int32))
    model = Model(("X", "Y"), encoder, random_weights(np.random.default_rng(0), 2, 2), {}, RECORD)
    save_model(model, tmp_path / "model.sapo")
    data = model_bytes(model)
    assert data == (tmp_path / "model.sapo").read_bytes()
    back = model_from_bytes(data)
    assert back.labels == model.labels
    assert (back.parameters.features == model.parameters.features).all()
    for bad in (b"", data[:-1], data[:-1] + bytes([data[-1] ^ 1])):
        with pytest.raises(SapoError, match="bytes: not a sapo model"):
            model_from_bytes(bad)


def test_a_temperature_is_saved_and_loaded(model: Model, tmp_path: Path) -> None:
    save_model(dataclasses.replace(model, temperature=1.75), tmp_path / "warm.sapo")
    assert load_model(tmp_path / "warm.sapo").temperature == 1.75


def test_a_file_of_an_older_sapo_without_a_temperature_has_1(model: Model, path: Path) -> None:
    header, _ = load_arrays(path, "a file")
    assert set(header) == {"format", "kind", "labels", "encoder", "reader", "record"}  # as it always was
    assert load_model(path).temperature == 1.0
    words = ["the", "hen"]
    assert Tagger(load_model(path)).marginals(words) == Tagger(model).marginals(words)


@pytest.mark.parametrize("value", [0, -1.0, "1", None, True, [1.0]])
def test_a_temperature_that_is_none_is_refused(change: Callable[..., Path], value: object) -> None:
    with pytest.raises(SapoError, match=r"its parts do not fit together \(temperature\)"):
        load_model(change(temperature=value))


OVERWRITTEN = """
import os, sys
from sapo import Tagger
tagger = Tagger.load(sys.argv[1])
os.truncate(sys.argv[1], 0)
print(*tagger.tag(["the", "old", "hen", "sings"]))
"""


def test_a_loaded_model_tags_after_its_file_was_cut_off(model: Model, path: Path) -> None:
    command = [sys.executable, "-c", OVERWRITTEN, str(path)]  # in a process of its own, because a signal might end it
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == Tagger(model).tag(["the", "old", "hen", "sings"])


def test_a_file_that_is_mapped_gives_what_one_that_is_read_gives(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header, arrays = load_arrays(path, "a file")
    monkeypatch.setattr("sapo.tagger.arrayfile.MAPPED", path.stat().st_size)
    mapped_header, mapped = load_arrays(path, "a file")
    assert mapped_header == header
    assert mapped.keys() == arrays.keys()
    for name, array in arrays.items():
        assert np.array_equal(mapped[name], array)
        assert not array.flags.writeable
        assert not mapped[name].flags.writeable


def test_a_file_is_what_the_library_safetensors_would_write() -> None:
    kinds = (np.uint8, np.uint16, np.int32, np.int64, np.float16, np.float32, np.float64)
    arrays = {f"{name}.{np.dtype(kind).name}": np.ones((2, 3), kind) for name in ("b", "a") for kind in kinds}
    arrays |= {"none": np.empty((0, 4), np.float32), "odd": np.arange(3, dtype=np.uint8)}
    header = {"text": 'ü "\\\n\t\x01\x7f😀', "number": 1.5}
    packed = pack_arrays(header, arrays)
    length = int.from_bytes(packed[:8], "little")
    metadata = json.loads(packed[8 : 8 + length])["__metadata__"]
    assert packed == safetensors.numpy.save(arrays, metadata)
