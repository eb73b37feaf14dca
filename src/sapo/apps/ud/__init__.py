"""Learn Universal Dependencies from a treebank, and annotate text with them: tokens, tags, lemmas and trees."""

from sapo.apps.ud.pipeline import UD

__all__ = ["UD"]
