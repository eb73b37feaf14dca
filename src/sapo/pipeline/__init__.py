"""A pipeline of taggers: each adds a column to a file, and the following ones may use it.

A model that is trained as part of the pipeline never tags a sentence that it was trained on.
"""

from sapo.pipeline.overlap import left_out, overlap
from sapo.pipeline.running import Report, run_pipeline
from sapo.pipeline.stack import Pipeline
from sapo.pipeline.step_data import cut
from sapo.pipeline.steps import ReadyStep, Step, TrainedStep, parse_step
from sapo.pipeline.watching import Watcher

__all__ = [
    "Pipeline",
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
