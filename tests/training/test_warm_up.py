"""What `sapo warm-up` does: jobs that call the kernels as users' jobs do."""

import os
import subprocess
import sys
from pathlib import Path

import sapo
from sapo import kernels

# Interpreted, which takes seconds; the names of the kernels that were called from outside.
CALLS = """
import sys
from sapo import kernels
from sapo.kernels import _jit, _background

kernels.compile_kernels = lambda: None
_jit.INTERPRETED_PAIRS = sys.maxsize
import sapo.training.warm_up
recording = _background.Background(tuple(_jit._registered), _jit.swap, None)
_jit.swap({function: recording.recorder(function) for function in recording.functions})
sapo.warm_up()
print(*(f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__}" for function in recording.seen))
"""


def test_warming_up_calls_what_training_and_tagging_call() -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(sapo.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", CALLS], env=env, check=True, stdout=subprocess.PIPE, text=True)
    called = set(done.stdout.split())
    learners = {"sapo.sapo_samples", "crf.crf_samples", "perceptron.perceptron_samples", "mira.mira_samples"}
    searches = {
        "topn.top_n",
        "astar.astar_next",
        "stream.find_more",
        "beam.beam_n",
        "tagging.tag_sentences",
        "short.fill_short",
    }
    assert {*kernels.TRAINING, *learners, *searches, "scan.scan_lines"} <= called
