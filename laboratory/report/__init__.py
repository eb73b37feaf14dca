"""A directory of runs in, a report out that holds the paper's figures, tables and claims."""

from laboratory.report.reading import Pass, Reading, Run, read_runs
from laboratory.report.theory import theory_section
from laboratory.report.writing import write_report

__all__ = ["Pass", "Reading", "Run", "read_runs", "theory_section", "write_report"]
