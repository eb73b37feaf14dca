"""Collect no garbage for a while: numba makes millions of objects and next to no cycles."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_garbage() -> Iterator[None]:
    """Collect no garbage in this context.

    Looking for it takes a fifth of the time of compiling. And while it looks, no other thread runs: in a service that
    loads kernels in the background, requests would wait.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if gc.get_freeze_count() == 0:  # otherwise somebody else uses this
                # All objects count as old now, or the next collection would look at all that were made.
                gc.freeze()
                gc.unfreeze()
            gc.enable()
