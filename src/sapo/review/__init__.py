"""What a model gets wrong: labelled files in, mistakes with their context out."""

from sapo.review.errors import ErrorReport, find_errors
from sapo.review.mistakes import Mistake

__all__ = ["ErrorReport", "Mistake", "find_errors"]
