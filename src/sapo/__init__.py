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
    from sapo.apps.ray.training import Cluster
    from sapo.corpus.blocks import Sentence
    from sapo.corpus.formats import read
    from sapo.errors import SapoError
    from sapo.evaluate.scores import Scores
    from sapo.learn.settings import Settings
    from sapo.sklearn.labeler import SequenceLabeler
    from sapo.tagger.decoding import Tagging
    from sapo.tagger.explain import Explanation, explain
    from sapo.tagger.stack import Pipeline
    from sapo.tagger.tagger import Tagger
    from sapo.tagger.text import TaggedText
    from sapo.training.calibration import calibrate
    from sapo.training.run import train
    from sapo.training.update import Trainer
    from sapo.training.warm_up import warm_up

__version__ = "0.1.0"

_HOME = {
    "Cluster": "sapo.apps.ray.training",
    "Explanation": "sapo.tagger.explain",
    "Pipeline": "sapo.tagger.stack",
    "SapoError": "sapo.errors",
    "Scores": "sapo.evaluate",
    "Sentence": "sapo.corpus",
    "SequenceLabeler": "sapo.sklearn.labeler",
    "Settings": "sapo.learn.settings",
    "TaggedText": "sapo.tagger.text",
    "Tagger": "sapo.tagger.tagger",
    "Tagging": "sapo.tagger.decoding",
    "Trainer": "sapo.training.update",
    "calibrate": "sapo.training.calibration",
    "explain": "sapo.tagger.explain",
    "read": "sapo.corpus",
    "train": "sapo.training.run",
    "warm_up": "sapo.training.warm_up",
}

__all__ = [
    "Cluster",
    "Explanation",
    "Pipeline",
    "SapoError",
    "Scores",
    "Sentence",
    "SequenceLabeler",
    "Settings",
    "TaggedText",
    "Tagger",
    "Tagging",
    "Trainer",
    "__version__",
    "calibrate",
    "explain",
    "read",
    "train",
    "warm_up",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sapo' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
