"""Report what a directory of runs has shown: the paper's figures, tables and claims."""

from laboratory.report.run_records import read_runs
from laboratory.report.theory_files import read_theory
from laboratory.report.writing import write_report

__all__ = ["read_runs", "read_theory", "write_report"]
