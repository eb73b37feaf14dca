"""The data's doctor: labelled files in, findings with line numbers out. It also reads files that training refuses."""

from sapo.check.doctor import Report, examine
from sapo.check.finding import ERROR, NOTE, WARNING, Finding

__all__ = ["ERROR", "NOTE", "WARNING", "Finding", "Report", "examine"]
