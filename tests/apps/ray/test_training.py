"""Training on a cluster of three nodes: the same bytes whatever happens to workers and nodes, and it says what did."""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import sapo
from sapo.apps.ray.training import Cluster
from sapo.cli.main import app
from sapo.tagger.file import model_bytes
from sapo.training.plan import StreamOptions, make_plan
from sapo.training.run import start

OPTIONS: dict[str, Any] = {"template": "chunking", "rate": 0.2, "strength": 0.3, "epochs": 4, "average": 0.5}
WORKERS, MIXINGS = 3, 4
BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


class Run:
    """A training run, with what it says and logs; `at` is called at the mixing of this number."""

    def __init__(self, at: int = 0, then: Callable[["Run"], None] = lambda run: None) -> None:
        self.said: list[str] = []
        self.log: list[dict[str, Any]] = []
        self.at, self.then = at, then

    def note(self, entry: dict[str, Any]) -> None:
        self.log.append(entry)
        if len(self.log) == self.at:
            self.then(self)

    def train(self, sentences: Any, **options: Any) -> sapo.Tagger:
        cluster = Cluster(workers=WORKERS, mixings=MIXINGS, say=self.said.append, log=self.note, **options)
        return sapo.train(sentences, cluster=cluster, **OPTIONS)

    @property
    def processes(self) -> list[int]:
        """Of the workers of the last mixing."""
        return [int(worker["process"]) for worker in self.log[-1]["workers"]]

    def heard(self, *words: str) -> bool:
        return any(all(word in line for word in words) for line in self.said)


@pytest.fixture(scope="module")
def undisturbed(ray_cluster: Any, sentences: Any) -> tuple[bytes, Run]:
    run = Run()
    return model_bytes(run.train(sentences).model), run


def test_the_log_tells_time_and_bytes_of_each_worker(undisturbed: tuple[bytes, Run]) -> None:
    _, run = undisturbed
    assert len(run.log) == OPTIONS["epochs"] * MIXINGS
    for entry in run.log:
        assert [worker["lane"] for worker in entry["workers"]] == list(range(WORKERS))
        assert all(worker["seconds"] > 0 and worker["bytes"] > 0 for worker in entry["workers"])
        assert entry["bytes"] == sum(worker["bytes"] for worker in entry["workers"])
    assert run.said == [f"{WORKERS} workers, mixed {MIXINGS} times an epoch"]


def test_workers_that_take_turns_in_one_process_learn_the_same(
    undisturbed: tuple[bytes, Run], sentences: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the scores of benchmarks/mixing.py are those of Ray."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    mixing = importlib.import_module("mixing")
    tagger = sapo.train(sentences, cluster=mixing.InTurn(WORKERS, MIXINGS, log=lambda entry: None), **OPTIONS)
    assert model_bytes(tagger.model) == undisturbed[0]


def test_workers_learn_as_well_as_one_process(undisturbed: tuple[bytes, Run], sentences: Any, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(undisturbed[0])
    test = sentences[-60:]
    alone = sapo.train(sentences, **OPTIONS).evaluate(test).main[1]
    assert sapo.Tagger.load(tmp_path / "model").evaluate(test).main[1] > alone - 0.02


def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost(
    undisturbed: tuple[bytes, Run], sentences: Any
) -> None:
    run = Run(5, lambda run: os.kill(run.processes[1], signal.SIGKILL))
    assert model_bytes(run.train(sentences).model) == undisturbed[0]
    assert run.heard("was lost", "redoing")


def test_a_slow_worker_does_not_hold_up_the_others(undisturbed: tuple[bytes, Run], sentences: Any) -> None:
    class Stopping(Run):
        def note(self, entry: dict[str, Any]) -> None:
            super().note(entry)
            if entry["late"]:
                for process in stopped:
                    os.kill(process, signal.SIGCONT)

    stopped: list[int] = []

    def stop(run: Run) -> None:
        stopped.append(run.processes[0])
        os.kill(stopped[0], signal.SIGSTOP)

    run = Stopping(5, stop)
    try:
        tagger = run.train(sentences, wait=1.0)
    finally:
        for process in stopped:
            with suppress(ProcessLookupError):  # the workers have ended
                os.kill(process, signal.SIGCONT)
    assert run.heard("is late", "mixed in when it comes")
    parts = [(worker["lane"], worker["mixing"]) for entry in run.log for worker in entry["workers"]]
    assert len(parts) == OPTIONS["epochs"] * MIXINGS * WORKERS  # nothing is lost, and nothing is mixed twice
    assert sum(worker["tokens"] for entry in run.log for worker in entry["workers"]) == sum(
        worker["tokens"] for entry in undisturbed[1].log for worker in entry["workers"]
    )
    assert tagger.evaluate(sentences[-60:]).main[1] > 0.9


def test_a_node_that_is_lost_is_done_without_and_another_one_may_join(
    ray_cluster: Any, undisturbed: tuple[bytes, Run], sentences: Any
) -> None:
    def lose(run: Run) -> None:
        ray_cluster.remove_node(next(iter(ray_cluster.worker_nodes)))
        ray_cluster.add_node(num_cpus=1, object_store_memory=80 << 20)

    run = Run(3, lose)
    assert model_bytes(run.train(sentences).model) == undisturbed[0]
    assert run.heard("was lost")


def test_a_full_object_store_costs_time_only(ray_cluster: Any, undisturbed: tuple[bytes, Run], sentences: Any) -> None:
    import numpy as np
    import ray

    held = []

    def fill(run: Run) -> None:
        held.extend(ray.put(np.full(30 << 20, number, np.uint8)) for number in range(5))  # twice the store

    run = Run(2, fill)
    assert model_bytes(run.train(sentences).model) == undisturbed[0]
    assert [int(ray.get(one)[0]) for one in held] == list(range(5))


def test_a_run_whose_driver_is_killed_goes_on_where_it_was(
    ray_cluster: Any, undisturbed: tuple[bytes, Run], sentences: Any, tmp_path: Path
) -> None:
    import ray

    code = f"""
import json, os, signal, sys
import sapo
from sapo.apps.ray.training import Cluster
from sapo.training.plan import make_plan
from sapo.training.run import start
from dataclasses import replace
sentences = [([tuple(token) for token in tokens], tags) for tokens, tags in json.load(open(sys.argv[1]))]
plan = replace(make_plan(sentences, **{OPTIONS!r}), checkpoint=sys.argv[2], resume=sys.argv[4] == "resume")
count = 0
def log(entry):
    global count
    count += 1
    if sys.argv[4] == "die" and count == 8:
        os.kill(os.getpid(), signal.SIGKILL)
cluster = Cluster({ray_cluster.address!r}, workers={WORKERS}, mixings={MIXINGS}, log=log)
run = start(plan)
run.calibrated(run.finish(cluster=cluster)).tagger.save(sys.argv[3])
print(count)
"""
    (tmp_path / "data.json").write_text(json.dumps(sentences))
    environment = {**os.environ, "PYTHONPATH": str(Path(sapo.__file__).parent.parent)}
    files = [str(tmp_path / name) for name in ("data.json", "state", "model")]

    def run(what: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, *files, what], env=environment, capture_output=True, text=True, timeout=100
        )

    assert run("die").returncode == -signal.SIGKILL
    deadline = time.monotonic() + 30
    while ray.available_resources().get("CPU", 0) < WORKERS and time.monotonic() < deadline:
        time.sleep(0.2)  # until the cluster has noticed
    done = run("resume")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == OPTIONS["epochs"] * MIXINGS - 7  # the eighth mixing was not saved yet
    assert (tmp_path / "model").read_bytes() == undisturbed[0]


def test_shards_on_disk_are_learned_from_once_a_pass(ray_cluster: Any, sentences: Any, tmp_path: Path) -> None:
    lines = ["".join(f"{word} {pos} {tag}\n" for (word, pos), tag in zip(*pair, strict=True)) for pair in sentences]
    (tmp_path / "train.txt").write_text("\n".join(lines))
    plan = make_plan(str(tmp_path / "train.txt"), stream=StreamOptions(tmp_path / "cache", shard=200), **OPTIONS)
    log: list[dict[str, Any]] = []
    cluster = Cluster(workers=WORKERS, mixings=MIXINGS, log=log.append)
    first, second = (start(plan).finish(cluster=cluster).tagger for _ in range(2))
    assert model_bytes(first.model) == model_bytes(second.model)
    tokens = sum(len(tokens) for tokens, _ in sentences)
    for epoch in range(1, OPTIONS["epochs"] + 1):
        learned = [worker["tokens"] for entry in log if entry["epoch"] == epoch for worker in entry["workers"]]
        assert sum(learned) == 2 * tokens  # of two runs
    assert first.evaluate(sentences[-60:]).main[1] > 0.9


def test_shards_that_are_too_few_for_the_workers_are_told(ray_cluster: Any, sentences: Any, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a DT\ndog NN\n\n" * 50)
    options = {**OPTIONS, "template": "pos"}
    plan = make_plan(str(tmp_path / "train.txt"), stream=StreamOptions(tmp_path / "cache"), **options)
    with pytest.raises(sapo.SapoError, match="1 shards are too few for 3 workers"):
        start(plan).finish(cluster=Cluster(workers=3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regularizer": "l1"}, "l2 or none"),
        ({"learner": "crf-lbfgs"}, "`cluster` is for sapo"),
    ],
)
def test_what_a_cluster_cannot_learn_is_told(sentences: Any, options: Any, message: str) -> None:
    with pytest.raises(sapo.SapoError, match=message):
        sapo.train(sentences[:5], cluster=Cluster(workers=2), **{**OPTIONS, **options})


def test_a_checkpoint_of_a_cluster_is_resumed_by_the_same_workers(
    ray_cluster: Any, sentences: Any, tmp_path: Path
) -> None:
    plan = replace(make_plan(sentences[:40], **OPTIONS), checkpoint=tmp_path / "state")
    start(plan).finish(cluster=Cluster(workers=2, mixings=2))
    resumed = replace(plan, resume=True)
    with pytest.raises(sapo.SapoError, match="was made with 2 workers"):
        start(resumed).finish(cluster=Cluster(workers=3))
    with pytest.raises(sapo.SapoError, match="was made with `cluster`"):
        start(resumed).finish()
    assert start(resumed).finish(cluster=Cluster()).stop.text == "all 4 epochs done"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "workers=2"], "--set workers is for --ray"),
        (["--set", "mixings=2"], "--set mixings is for --ray"),
        (["--ray", "local", "--continue", "model"], "leave --ray out"),
    ],
)
def test_options_of_the_command_that_do_not_go_together_are_told(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'sapo-nlp[ray]'")
    (tmp_path / "train.txt").write_text("a DT\ndog NN\n\n")
    sapo.train(str(tmp_path / "train.txt"), epochs=1).save(tmp_path / "model")
    given = [str(tmp_path / "model") if argument == "model" else argument for argument in arguments]
    done = CliRunner().invoke(app, ["train", str(tmp_path / "train.txt"), "-o", str(tmp_path / "new"), *given])
    assert message in str(done.exception)


def test_the_command_trains_on_a_cluster_and_logs_it(ray_cluster: Any, sentences: Any, tmp_path: Path) -> None:
    lines = [
        "".join(f"{word} {pos} {tag}\n" for (word, pos), tag in zip(*pair, strict=True)) for pair in sentences[:50]
    ]
    (tmp_path / "train.txt").write_text("\n".join(lines))
    how = [
        "--epochs",
        "2",
        "--rate",
        "0.2",
        "--strength",
        "0.3",
        "--ray",
        "local",
        "--set",
        "workers=2",
        "--set",
        "mixings=2",
    ]
    files = {name: str(tmp_path / name) for name in ("train.txt", "model", "log")}
    done = CliRunner().invoke(
        app, ["train", files["train.txt"], "-o", files["model"], "--log", files["log"], "-v", *how]
    )
    assert done.exit_code == 0, done.output
    assert "2 workers, mixed 2 times an epoch" in done.output
    events = [json.loads(line)["event"] for line in (tmp_path / "log").read_text().splitlines()]
    assert events == ["start", "mixing", "mixing", "pass", "mixing", "mixing", "pass"]
