"""Train a model that turns strings into strings."""

from collections.abc import Callable, Iterable

from sapo.tagger.edits import EditItem, EditModel


def train_edits(
    items: Iterable[EditItem], *, seed: int = 0, progress: Callable[[str], None] | None = None
) -> EditModel:
    """Train a model on items with outputs. `progress` gets lines to show. Raise SapoError if an item is wrong."""
    raise NotImplementedError
