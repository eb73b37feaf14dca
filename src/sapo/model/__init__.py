"""Models and checkpoints as files without code in them."""

from sapo.model.checkpoint import fingerprint, load_checkpoint, save_checkpoint
from sapo.model.model import Model, load_model, model_bytes, model_from_bytes, save_model, shown_places

__all__ = [
    "Model",
    "fingerprint",
    "load_checkpoint",
    "load_model",
    "model_bytes",
    "model_from_bytes",
    "save_checkpoint",
    "save_model",
    "shown_places",
]
