"""Provide `Trainer`, `Tagger` and `ItemSequence` of python-crfsuite, implemented with the learners of sapo.

Programs that use them (parserator, usaddress, probablepeople) run with `import sapo.compat.pycrfsuite as pycrfsuite`.
Model files are those of sapo. Parameters have CRFsuite's names and defaults; sapo/sklearn/crf.py says what they do.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sapo.errors import DataError, ModelError, OptionError, SapoError
from sapo.features.ready import feature_pairs
from sapo.sklearn.crfsuite import CrfsuiteTagger, ModelInfo
from sapo.sklearn.sequences import Label, feature_sequences, token_sequences
from sapo.tagger.file import model_from_bytes
from sapo.tagger.tagger import Tagger as SapoTagger

if TYPE_CHECKING:
    from sapo.sklearn.crf import CRF, TrainingLog

CRFSUITE_VERSION = "0.12.2"  # whose names and defaults these are
CRFSuiteError = SapoError
Value = float | int | bool | str

_ALIASES = {"averaged-perceptron": "ap", "passive-aggressive": "pa"}
_OF_ALL: dict[str, Value] = {
    "feature.minfreq": 0.0,
    "feature.possible_states": False,
    "feature.possible_transitions": False,
}
_ONLINE: dict[str, Value] = {"max_iterations": 100, "epsilon": 0.0}
_DEFAULTS: dict[str, dict[str, Value]] = {
    "lbfgs": {
        **_OF_ALL,
        "c1": 0.0,
        "c2": 1.0,
        "max_iterations": 2147483647,
        "num_memories": 6,
        "epsilon": 1e-5,
        "period": 10,
        "delta": 1e-5,
        "linesearch": "MoreThuente",
        "max_linesearch": 20,
    },
    "l2sgd": {
        **_OF_ALL,
        "c2": 1.0,
        "max_iterations": 1000,
        "period": 10,
        "delta": 1e-6,
        "calibration.eta": 0.1,
        "calibration.rate": 2.0,
        "calibration.samples": 1000.0,
        "calibration.candidates": 10,
        "calibration.max_trials": 20,
    },
    "ap": {**_OF_ALL, **_ONLINE},
    "pa": {**_OF_ALL, "type": 1, "c": 1.0, "error_sensitive": True, "averaging": True, **_ONLINE},
    "arow": {**_OF_ALL, "variance": 1.0, "gamma": 1.0, **_ONLINE},
}
_HELP = {
    "feature.minfreq": "The least frequency of a feature.",
    "feature.possible_states": "Weigh pairs of an attribute and a label that were not seen, too.",
    "feature.possible_transitions": "Weigh pairs of labels that were not seen, too.",
    "c1": "The strength of L1 regularization.",
    "c2": "The strength of L2 regularization.",
    "max_iterations": "The largest number of iterations.",
    "num_memories": "How many gradients L-BFGS remembers.",
    "epsilon": "Stop when the gradient, relative to the weights, is below this.",
    "period": "How many iterations back `delta` compares the loss with.",
    "delta": "Stop when the loss has improved by less than this share.",
    "linesearch": "The line search of L-BFGS.",
    "max_linesearch": "The largest number of trials of the line search.",
}
# The arguments of `CRF` that have other names.
_ARGUMENTS = {
    "feature.minfreq": "min_freq",
    "feature.possible_states": "all_possible_states",
    "feature.possible_transitions": "all_possible_transitions",
    "type": "pa_type",
}


class ClosedTaggerError(ModelError, RuntimeError):
    """A tagger without a model: a ValueError in some methods of python-crfsuite, and a RuntimeError in others."""


class ItemSequence:
    """The features of a sequence, as names with values.

    >>> ItemSequence([{"length": 2.5, "word": "dog"}, ["upper"]])
    <ItemSequence of size 2>
    >>> ItemSequence([{"length": 2.5, "word": "dog"}, ["upper"]]).items()
    [{'length': 2.5, 'word:dog': 1.0}, {'upper': 1.0}]
    """

    def __init__(self, pyseq: Any) -> None:
        self._items = [dict(feature_pairs(token, f"token {place}")) for place, token in enumerate(pyseq, 1)]

    def items(self) -> list[dict[str, float]]:
        """Return the features of each token: their names and values."""
        return [dict(item) for item in self._items]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[dict[str, float]]:
        return iter(self._items)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


class Tagger:
    """A model file, opened for tagging.

    `Tagger.tagger` is the `sapo.Tagger` inside. All methods but `open` raise ClosedTaggerError, a SapoError, before
    it is opened.
    """

    def __init__(self) -> None:
        self._opened: CrfsuiteTagger | None = None

    def open(self, name: str | Path) -> AbstractContextManager["Tagger"]:
        """Open a model file; as a context, close it at the end. Raise OSError if there is none."""
        if not Path(name).is_file():
            raise FileNotFoundError(f"{name}: no such file; train a model first")
        return self._use(SapoTagger.load(name))

    def open_inmemory(self, value: bytes) -> AbstractContextManager["Tagger"]:
        """Open the contents of a model file."""
        if not isinstance(value, bytes):
            raise ModelError(f"open_inmemory takes the bytes of a model file, not {value!r:.40}")
        return self._use(SapoTagger(model_from_bytes(value)))

    def _use(self, tagger: SapoTagger) -> AbstractContextManager["Tagger"]:
        self._opened = CrfsuiteTagger(tagger, lambda X: feature_sequences(token_sequences(X)), list)
        return closing(self)

    def close(self) -> None:
        """Close the model."""
        self._opened = None

    @property
    def _model(self) -> CrfsuiteTagger:
        if self._opened is None:
            raise ClosedTaggerError("the tagger is not opened; call open with a model file")
        return self._opened

    @property
    def tagger(self) -> SapoTagger:
        """The `sapo.Tagger` inside."""
        return self._model.tagger

    def labels(self) -> list[Label]:
        """Return all labels."""
        return self._model.labels()

    def set(self, xseq: Any) -> None:
        """Choose the sequence for `tag`, `probability` and `marginal`."""
        self._model.set(xseq)

    def tag(self, xseq: Any = None) -> list[Label]:
        """Return the labels of a sequence, or of the one that was set."""
        return self._model.tag(xseq)

    def probability(self, yseq: Sequence[Label]) -> float:
        """Return the probability of these labels for the sequence that was set or tagged last."""
        return self._model.probability(yseq)

    def marginal(self, y: Label, pos: int) -> float:
        """Return the probability of a label at a position of the sequence that was set or tagged last."""
        return self._model.marginal(y, pos)

    def info(self) -> ModelInfo:
        """Return the contents of the model."""
        return self._model.info()

    def dump(self, filename: str | Path | None = None) -> None:
        """Write the contents of the model as text, to a file or to standard output."""
        self._model.dump(filename)


class BaseTrainer:
    """Collect sequences with their labels, and train a model file on them. With `verbose`, print the log.

    A subclass may override `message`, `on_start`, `on_iteration`, `on_optimization_end` and `on_end`.
    """

    verbose = True
    logparser: "TrainingLog | None" = None  # has iterations, last_iteration and log
    _data: list[tuple[list[Any], Sequence[Any], int]]

    def __new__(cls, *_arguments: object, **_named: object) -> Self:
        # python-crfsuite also allows subclasses whose __init__ does not call that of the trainer
        trainer = super().__new__(cls)
        trainer._data = []
        trainer.select("lbfgs")
        return trainer

    def __init__(
        self, algorithm: str | None = None, params: dict[str, Value] | None = None, verbose: bool = True
    ) -> None:
        self.verbose = verbose
        self.select(algorithm or "lbfgs")
        self.set_params(params or {})

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose the algorithm: lbfgs, l2sgd, ap, pa or arow. All parameters get its defaults."""
        found = _ALIASES.get(algorithm, algorithm)
        if found not in _DEFAULTS or type != "crf1d":
            raise OptionError(
                f"algorithm must be one of {', '.join(_DEFAULTS)} of type crf1d, not {algorithm!r}, {type!r}"
            )
        self._algorithm, self._given = found, dict[str, Value]()

    def params(self) -> list[str]:
        """Return the names of the parameters of the algorithm."""
        return list(_DEFAULTS[self._algorithm])

    def set_params(self, params: dict[str, Value]) -> None:
        """Set several parameters."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Value]:
        """Return all parameters."""
        return {name: self.get(name) for name in self.params()}

    def set(self, name: str, value: Value) -> None:
        """Set a parameter; text is read as a value of the parameter's type."""
        default = self._default(name)
        try:
            if isinstance(default, bool):
                self._given[name] = str(value).lower() in ("true", "1", "1.0")
            else:
                self._given[name] = type(default)(value)
        except (TypeError, ValueError):
            raise OptionError(f"{name} must be of type {type(default).__name__}, not {value!r}") from None

    def get(self, name: str) -> Value:
        """Return the value of a parameter."""
        return self._given.get(name, self._default(name))

    def help(self, name: str) -> str:
        """Return what a parameter is for."""
        self._default(name)
        return _HELP.get(name, "A parameter of CRFsuite that has no effect here.")

    def _default(self, name: str) -> Value:
        if name not in _DEFAULTS[self._algorithm]:
            known = ", ".join(self.params())
            raise OptionError(f"{self._algorithm} has no parameter {name!r}; it has {known}")
        return _DEFAULTS[self._algorithm][name]

    def append(self, xseq: Any, yseq: Sequence[Any], group: int = 0) -> None:
        """Add a sequence with its labels. Those of one group can be held out in training."""
        tokens = list(xseq)
        if len(tokens) != len(yseq):
            raise DataError(f"there are {len(yseq)} labels for {len(tokens)} tokens; give one for each")
        self._data.append((tokens, list(yseq), group))

    def clear(self) -> None:
        """Remove all sequences."""
        self._data.clear()

    def train(self, model: str | Path, holdout: int = -1) -> None:
        """Train a model, and save it unless the name is empty; sequences of the group `holdout` are the dev set."""
        train = [(tokens, labels) for tokens, labels, group in self._data if group != holdout]
        dev = [(tokens, labels) for tokens, labels, group in self._data if group == holdout]
        if not any(tokens for tokens, _ in train):  # CRFsuite writes a model without labels
            warnings.warn("there are no sequences to train on, so no model was written", stacklevel=2)
            return
        crf = _listening_crf(self)
        crf.set_params(**{_ARGUMENTS.get(name, name.replace(".", "_")): value for name, value in self._given.items()})
        X_dev, y_dev = ([tokens for tokens, _ in dev], [labels for _, labels in dev]) if dev else (None, None)
        crf.fit([tokens for tokens, _ in train], [labels for _, labels in train], X_dev, y_dev)
        self.logparser = crf.training_log_
        self.on_optimization_end("")
        if model:
            crf._trained().save(model)
        self.on_end("")

    def message(self, message: str) -> None:
        """Take a line of the log: print it, if `verbose`."""
        if self.verbose:
            print(message, end="")

    def on_start(self, log: str) -> None:
        """Called before the first iteration."""
        self._take(log)

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Called after each iteration, with its line of the log and its entry in `logparser.iterations`."""
        self._take(log)

    def on_optimization_end(self, log: str) -> None:
        """Called after the last iteration."""
        self._take(log)

    def on_end(self, log: str) -> None:
        """Called when the model is saved."""
        self._take(log)

    def _take(self, log: str) -> None:
        for line in log.splitlines(keepends=True):
            self.message(line)


def _listening_crf(trainer: BaseTrainer) -> "CRF":
    """Return a CRF that calls the methods of a trainer."""
    from sapo.sklearn.crf import CRF, TrainingLog  # which import scikit-learn, and programs that only tag need not wait

    class ListeningCRF(CRF):
        def _begin_log(self, sentences: int) -> TrainingLog:
            trainer.logparser = log = TrainingLog(sentences, trainer.on_iteration)
            settings = "".join(f"{name}: {value}\n" for name, value in trainer.get_params().items())
            trainer.on_start(f"Training {self.algorithm} on {sentences} sequences\ntype: CRF1d\n{settings}")
            return log

    return ListeningCRF(trainer._algorithm)


class Trainer(BaseTrainer):
    """The trainer that programs use."""


class LinePerIterationTrainer(Trainer):
    """A trainer that prints a line for each iteration, as `Trainer` does here anyway."""
