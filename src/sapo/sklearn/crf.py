"""The arguments and methods of `sklearn_crfsuite.CRF`, implemented with the learners of sapo."""

import warnings
from pathlib import Path
from typing import Any, Self

from sapo.model import model_bytes
from sapo.sklearn.crfsuite_log import TrainingLog
from sapo.sklearn.crfsuite_plan import LBFGS, crfsuite_plan, find_algorithm, replacement_note, unused
from sapo.sklearn.crfsuite_tagger import CrfsuiteTagger, state_weights, transition_weights
from sapo.sklearn.fitted import FittedLabeler
from sapo.sklearn.metrics import flat_accuracy_score
from sapo.sklearn.sequences import Label, LabelledSequences
from sapo.tagger import Tagger

_replaced: set[str] = set()  # algorithms that a warning has already named


class CRF(FittedLabeler):
    """A drop-in replacement for `sklearn_crfsuite.CRF`; docs/how-to/scikit-learn.md lists the differences.

    The algorithm `lbfgs` is that of CRFsuite. The others are replaced by the nearest learner of sapo: `l2sgd` by `crf`,
    `ap` by `perceptron-avg`, `pa` and `arow` by `mira-avg`. The first `fit` with each of them says so in a warning.

    >>> X = [[{"word": "a"}, {"word": "dog"}], [{"word": "the"}, {"word": "cat"}]]
    >>> crf = CRF(algorithm="lbfgs", c2=0.1, max_iterations=20).fit(X, [["DT", "NN"], ["DT", "NN"]])
    >>> crf.predict_single([{"word": "the"}, {"word": "dog"}])
    ['DT', 'NN']
    """

    note_: str  # which learner replaced the algorithm, and how they differ
    training_log_: TrainingLog | None = None

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: int | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | None = None,
        keep_tempfiles: bool | None = False,
        trainer_cls: Any = None,
    ) -> None:
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> Self:
        """Train a model on sequences X with labels y. With a dev set, keep the iteration that scores best on it."""
        algorithm, arguments = find_algorithm(self.algorithm), self.get_params()
        self.note_ = replacement_note(algorithm, arguments)
        if algorithm != LBFGS and algorithm not in _replaced:
            _replaced.add(algorithm)
            warnings.warn(self.note_, stacklevel=2)
        if given := unused(algorithm, arguments):
            warnings.warn(f"these arguments have no effect with {algorithm!r}: {', '.join(given)}", stacklevel=2)
        pairs, kind = self._pairs(X, y)
        plan = crfsuite_plan(algorithm, arguments, pairs, self._dev_pairs(X_dev, y_dev, kind))
        log = TrainingLog(len(pairs), verbose=self.verbose)
        outcome = self._train(plan, kind, [log], verbose=bool(self.verbose), lines=False)  # the log prints its own
        self.training_log_ = log
        if self.model_filename is not None:
            outcome.tagger.save(self.model_filename)
        return self

    def predict_single(self, xseq: Any) -> list[Label]:
        """Return the labels of one sequence."""
        found: list[Label] = self.predict([xseq])[0]
        return found

    def predict_marginals_single(self, xseq: Any) -> list[dict[Label, float]]:
        """Return the probability of each label, for each token of one sequence."""
        found: list[dict[Label, float]] = self.predict_marginals([xseq])[0]
        return found

    def score(self, X: Any, y: Any) -> float:
        """Return the share of tokens with the correct label, as sklearn-crfsuite does."""
        return flat_accuracy_score(y, self.predict(X))

    @property
    def tagger_(self) -> Any:
        """The model with the methods of `pycrfsuite.Tagger`; None before `fit`, as are the following."""
        if not self.__sklearn_is_fitted__():
            return None
        return CrfsuiteTagger(self._trained(), self._tokens, self._labels)

    @property
    def classes_(self) -> Any:
        """All labels."""
        return self._labels(self._trained().labels) if self.__sklearn_is_fitted__() else None

    @classes_.setter
    def classes_(self, labels: Any) -> None:
        """Leave it to the tagger: that may come from a file, too."""

    @property
    def size_(self) -> int | None:
        """The size of the model file in bytes."""
        return len(model_bytes(self._trained().model)) if self.__sklearn_is_fitted__() else None

    @property
    def num_attributes_(self) -> int | None:
        """The number of features."""
        return self._trained().model.encoder.features if self.__sklearn_is_fitted__() else None

    @property
    def attributes_(self) -> list[str] | None:
        """The names of all features."""
        if not self.__sklearn_is_fitted__():
            return None
        encoder = self._trained().model.encoder
        return encoder.feature_names(range(encoder.features))

    @property
    def state_features_(self) -> dict[tuple[str, Label], float] | None:
        """The weights that are not 0, by feature and label."""
        names = self.attributes_
        return None if names is None else state_weights(self._trained().model.parameters, names, self.classes_)

    @property
    def transition_features_(self) -> dict[tuple[Label, Label], float] | None:
        """The transition weights that are not 0, by label and next label."""
        labels = self.classes_
        return None if labels is None else transition_weights(self._trained().model.parameters, labels)

    def __sklearn_is_fitted__(self) -> bool:
        return super().__sklearn_is_fitted__() or self._file() is not None

    def _file(self) -> Path | None:
        """Return the model file, if it is there already: then nothing need be fitted."""
        path = None if self.model_filename is None else Path(self.model_filename)
        return path if path is not None and path.exists() else None

    def _trained(self) -> Tagger:
        if "_tagger" not in vars(self) and (file := self._file()) is not None:
            self._tagger, self._kind = Tagger.load(file), str
        return super()._trained()

    def _pairs(self, X: Any, y: Any, names: tuple[str, str] = ("X", "y")) -> tuple[LabelledSequences, type[Label]]:
        pairs, kind = super()._pairs(X, y, names)
        return list(zip(_features([tokens for tokens, _ in pairs]), [tags for _, tags in pairs], strict=True)), kind

    def _tokens(self, X: Any) -> list[list[Any]]:
        return _features(super()._tokens(X))


def _features(sequences: list[list[Any]]) -> list[list[Any]]:
    """Return tokens as lists or dictionaries; CRFsuite also accepts tuples and sets of feature names."""
    if any(isinstance(tokens[0], tuple | set | frozenset) for tokens in sequences if tokens):
        return [[token if isinstance(token, dict | str) else sorted(token) for token in tokens] for tokens in sequences]
    return sequences
