"""Annotations from other tools: documents with spans of characters in, sentences with tags out, and back."""

from sapo.corpus.exchange.tools import TOOLS

__all__ = ["TOOLS"]
