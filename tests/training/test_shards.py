"""Training from shards on disk gives what training in memory gives, and goes on after it was killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sapo
from sapo.corpus.formats import read_blocks
from sapo.corpus.sample import sample_files
from sapo.errors import SapoError
from sapo.features.building import build_encoder
from sapo.features.encoder import TemplateEncoder
from sapo.features.strings import StringTable
from sapo.learn.records import Observer
from sapo.learn.samples import Chunk
from sapo.tagger.arrayfile import load_arrays
from sapo.tagger.file import model_bytes
from sapo.training.plan import StreamOptions, make_plan
from sapo.training.run import start
from sapo.training.shards.corpus import open_shards
from sapo.training.shards.manifest import Manifest, features_path

FIXED: dict[str, Any] = {"rate": 0.2, "strength": 0.3, "epochs": 2}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sample")
    for name, text in sample_files().items():
        (directory / name).write_text(text, encoding="utf-8")
    return directory


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def trained(path: Path, **options: Any) -> bytes:
    return model_bytes(sapo.train(path, **{**FIXED, **options}).model)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("train.txt", {"min_count": 3, "rate": "auto", "strength": "auto"}),
        ("ner-train.txt", {"template": "ner"}),  # learned in BIOES
        ("train.conllu", {"learner": "perceptron-avg"}),
        ("ner-train.jsonl", {"scheme": "keep"}),
    ],
)
def test_the_model_is_that_of_memory_byte_for_byte(files: Path, cache: Path, name: str, options: Any) -> None:
    stream = StreamOptions(cache, shard=300)
    assert trained(files / name, stream=stream, **options) == trained(files / name, **options)
    assert len(open_shards(cache).manifest.shards) > 3


def test_edge_features_and_bags_of_crfpp_are_counted_as_in_memory(files: Path, cache: Path, tmp_path: Path) -> None:
    template = tmp_path / "template"
    template.write_text("U:%x[-1,0]\nU:%x[0,0]\nU1:%x[0,0]/%x[0,1]\nB\nB1:%x[0,1]\n")
    options = {"template": template, "min_count": 2}
    assert trained(files / "train.txt", stream=StreamOptions(cache, 300), **options) == trained(
        files / "train.txt", **options
    )


def test_a_small_buffer_learns_as_memory_does_in_the_same_order(
    files: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {**FIXED, "stream": StreamOptions(cache, shard=300, buffer=900), "calibrate": False}
    streamed = sapo.train(files / "train.txt", **options)
    shards = open_shards(cache, buffer=900)
    starts = np.cumsum([0, *(entry.sentences for entry in shards.manifest.shards)])

    def in_this_order(corpus: Any, how: Any, epoch: int) -> Iterator[Chunk]:
        order = []
        for group, chunk in zip(shards._groups(how.seed, epoch), shards.chunks(how, epoch), strict=True):
            sentences = np.concatenate([np.arange(starts[number], starts[number + 1]) for number in group])
            order.append(sentences[chunk.order])
        assert len(order) > 3
        yield Chunk(corpus, np.concatenate(order), ((0, corpus.tokens),), ((0, len(corpus.rows)),))

    monkeypatch.setattr("sapo.learn.loop.chunks_of", in_this_order)
    in_memory = sapo.train(files / "train.txt", calibrate=False, **FIXED)
    assert model_bytes(in_memory.model) == model_bytes(streamed.model)


def test_every_pass_has_each_sentence_once_in_another_order(files: Path, cache: Path) -> None:
    plan = make_plan(files / "train.txt", stream=StreamOptions(cache, 300, 900), **FIXED)
    data = start(plan).data
    assert data.shards is not None
    whole = data.shards.load(range(len(data.shards.manifest.shards)))
    orders = []
    for epoch in (1, 2, 1):
        chunks = list(data.shards.chunks(plan.settings, epoch))
        places = [place for chunk in chunks for place in chunk.places]
        assert sorted(sentence_sums(chunks)) == sorted(
            sentence_sums([Chunk(whole, np.arange(whole.sentences), (), ())])
        )
        assert all(chunk.corpus.tokens <= 900 for chunk in chunks)
        orders.append(places)
    assert orders[0] == orders[2] != orders[1]


def sentence_sums(chunks: list[Chunk]) -> list[int]:
    """Return a number for each sentence, in the order of learning."""
    return [
        int(chunk.corpus.rows[chunk.corpus.row_offsets[a] : chunk.corpus.row_offsets[b]].sum())
        for chunk in chunks
        for a, b in ((chunk.corpus.offsets[i], chunk.corpus.offsets[i + 1]) for i in chunk.order.tolist())
    ]


class Killed(BaseException):
    """As if the process were killed: nothing may handle it."""


def test_making_shards_goes_on_wherever_it_was_killed(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tmp_path / "whole"
    options: dict[str, Any] = FIXED
    tagger = sapo.train(files / "ner-train.txt", stream=StreamOptions(whole, 300), calibrate=False, **options)
    expected = model_bytes(tagger.model)
    names = sorted(path.name for path in whole.iterdir())
    saves = _saves(monkeypatch, None)
    start(make_plan(files / "ner-train.txt", stream=StreamOptions(tmp_path / "count", 300), **options))
    total = saves[0]
    for last in range(0, total, total // 3):
        cache = tmp_path / f"cache{last}"
        plan = make_plan(files / "ner-train.txt", stream=StreamOptions(cache, 300), **options)
        _saves(monkeypatch, last)
        with pytest.raises(Killed):
            start(plan)
        _saves(monkeypatch, None)
        run = start(plan)
        assert (cache / "manifest.json").read_text() == (whole / "manifest.json").read_text()
        assert sorted(path.name for path in cache.iterdir()) == [name for name in names if name != "checkpoint"]
        if not last:
            assert model_bytes(run.finish().tagger.model) == expected


def _saves(monkeypatch: pytest.MonkeyPatch, last: int | None) -> list[int]:
    """Let the process die instead of the save of the manifest with this number; return the count of saves."""
    monkeypatch.undo()
    done = [0]
    real = Manifest.save

    def save(self: Any, directory: Path) -> None:
        if done[0] == last:
            raise Killed
        done[0] += 1
        real(self, directory)

    monkeypatch.setattr(Manifest, "save", save)
    return done


def test_a_run_that_is_killed_in_its_passes_goes_on_to_the_same_model(files: Path, tmp_path: Path) -> None:
    cache, out = tmp_path / "cache", tmp_path / "model.sapo"
    command = [sys.executable, "-m", "sapo", "train", str(files / "train.txt"), "--stream", str(cache), "-o", str(out)]
    command += ["--rate", "0.2", "--strength", "0.3", "--epochs", "80", "--set", "tolerance=0"]
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    for _ in range(6000):
        if (cache / "checkpoint").exists() or running.poll() is not None:
            break
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    assert not out.exists()
    header, _ = load_arrays(cache / "checkpoint", "a checkpoint")
    assert 0 < len(header["history"]) < 80
    options = {**FIXED, "epochs": 80, "tolerance": 0.0}
    epochs: list[int] = []
    resumed = sapo.train(files / "train.txt", stream=cache, resume=True, observers=[_Passes(epochs)], **options)
    assert epochs == list(range(len(header["history"]) + 1, 81))
    assert model_bytes(resumed.model) == trained(files / "train.txt", **options)


class _Passes(Observer):
    def __init__(self, epochs: list[int]) -> None:
        self.epochs = epochs

    def passed(self, record: Any, state: Any) -> None:
        self.epochs.append(record.epoch)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"min_count": 2}, "it was made with min_count 1, not 2"),
        ({"template": "chunking"}, "it was made with another template"),
        ({"scheme": "iob2"}, "it was made with scheme auto, not iob2"),
    ],
)
def test_a_directory_of_other_options_is_refused_in_one_line(
    files: Path, cache: Path, change: Any, message: str
) -> None:
    start(make_plan(files / "train.txt", stream=cache, **FIXED))
    with pytest.raises(SapoError, match=message):
        start(make_plan(files / "train.txt", stream=cache, **{**FIXED, **change}))


def test_a_changed_input_is_noticed_and_a_touched_one_is_not(files: Path, cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes((files / "train.txt").read_bytes())
    plan = make_plan(path, stream=cache, **FIXED)
    start(plan)
    path.touch()
    start(plan)
    text = path.read_text()
    path.write_text(text.replace("DT", "JJ", 1))
    with pytest.raises(SapoError, match="its input was another file, or has changed since; give `stream` another"):
        start(plan)


def test_a_damaged_shard_is_noticed(files: Path, cache: Path) -> None:
    plan = make_plan(files / "train.txt", stream=StreamOptions(cache, 300), **FIXED)
    start(plan)
    path = features_path(cache, 1)
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    with pytest.raises(SapoError, match=r"00001\.features: not a shard of sapo: its checksum is wrong"):
        open_shards(cache).load([0, 1])
    path.unlink()
    with pytest.raises(SapoError, match=r"00001\.features: no such file"):
        open_shards(cache).open(1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "manifest.json: damaged"),
        ("[]", "damaged"),
        ('{"format": 99}', "has format 99, this sapo reads format 1"),
        ('{"format": 1, "request": 1, "shards": [], "sizes": []}', "damaged"),
        ('{"format": 1, "request": {}, "shards": [{"sentences": -1, "tokens": 1}], "sizes": []}', "damaged"),
        ('{"format": 1, "request": {}, "shards": [], "sizes": []}', "its shards are not finished"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(SapoError, match=message):
        open_shards(tmp_path)


def test_a_manifest_is_not_read_if_it_is_no_small_file(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    for text in ("[" * (9 << 20), '{"format": [' + "[]," * 600_000 + "0]}"):
        path.write_text(text)
        with pytest.raises(SapoError, match=r"manifest\.json: damaged"):
            open_shards(tmp_path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(SapoError, match=r"cannot be read \(not a regular file"):
        open_shards(tmp_path)


def test_a_manifest_that_was_changed_by_hand_is_one_line(files: Path, cache: Path) -> None:
    plan = make_plan(files / "train.txt", stream=StreamOptions(cache, 10_000), **FIXED)
    start(plan)
    path = cache / "manifest.json"
    whole = json.loads(path.read_text())
    labels, about, shards = whole["labels"], whole["about"], whole["shards"]
    features, edges, count = whole["sizes"]
    for change in (
        {"about": {}},
        {"about": {**about, "template": 7}},
        {"about": {**about, "reader": 2.5}},
        {"about": {**about, "text": {"unit": "x"}}},
        {"labels": {**labels, "notes": 1.5}},
        {"labels": {**labels, "outer": labels["outer"][1:]}},
        {"labels": {**labels, "learned": labels["learned"][:1] * len(labels["learned"])}},
        {"labels": {**labels, "scheme": "none"}},
        {"sizes": [features + 1, edges, count]},
        {"sizes": [features, edges, count + 1]},
        {"shards": []},
        {"shards": [{**entry, "edge_rows": entry["edge_rows"] + 1} for entry in shards]},
        *({"shards": [{**shards[0], name: 1 << 50}, *shards[1:]]} for name in ("sentences", "tokens", "rows")),
    ):
        path.write_text(json.dumps({**whole, **change}))
        with pytest.raises(SapoError, match=r"damaged|does not fit the manifest"):
            start(plan)


def test_a_directory_with_other_files_is_left_alone(files: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(SapoError, match="is not empty, and not a cache directory of sapo"):
        sapo.train(files / "train.txt", stream=tmp_path, **FIXED)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ([(["a"], ["X"])], {}, "must be a file"),
        ("-", {}, "give it a file, not a pipe"),
        ("nowhere.txt", {}, "no such file"),
        ("train.txt", {"learner": "crf"}, "crf needs all data in memory; use one of sapo,"),
        ("train.txt", {"learner": "crf-lbfgs"}, "needs all data in memory"),
        ("train.txt", {"class_weight": "balanced"}, "neither sample_weight nor class_weight"),
        ("train.txt", {"missing": "O"}, "some tags are missing"),
    ],
)
def test_what_cannot_be_streamed_is_refused_in_one_line(
    files: Path, cache: Path, data: Any, options: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    with pytest.raises(SapoError, match=message):
        sapo.train(data, stream=cache, **FIXED, **options)


def test_resume_without_a_stream_is_refused(files: Path) -> None:
    with pytest.raises(SapoError, match="resume needs stream"):
        sapo.train(files / "train.txt", resume=True)


def test_a_part_of_the_shards_shares_the_regularizer_of_all(files: Path, cache: Path) -> None:
    start(make_plan(files / "train.txt", stream=StreamOptions(cache, 300), **FIXED))
    corpus = open_shards(cache)
    part = corpus.part([1, 2])
    assert part.sentences < corpus.sentences
    loaded = part.load([1, 2])
    assert loaded.sentences == part.sentences
    assert loaded.sentences_in_all == corpus.sentences
    opened = part.open(2)
    assert not opened.rows.flags.writeable


WORDS = st.sampled_from(["a", "b", "Aa", "ab", "ba", "1"])
SENTENCES = st.lists(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6), min_size=1, max_size=12)


@given(sentences=SENTENCES, size=st.integers(1, 20), min_count=st.integers(1, 3))
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_counting_on_disk_finds_the_features_of_memory_in_the_same_order(
    tmp_path_factory: pytest.TempPathFactory, sentences: Any, size: int, min_count: int
) -> None:
    directory = tmp_path_factory.mktemp("counting")
    path = directory / "train.txt"
    path.write_text("\n".join("".join(f"{word} {tag}\n" for word, tag in one) for one in sentences))
    template = directory / "template"
    template.write_text("word[-1]\nword[0] & word[1]\nsubstrings(word, 2)\nclasses(word[1]) & word\nlabel[-1] & word\n")
    plan = make_plan(path, stream=StreamOptions(directory / "cache", size), template=template, min_count=min_count)
    data = start(plan).data
    assert isinstance(data.encoder, TemplateEncoder)
    encoder, corpus = build_encoder(read_blocks(path), data.encoder.templates, StringTable(), min_count=min_count)
    found = data.encoder.arrays()
    assert all(np.array_equal(found[name], array) for name, array in encoder.arrays().items())
    assert data.shards is not None
    loaded = data.shards.load(range(len(data.shards.manifest.shards)))
    for name in ("offsets", "row_offsets", "rows", "edge_row_offsets", "edge_rows", "words"):
        assert np.array_equal(getattr(loaded, name), getattr(corpus, name)), name


def test_the_command_says_what_it_does_and_makes_a_model_that_tags(files: Path, cache: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.sapo"
    command = [sys.executable, "-m", "sapo", "train", str(files / "train.txt"), "-o", str(out)]
    done = subprocess.run(
        [*command, "-v", "--stream", str(cache), "--epochs", "2", "--rate", "0.2", "--strength", "0.3"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "counting features (2,063 of word, 40 of pos)" in done.stderr
    assert (cache / "checkpoint").exists()
    assert sapo.Tagger.load(out).tag([("The", "DT"), ("dog", "NN")]) == ["B-NP", "I-NP"]
