"""One thread is the fastest for networks of this size."""

from collections.abc import Iterator
from importlib.util import find_spec

import pytest


@pytest.fixture(scope="package", autouse=True)
def one_thread() -> Iterator[None]:
    if find_spec("torch") is None:  # some tests here do without it
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
