"""Choose what shows the progress of training that was started from Python: a bar in a notebook, lines elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager

from sapo import kernels
from sapo.learn import Settings
from sapo.training.notebook import Notebook, in_notebook
from sapo.training.progress import Compiling, Lines, Quiet


@contextmanager
def shown(settings: Settings, *, lines: bool = True) -> Iterator[Quiet]:
    """Show compiling inside this context, and training to which the result is given as observer.

    `lines` says whether to print messages and a line per epoch.
    """
    show: Quiet
    if in_notebook():
        show = bar = Notebook(settings, lines=lines)
        kernels.watch_compiling(bar.compiling)
    else:
        show, bar = Lines(settings) if lines else Quiet(settings), None
        kernels.watch_compiling(Compiling())
    try:
        yield show
    finally:
        kernels.watch_compiling(None)
        if bar is not None:
            bar.end()
