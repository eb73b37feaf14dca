"""Tagging a directory on a cluster: the files of one process, the ones that are missing, and nothing half done."""

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import sapo
from sapo.apps.ray.tagging import FileTagger, Job, tag_directory
from sapo.cli.main import app
from sapo.errors import SapoError
from sapo.tagger.decoding import Output
from sapo.tagger.files import tagged_file

TEXTS = ["The cat sleeps in Oslo. It is old.", "New York is large. The miners left."]


@pytest.fixture(scope="module")
def model(sentences: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "chunk.sapo"
    words = [([word for word, _ in tokens], tags) for tokens, tags in sentences]
    sapo.train(words, template="ner", rate=0.2, strength=0.3, epochs=3).save(path)
    return path


@pytest.fixture
def texts(tmp_path: Path, sentences: Any) -> Path:
    """Columns, JSONL and Parquet, some below others."""
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'sapo-nlp[arrow]'")
    parquet = pytest.importorskip("pyarrow.parquet")
    room = tmp_path / "texts"
    (room / "deep").mkdir(parents=True)
    words = [[word for word, _ in tokens] for tokens, _ in sentences[:40]]
    columns = "".join("\n".join(sentence) + "\n\n" for sentence in words)
    for number in range(4):
        (room / "deep" / f"{number}.txt").write_text(columns * (number + 1))
    (room / "a.jsonl").write_text("".join(json.dumps({"tokens": sentence}) + "\n" for sentence in words))
    parquet.write_table(pyarrow.table({"tokens": words}), room / "b.parquet")
    return room


def job(model: Path, **options: Any) -> Job:
    return Job(model.read_bytes(), Output(), **options)


def test_each_file_is_tagged_as_one_process_tags_it(ray_cluster: Any, model: Path, texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "tagged"
    done = list(tag_directory(str(texts), str(out), job(model)))
    assert sorted(one.name for one in done) == sorted(str(file.relative_to(texts)) for file in texts.rglob("*.*"))
    assert not [one for one in done if one.error]
    tagger = sapo.Tagger.load(model)
    for file in [*texts.rglob("*.txt"), *texts.glob("*.jsonl")]:
        expected = b"".join(part for _, part in tagged_file(tagger, file, Output()))
        assert (out / file.relative_to(texts)).read_bytes() == expected
    rows = [sentence.tags for sentence in sapo.read(out / "b.parquet", label="tags")]
    assert rows == [sentence.tags for sentence in sapo.read(out / "a.jsonl")]


def test_a_worker_remembers_new_words_from_file_to_file(
    model: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    worker = FileTagger(str(texts), str(tmp_path / "out"))
    worker.begin(job(model))
    assert worker.tagger is not None
    monkeypatch.setattr(type(worker.tagger.model.encoder), "session", None)  # no other one is made
    names = ["deep/0.txt", "deep/1.txt"]
    assert all(worker.tag(job(model), name).tokens > 0 for name in names)
    monkeypatch.undo()
    for name in names:
        alone = b"".join(piece for _, piece in tagged_file(sapo.Tagger.load(model), texts / name, Output()))
        assert (tmp_path / "out" / name).read_bytes() == alone


def test_only_what_is_missing_is_done_and_a_bad_file_stops_no_other(
    ray_cluster: Any, model: Path, texts: Path, tmp_path: Path
) -> None:
    out, said = tmp_path / "tagged", []
    (texts / "bad.jsonl").write_text("{no\n")
    first = {one.name: one for one in tag_directory(str(texts), str(out), job(model))}
    assert "bad.jsonl:1: not JSON" in first["bad.jsonl"].error
    assert not (out / "bad.jsonl").exists()
    before = (out / "a.jsonl").stat()
    (out / "deep" / "1.txt").unlink()
    (texts / "bad.jsonl").write_text('{"tokens": ["now", "good"]}\n')
    again = list(tag_directory(str(texts), str(out), job(model), say=said.append))
    assert sorted(one.name for one in again) == ["bad.jsonl", "deep/1.txt"]
    assert said == ["5 of 7 files are done already"]
    assert (out / "a.jsonl").stat().st_mtime_ns == before.st_mtime_ns
    with pytest.raises(SapoError, match="another model or other options"):
        list(tag_directory(str(texts), str(out), job(model, bias={"O": 1.0})))


@pytest.mark.parametrize("lost", ["a worker", "a machine"])
def test_what_a_lost_worker_did_is_done_again_and_no_file_is_half(
    ray_cluster: Any, model: Path, texts: Path, tmp_path: Path, lost: str
) -> None:
    lines = (texts / "deep" / "3.txt").read_text()
    for number in range(12):
        (texts / f"{number}.txt").write_text(lines * 5)
    out, seen = tmp_path / "tagged", 0
    for one in tag_directory(str(texts), str(out), job(model), workers=3):
        assert not one.error
        seen += 1
        if seen == 3 and lost == "a worker":
            kill_a_tagger()
        elif seen == 3:
            ray_cluster.remove_node(next(iter(ray_cluster.worker_nodes)))
            ray_cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
    assert seen == 18
    sizes = {(out / f"{number}.txt").stat().st_size for number in range(12)}
    assert len(sizes) == 1
    assert not [path for path in out.rglob("*") if path.name.endswith(".part")]


def kill_a_tagger() -> None:
    """Kill one of the processes that tag, in the cluster of this process: others may run on this machine."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"FileTagger" in path.read_bytes() and parent(parent(int(path.parent.name))) == os.getpid():
                os.kill(int(path.parent.name), signal.SIGKILL)
                return
        except OSError:
            continue
    pytest.fail("no process of this cluster tags")


def parent(process: int) -> int:
    """Return the process that started another one; those of Ray are started by a node, and nodes by this process."""
    found = re.search(r"^PPid:\t(\d+)$", Path(f"/proc/{process}/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def test_a_file_that_kills_its_workers_is_reported_and_the_others_are_tagged(
    ray_cluster: Any, model: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fragile(FileTagger):
        def tag(self, job: Job, name: str) -> Any:
            if name == "a.jsonl":
                os._exit(1)
            return super().tag(job, name)

    monkeypatch.setattr("sapo.apps.ray.tagging.FileTagger", Fragile)
    monkeypatch.setattr("sapo.apps.ray.tagging.TRIES", 2)
    done = {one.name: one.error for one in tag_directory(str(texts), str(tmp_path / "tagged"), job(model))}
    assert done.pop("a.jsonl").endswith("a.jsonl: 2 workers died while they tagged it")
    assert set(done.values()) == {""}
    assert len(done) == 5


def test_workers_that_cannot_start_end_the_run(
    ray_cluster: Any, model: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(FileTagger):
        def __init__(self, *arguments: Any) -> None:
            raise RuntimeError("no memory")

    monkeypatch.setattr("sapo.apps.ray.tagging.FileTagger", Broken)
    with pytest.raises(SapoError, match=r"no worker can start: .*no memory"):
        list(tag_directory(str(texts), str(tmp_path / "tagged"), job(model), workers=1))


def test_a_worker_that_misses_something_says_so_in_one_line(
    ray_cluster: Any, model: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Poor(FileTagger):
        def begin(self, job: Job) -> None:
            raise SapoError("this model needs PyTorch")

    monkeypatch.setattr("sapo.apps.ray.tagging.FileTagger", Poor)
    with pytest.raises(SapoError, match=r"^a worker cannot start: this model needs PyTorch$"):
        list(tag_directory(str(texts), str(tmp_path / "tagged"), job(model), workers=1))


def test_who_stops_early_gives_the_cores_back(ray_cluster: Any, model: Path, texts: Path, tmp_path: Path) -> None:
    running = tag_directory(str(texts), str(tmp_path / "tagged"), job(model), workers=1)
    next(running)
    running.close()
    import ray

    until = time.monotonic() + 60
    while ray.available_resources().get("CPU") != ray.cluster_resources()["CPU"]:
        assert time.monotonic() < until
        time.sleep(0.2)


def test_text_becomes_jsonl_with_the_name_of_such_a_file(ray_cluster: Any, model: Path, tmp_path: Path) -> None:
    room, out = tmp_path / "texts", tmp_path / "tagged"
    room.mkdir()
    for number, text in enumerate(TEXTS):
        (room / f"{number}.txt").write_text(text)
    done = CliRunner().invoke(
        app, ["tag", str(model), str(room), "-o", str(out), "--ray", "local", "--format", "text", "--to", "jsonl"]
    )
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in out.glob("*.jsonl")) == ["0.jsonl", "1.jsonl"]
    assert json.loads((out / "0.jsonl").read_text().splitlines()[0])["tokens"][:2] == ["The", "cat"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "{texts}"], "the output would overwrite the input"),
        ([], "--ray takes directories"),
        (["-o", "{texts}/out", "--text", "a b"], "--ray takes directories"),
    ],
)
def test_a_mistake_is_one_line(model: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'sapo-nlp[ray]'")
    (tmp_path / "a.txt").write_text("a\n")
    given = [argument.format(texts=tmp_path) for argument in arguments]
    done = CliRunner().invoke(app, ["tag", str(model), str(tmp_path), "--ray", "local", *given])
    assert message in str(done.exception)


def test_workers_without_ray_are_refused(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    done = CliRunner().invoke(app, ["tag", str(model), str(tmp_path / "a.txt"), "--workers", "2"])
    assert "--workers is for --ray" in str(done.exception)
