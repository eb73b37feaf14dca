"""A directory of runs in, a report out that holds the paper's figures, tables and claims."""

from laboratory.report.reading import Pass, Reading, Run, read_runs
from laboratory.report.theory_files import read_theory
from laboratory.report.writing import write_report

__all__ = ["Pass", "Reading", "Run", "read_runs", "read_theory", "write_report"]
