"""Find mistakes in labeled files, with line numbers, even in files that training refuses."""

from sapo.check.doctor import CheckReport, examine
from sapo.check.findings import ERROR, NOTE, WARNING, Finding

__all__ = ["ERROR", "NOTE", "WARNING", "CheckReport", "Finding", "examine"]
