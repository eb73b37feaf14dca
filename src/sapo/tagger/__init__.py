"""Strings, files and streams in; tags, n-best taggings and probabilities out."""

from sapo.tagger.tagger import Tagger, Tagging

__all__ = ["Tagger", "Tagging"]
