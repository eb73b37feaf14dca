"""A Ray cluster of three nodes on this machine, which all tests of a process share."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sapo
from sapo.corpus.sample import sample_path

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_worker_niceness", "0")  # by default Ray lets all others go first, and tests would wait

STORE = 80 << 20  # bytes: the smallest object store that Ray allows is 75 MiB
Pairs = list[tuple[list[tuple[str, str]], list[str]]]


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[Any]:
    """Three nodes: one core, and two that may be lost."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'sapo-nlp[ray]'")
    from sapo.apps.ray.connection import load_ray

    load_ray()
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": STORE}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(**node)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    cluster.wait_for_nodes()
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="session")
def sentences() -> Pairs:
    """Chunks of the sample, as pairs of tokens and tags."""
    return [
        (list(zip(sentence.words, sentence.columns["pos"], strict=True)), list(sentence.columns["chunk"]))
        for sentence in sapo.read(sample_path("train"))
    ]


Say = Callable[[str], None]
