"""Models and checkpoints, and the files they are stored in, which contain data only, no code."""

from typing import TYPE_CHECKING, Any

from sapo.model.file import load_model, model_bytes, model_from_bytes, save_model
from sapo.model.model import Model, shown_places

if TYPE_CHECKING:
    from sapo.model.checkpoint import Checkpoint, fingerprint

__all__ = [
    "Checkpoint",
    "Model",
    "fingerprint",
    "load_model",
    "model_bytes",
    "model_from_bytes",
    "save_model",
    "shown_places",
]


def __getattr__(name: str) -> Any:
    """Load checkpoints when they are first used: they need all learners, which tagging does not."""
    if name not in ("Checkpoint", "fingerprint"):
        raise AttributeError(f"module 'sapo.model' has no attribute {name!r}")
    from sapo.model import checkpoint

    return getattr(checkpoint, name)
