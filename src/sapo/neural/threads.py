"""How many threads PyTorch computes with: for sentences one is the fastest, and those who tag in several have them."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import torch

_lock = Lock()
_inside = 0
_before = 1


@contextmanager
def one_thread() -> Iterator[None]:
    """PyTorch computes with one thread. When the last of those who tag is done, with as many as before."""
    global _inside, _before
    with _lock:
        if _inside == 0:
            _before = torch.get_num_threads()
        _inside += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                torch.set_num_threads(_before)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """PyTorch computes with so many threads; afterwards with as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
