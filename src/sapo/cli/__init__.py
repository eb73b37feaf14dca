"""The command line: one command per file, which only parses its options; the work is done elsewhere."""

from sapo.cli.main import main

__all__ = ["main"]
