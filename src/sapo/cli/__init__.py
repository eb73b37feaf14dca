"""The command line: one thin command a file. Parsing only; the work is done elsewhere."""

from sapo.cli.main import main

__all__ = ["main"]
