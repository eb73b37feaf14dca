"""Models and checkpoints, and the files they are stored in, which contain data only, no code."""

from sapo.model.checkpoint import Checkpoint, fingerprint
from sapo.model.file import load_model, model_bytes, model_from_bytes, save_model
from sapo.model.model import Model, shown_places

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
