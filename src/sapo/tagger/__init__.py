"""Use a trained model: tag sentences, files and streams, with n-best taggings and probabilities."""

from sapo.tagger.tagger import Tagger, Tagging

__all__ = ["Tagger", "Tagging"]
