"""sapo: train a sequence labeler on your own data in seconds on a CPU.

    import sapo

    tagger = sapo.train("train.txt", dev="dev.txt", template="chunking")
    tagger.tag([("The", "DT"), ("cat", "NN"), ("sleeps", "VBZ")])
    tagger.nbest([("The", "DT"), ("cat", "NN"), ("sleeps", "VBZ")], n=3)
    tagger.save("chunk.sapo")

Names are loaded when they are first used: `import sapo` itself is instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sapo.corpus.blocks import Sentence
    from sapo.corpus.formats import read
    from sapo.errors import SapoError
    from sapo.learn.settings import Settings
    from sapo.sklearn.labeler import SequenceLabeler
    from sapo.tagger.decoding import Tagging
    from sapo.tagger.explain import explain
    from sapo.tagger.stack import Pipeline
    from sapo.tagger.tagger import Tagger
    from sapo.training.calibration import calibrate
    from sapo.training.distil import distil
    from sapo.training.run import train
    from sapo.training.structure import Structure, check_structure, train_structure
    from sapo.training.ud import UD
    from sapo.training.update import Trainer

__version__ = "0.1.0"

_HOME = {
    "Pipeline": "sapo.tagger.stack",
    "SapoError": "sapo.errors",
    "Sentence": "sapo.corpus",
    "SequenceLabeler": "sapo.sklearn.labeler",
    "Settings": "sapo.learn.settings",
    "Structure": "sapo.training.structure",
    "Tagger": "sapo.tagger.tagger",
    "Tagging": "sapo.tagger.decoding",
    "Trainer": "sapo.training.update",
    "UD": "sapo.training.ud",
    "calibrate": "sapo.training.calibration",
    "check_structure": "sapo.training.structure",
    "distil": "sapo.training.distil",
    "explain": "sapo.tagger.explain",
    "read": "sapo.corpus",
    "train": "sapo.training.run",
    "train_structure": "sapo.training.structure",
}

__all__ = [
    "UD",
    "Pipeline",
    "SapoError",
    "Sentence",
    "SequenceLabeler",
    "Settings",
    "Structure",
    "Tagger",
    "Tagging",
    "Trainer",
    "__version__",
    "calibrate",
    "check_structure",
    "distil",
    "explain",
    "read",
    "train",
    "train_structure",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sapo' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
