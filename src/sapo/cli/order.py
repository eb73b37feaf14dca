"""The order of arguments: the model comes first. A swapped order is recognised by how a model file begins."""

import click

from sapo.cli.options import tell


def model_first(model: str, other: str) -> tuple[str, str]:
    """Return a model and what it is to work on; if they were given the other way round, swap them and say so."""
    from sapo.corpus.files import is_model

    if is_model(model) or not is_model(other):
        return model, other
    _tell_order(other, model)
    return other, model


def models_first(systems: tuple[str, ...], gold: str) -> tuple[tuple[str, ...], str]:
    """Return systems and the gold file; if the gold file was given first and all others are models, say so."""
    from sapo.corpus.files import is_model

    first, *others = (*systems, gold)
    if is_model(first) or not all(map(is_model, others)):
        return systems, gold
    _tell_order(*others, first)
    return tuple(others), first


def _tell_order(*files: str) -> None:
    tell(f"sapo: the model comes first; taken as: {click.get_current_context().command_path} {' '.join(files)}")
