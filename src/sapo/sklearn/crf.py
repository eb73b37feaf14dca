"""The arguments and methods of `sklearn_crfsuite.CRF`, implemented with the learners of sapo."""

import math
import warnings
from typing import Any, Self

import numpy as np

from sapo.errors import SapoError
from sapo.learn import Settings
from sapo.model import model_bytes
from sapo.sklearn.fitted import FittedLabeler
from sapo.sklearn.metrics import flat_accuracy_score
from sapo.sklearn.sequences import Label, LabelledSequences
from sapo.training.plan import LabelOptions, Plan

# For each algorithm the learner that replaces it, and how they differ.
LEARNERS = {
    "lbfgs": ("crf", "the same model and objective, c1 |w| + c2 |w|^2, by stochastic gradient instead of L-BFGS"),
    "l2sgd": ("crf", "the same model, objective and kind of method; the start rate is calibrated in another way"),
    "ap": ("perceptron-avg", "the same method"),
    "pa": ("mira-avg", "1-best MIRA, which is passive aggressive with the number of wrong labels as the cost"),
    "arow": ("mira-avg", "there is no AROW here; 1-best MIRA is the nearest"),
}
PASSES = 30  # maximum; a pass of a stochastic method does more than an iteration of L-BFGS
WITHOUT_MEANING = (
    "num_memories",
    "epsilon",
    "period",
    "delta",
    "linesearch",
    "max_linesearch",
    "calibration_eta",
    "calibration_rate",
    "calibration_samples",
    "calibration_candidates",
    "calibration_max_trials",
    "pa_type",
    "c",
    "error_sensitive",
    "variance",
    "gamma",
    "trainer_cls",
)


class CRF(FittedLabeler):
    """A drop-in replacement for `sklearn_crfsuite.CRF`; docs/scikit-learn.md lists the differences.

    >>> X = [[{"word": "a"}, {"word": "dog"}], [{"word": "the"}, {"word": "cat"}]]
    >>> crf = CRF(algorithm="lbfgs", c2=0.1, max_iterations=20).fit(X, [["DT", "NN"], ["DT", "NN"]])
    >>> crf.predict_single([{"word": "the"}, {"word": "dog"}])
    ['DT', 'NN']
    """

    note_: str  # which learner replaced the algorithm, and how they differ
    training_log_: list[dict[str, Any]]

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
        """Train a model on sequences X with labels y. With a dev set, keep the pass that scores best on it."""
        learner, self.note_ = self._learner()
        self._warn()
        settings, l1_ratio = self._settings(learner)
        pairs, kind = self._pairs(X, y)
        plan = Plan(
            data=pairs,
            dev=self._dev_pairs(X_dev, y_dev, kind),
            min_count=max(1, math.ceil(_strength("min_freq", self.min_freq, 0.0))),
            labels=LabelOptions(constraints=False),  # CRFsuite forbids nothing
            learner=learner,
            settings=settings,
            l1_ratio=l1_ratio,
        )
        outcome = self._train(plan, kind)
        self.training_log_ = self.history_
        if self.verbose:
            for record in outcome.history:
                print(f"pass {record.epoch}  objective {record.objective:.4f}  seconds {record.seconds:.2f}")
        if self.model_filename is not None:
            outcome.tagger.save(self.model_filename)
        return self

    def predict_single(self, xseq: Any) -> list[Label]:
        """Return the labels of one sequence."""
        return self.predict([xseq])[0]

    def predict_marginals_single(self, xseq: Any) -> list[dict[Label, float]]:
        """Return the probability of each label, for each token of one sequence."""
        return self.predict_marginals([xseq])[0]

    def score(self, X: Any, y: Any) -> float:
        """Return the share of tokens with the correct label, as sklearn-crfsuite does."""
        return flat_accuracy_score(y, self.predict(X))

    @property
    def size_(self) -> int:
        """The size of the model file in bytes."""
        return len(model_bytes(self.tagger_.model))

    @property
    def num_attributes_(self) -> int:
        """The number of features."""
        return self.tagger_.model.encoder.features

    @property
    def attributes_(self) -> list[str]:
        """The names of all features."""
        return self.tagger_.model.encoder.feature_names(range(self.num_attributes_))

    @property
    def state_features_(self) -> dict[tuple[str, Label], float]:
        """The weights that are not 0, by feature and label."""
        counts, columns, values = self.tagger_.model.parameters.rows.entries()
        names, labels = self.attributes_, self._labels(self.tagger_.labels)
        rows = np.repeat(np.arange(len(counts)), counts)
        return {
            (names[row], labels[column]): value
            for row, column, value in zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True)
        }

    @property
    def transition_features_(self) -> dict[tuple[Label, Label], float]:
        """The transition weights that are not 0, by label and next label."""
        labels, edges = self._labels(self.tagger_.labels), self.tagger_.model.parameters.edges
        return {(labels[p], labels[y]): float(edges[p, y]) for p, y in np.argwhere(edges).tolist()}

    def _learner(self) -> tuple[str, str]:
        algorithm = self.algorithm or "lbfgs"
        if algorithm not in LEARNERS:
            raise SapoError(f"algorithm must be one of {', '.join(LEARNERS)}, not {algorithm!r}")
        learner, note = LEARNERS[algorithm]
        if algorithm == "pa" and self.averaging is not None and not self.averaging:
            learner = "mira"
        return learner, f"{algorithm} became {learner}: {note}"

    def _settings(self, learner: str) -> tuple[Settings, float]:
        """Return the settings, and the strength of L1 as a fraction of the strength of L2."""
        wanted = PASSES if self.max_iterations is None else self.max_iterations
        epochs = (
            min(wanted, PASSES) if isinstance(wanted, int | np.integer) else wanted
        )  # Settings raises an error for other types
        if learner != "crf":
            return Settings(epochs=epochs), 0.0
        c1 = _strength("c1", self.c1, 0.0) if self.algorithm != "l2sgd" else 0.0
        c2 = _strength("c2", self.c2, 1.0)
        if c2 == 0:
            return Settings(epochs=epochs, regulariser="l1" if c1 else "none", strength=c1), 0.0
        # CRFsuite's c2 |w|^2 is strength / 2 |w|^2 here
        return Settings(epochs=epochs, strength=2 * c2), c1 / (2 * c2)

    def _warn(self) -> None:
        given = [name for name in WITHOUT_MEANING if getattr(self, name) is not None]
        if given:
            warnings.warn(f"these arguments of CRFsuite have no meaning here: {', '.join(given)}", stacklevel=3)

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


def _strength(name: str, value: float | None, default: float) -> float:
    if value is None:
        return default
    if not (isinstance(value, int | float | np.number) and 0 <= value < math.inf):
        raise SapoError(f"{name} must be a finite number, 0 or more, not {value!r}")
    return float(value)
