"""A stack of taggers: each adds a column to a file, which the next ones may use.

Models that are trained on the spot never tag a sentence that they saw.
"""

from sapo.pipeline.lessons import cut
from sapo.pipeline.overlap import left_out, overlap
from sapo.pipeline.running import Report, run_pipeline
from sapo.pipeline.steps import ReadyStep, Step, TrainedStep, parse_step
from sapo.pipeline.watching import Watcher

__all__ = [
    "ReadyStep",
    "Report",
    "Step",
    "TrainedStep",
    "Watcher",
    "cut",
    "left_out",
    "overlap",
    "parse_step",
    "run_pipeline",
]
