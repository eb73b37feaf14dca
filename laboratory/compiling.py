"""Compile the kernels that systems need."""

import dataclasses
import itertools

from laboratory.encoded import held_out
from laboratory.systems import System
from laboratory.tuning import LEARNER
from sapo.corpus.formats import read
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.learn.settings import Settings
from sapo.neural.options import LAYERS
from sapo.training.run import read_data, train_on, with_start_rate


def compile_first(systems: list[System]) -> None:
    """Compile what the systems need, once, before several processes would do it at the same time."""
    # the same way as the tasks: from a file over sentences to integers
    sample = list(itertools.islice(read(sample_path("train"), columns=COLUMNS, label="chunk"), 100))
    prepared = read_data(sample, template="chunking", keep_texts=True)
    prepared = dataclasses.replace(prepared, dev=held_out(prepared, sample[:10]))
    with_start_rate(prepared, Settings(), LEARNER)
    wanted = {(system.learner, str(system.settings.get("search", "topn"))) for system in systems}
    for learner, search in sorted(wanted | {(LEARNER, "topn"), ("sapo", "topn")}):
        # the held-out sentences have no text here, and tagging them compiles the same for all learners
        data = dataclasses.replace(prepared, dev=None) if learner in LAYERS else prepared
        outcome = train_on(data, Settings(epochs=1, search=search), learner=learner)
        if outcome.stop.interrupted:
            raise KeyboardInterrupt
