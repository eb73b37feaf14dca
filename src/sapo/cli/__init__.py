"""The command line: one command per file, which parses its options and leaves the work to other rooms."""

from sapo.cli.main import main

__all__ = ["main"]
