"""Provide `sklearn_crfsuite.CRF`, implemented with the learners of sapo.

`lbfgs` is CRFsuite's own objective and method. The other algorithms are replaced by the nearest learner of sapo. A
warning names the arguments that have no meaning there (`unused`).
"""

import math
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from sapo.errors import OptionError
from sapo.jit.arrays import Ints
from sapo.learn.batch_crf import CRF_LBFGS, BatchOptions
from sapo.learn.lbfgs import dot
from sapo.learn.records import DevSet, Observer, PassRecord, State
from sapo.learn.settings import Settings
from sapo.sklearn.crfsuite import CrfsuiteTagger, decoded, state_weights, transition_weights
from sapo.sklearn.estimator import FittedLabeler
from sapo.sklearn.metrics import flat_accuracy_score
from sapo.sklearn.sequences import Label, LabeledSequences, feature_sequences
from sapo.tagger.file import model_bytes
from sapo.tagger.tagger import Tagger
from sapo.training.plan import LabelOptions, Plan, make_plan

LBFGS = "lbfgs"
# The learner that replaces each algorithm, and how they differ.
LEARNERS = {
    LBFGS: (CRF_LBFGS, "the same objective and method"),
    "l2sgd": ("crf", "the same objective, with weights for all pairs of a feature and a label"),
    "ap": ("perceptron-avg", "the same update, with another order of the sentences"),
    "pa": ("mira-avg", "a similar update, without a limit on the step"),
    "arow": ("mira-avg", "another update, because sapo has no AROW"),
}
UNLIMITED = 10_000  # iterations of L-BFGS, which converges long before
OF_ALL = {"algorithm", "min_freq", "all_possible_states", "all_possible_transitions", "max_iterations"}
OF_ALL |= {"verbose", "model_filename", "keep_tempfiles"}
USED = {
    LBFGS: {"c1", "c2", "num_memories", "epsilon", "period", "delta", "max_linesearch"},
    "l2sgd": {"c2", "delta"},
    "ap": set[str](),
    "pa": {"averaging"},
    "arow": set[str](),
}
_replaced: set[str] = set()  # algorithms that a warning has already named


def find_algorithm(name: str | None) -> str:
    """Return the name of the algorithm. Raise SapoError if there is none of this name."""
    found = name or LBFGS
    if found not in LEARNERS:
        raise OptionError(f"algorithm must be one of {', '.join(LEARNERS)}, not {found!r}")
    return found


def replacement_note(algorithm: str, arguments: dict[str, Any]) -> str:
    """Return which learner replaces the algorithm, and how they differ."""
    return f"{algorithm} became {_learner(algorithm, arguments)}: {LEARNERS[algorithm][1]}"


def unused(algorithm: str, arguments: dict[str, Any]) -> list[str]:
    """Return the names of arguments that are given and have no effect."""
    used = OF_ALL | USED[algorithm]
    return [name for name, value in arguments.items() if value is not None and name not in used]


def crfsuite_plan(
    algorithm: str, arguments: dict[str, Any], data: LabeledSequences, dev: LabeledSequences | None
) -> Plan:
    """Return the plan of training with these arguments. Raise SapoError if one of them is wrong."""
    given = {name: value for name, value in arguments.items() if value is not None}
    min_freq, all_pairs = _number(given, "min_freq", 0.0), bool(given.get("all_possible_states"))
    if algorithm == LBFGS:
        return _lbfgs_plan(given, min_freq, all_pairs, data, dev)
    settings: dict[str, object] = {"all_pairs": all_pairs, "epochs": given.get("max_iterations")}
    if algorithm != "l2sgd":
        settings["tolerance"] = 0.0  # CRFsuite makes all its passes, and averages over them
    else:
        settings["strength"] = 2 * _number(given, "c2", 1.0)  # CRFsuite's c2 |w|^2 is strength / 2 |w|^2 here
        settings["schedule"] = "inverse"  # as CRFsuite's rate falls
        if "delta" in given:
            settings["tolerance"] = _number(given, "delta", 0.0)
    return make_plan(
        data,
        dev=dev,
        learner=_learner(algorithm, given),
        settings=settings,
        constraints=False,  # CRFsuite forbids nothing
        min_count=max(1, math.ceil(min_freq)),
    )


def _learner(algorithm: str, arguments: dict[str, Any]) -> str:
    learner, _ = LEARNERS[algorithm]
    if algorithm == "pa" and arguments.get("averaging") not in (None, True):
        return learner.removesuffix("-avg")
    return learner


def _lbfgs_plan(
    given: dict[str, Any], min_freq: float, all_pairs: bool, data: LabeledSequences, dev: LabeledSequences | None
) -> Plan:
    limit = given.get("max_iterations", UNLIMITED)
    names = {"epsilon": "epsilon", "period": "period", "num_memories": "memories", "max_linesearch": "trials"}
    own = {name: given[key] for key, name in names.items() if key in given}
    c1, c2, delta = _number(given, "c1", 0.0), _number(given, "c2", 1.0), _number(given, "delta", 1e-5)
    kind, strength = ("l2", 2 * c2) if c2 else ("l1" if c1 else "none", c1)
    return Plan(
        data=data,
        dev=dev,
        labels=LabelOptions(constraints=False),
        learner=CRF_LBFGS,
        settings=Settings(
            regularizer=kind, strength=strength, tolerance=delta, epochs=limit, patience=limit, all_pairs=all_pairs
        ),
        batch=BatchOptions(
            l1=c1, all_transitions=bool(given.get("all_possible_transitions")), min_freq=min_freq, **own
        ),
    )


def _number(given: dict[str, Any], name: str, default: float) -> float:
    value = given.get(name, default)
    if not (isinstance(value, int | float | np.number) and 0 <= value < math.inf):
        raise OptionError(f"{name} must be a finite number, 0 or more, not {value!r}")
    return float(value)


class LabelScore(NamedTuple):
    """How often a label is right, predicted and gold in the dev set; the shares are None if it is not gold there."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


class TrainingLog(Observer):
    """Collect an entry for each iteration: num, loss, feature_norm, active_features and time.

    With a dev set also dev, by which the best iteration is chosen, and what CRFsuite counts: scores by label, their
    means avg_precision, avg_recall and avg_f1, item_accuracy and instance_accuracy.
    """

    def __init__(self, sentences: int, show: Callable[[str, dict[str, Any]], None] | None = None) -> None:
        self.iterations: list[dict[str, Any]] = []
        self.log: list[str] = []  # a line for each iteration
        self._sentences, self._show = sentences, show  # takes the line and the entry of each iteration

    @property
    def last_iteration(self) -> dict[str, Any] | None:
        """The entry of the last iteration; None before the first."""
        return self.iterations[-1] if self.iterations else None

    def passed(self, record: PassRecord, state: State) -> None:
        """Add the entry of a pass."""
        parameters = state.weights.true_weights()
        weights = np.concatenate([parameters.rows.entries()[2], parameters.edges.ravel()]).astype(np.float64)
        entry: dict[str, Any] = {
            "num": record.epoch,
            "scores": {},
            "loss": record.objective * self._sentences,
            "feature_norm": math.sqrt(dot(weights, weights)),
            "active_features": int(np.count_nonzero(weights)),
            "time": record.seconds,
        }
        line = (
            f"Iter {entry['num']:<3} time={entry['time']:<5.2f} loss={entry['loss']:<8.2f} "
            f"active={entry['active_features']:<5} feature_norm={entry['feature_norm']:<8.2f}"
        ).strip()
        if record.dev is not None:
            entry["dev"] = record.dev
            line += f" dev={record.dev:.3f}"
        if state.on_dev is not None:
            entry |= _dev_entry(*state.on_dev)
        self.iterations.append(entry)
        self.log.append(f"{line}\n")
        if self._show is not None:
            self._show(f"{line}\n", entry)


def _dev_entry(dev: DevSet, tags: Ints) -> dict[str, Any]:
    gold, size = dev.corpus.gold, len(dev.labels)
    correct = gold == tags
    counts = [np.bincount(found, minlength=size).tolist() for found in (gold[correct], tags, gold)]
    scores = {}
    for label, match, model, ref in zip(dev.labels, *counts, strict=True):
        precision, recall = match / max(model, 1), match / max(ref, 1)
        shares = (precision, recall, 2 * match / (model + ref)) if ref else (None, None, None)
        scores[label] = LabelScore(match, model, ref, *shares)
    found: dict[str, Any] = {"scores": scores}
    for share in ("precision", "recall", "f1"):  # CRFsuite divides by the number of all labels
        found[f"avg_{share}"] = sum(getattr(score, share) or 0.0 for score in scores.values()) / size
    right = np.logical_and.reduceat(correct, dev.corpus.offsets[:-1])
    for name, each in (("item", correct), ("instance", right)):
        accuracy = Fraction(int(each.sum()), len(each))
        found |= {f"{name}_accuracy": accuracy, f"{name}_accuracy_float": float(accuracy)}
    return found


class ModelFile:
    """The model file of a CRF. A temporary one is written when it is asked for, and removed with this object."""

    def __init__(self, tagger: Tagger | None, path: str | None, *, keep: bool) -> None:
        self.tagger, self.auto = tagger, path is None
        self.name = path  # None before `fit`
        if path is None and tagger is not None:
            directory = tempfile.mkdtemp(prefix="sapo-")
            self.name = str(Path(directory) / "model.sapo")
            tagger.save(self.name)
            if not keep:
                weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)


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
    _modelfile: "ModelFile | None" = None
    _crfsuite_tagger: CrfsuiteTagger | None = None  # one object, which keeps what was set

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
        log = self._begin_log(len(pairs))
        # the log prints its own lines; a CRF at its optimum needs no temperature, and python-crfsuite has none
        outcome = self._train(plan, kind, [log], verbose=bool(self.verbose), lines=False, calibrate=False)
        self.training_log_ = log
        if self.model_filename is not None:
            outcome.tagger.save(self.model_filename)
        return self

    def _begin_log(self, sentences: int) -> TrainingLog:
        return TrainingLog(sentences, (lambda line, _: print(line, end="")) if self.verbose else None)

    def predict(self, X: Any) -> Any:
        """Return the labels of each sequence: an array of lists, or with two dimensions if all have one length."""
        return _like_numpy(super().predict(X))

    def predict_marginals(self, X: Any) -> Any:
        """Return the probability of each label, for each token of each sequence, in an array of the same shape."""
        return _like_numpy(super().predict_marginals(X))

    def predict_single(self, xseq: Any) -> list[Label]:
        """Return the labels of one sequence."""
        return self._labels(self._trained().tag(self._tokens([xseq])[0]))

    def predict_marginals_single(self, xseq: Any) -> list[dict[Label, float]]:
        """Return the probability of each label, for each token of one sequence."""
        found: list[dict[Label, float]] = super().predict_marginals([xseq])[0]
        return found

    def score(self, X: Any, y: Any) -> float:
        """Return the share of tokens with the correct label, as sklearn-crfsuite does."""
        return flat_accuracy_score(y, self.predict(X))

    @property
    def tagger_(self) -> Any:
        """The model with the methods of `pycrfsuite.Tagger`; None before `fit`, as are the following."""
        if not self.__sklearn_is_fitted__():
            return None
        tagger, kept = self._trained(), self._crfsuite_tagger
        if kept is None or kept.tagger is not tagger:
            self._crfsuite_tagger = kept = CrfsuiteTagger(tagger, self._tokens, self._labels)
        return kept

    @property
    def modelfile(self) -> "ModelFile":
        """The model file; `name` is its path, which is a temporary one without `model_filename`."""
        tagger, kept = self._trained() if self.__sklearn_is_fitted__() else None, self._modelfile
        if kept is None or kept.tagger is not tagger:
            path = None if self.model_filename is None else str(self.model_filename)
            self._modelfile = kept = ModelFile(tagger, path, keep=bool(self.keep_tempfiles))
        return kept

    @property
    def classes_(self) -> Any:
        """All labels."""
        return self._labels(self._trained().labels) if self.__sklearn_is_fitted__() else None

    @classes_.setter
    def classes_(self, labels: Any) -> None:
        """Ignore the value: the labels are those of the tagger, which may come from a file."""

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

    def __getstate__(self) -> dict[str, Any]:
        left_out = ("_crfsuite_tagger", "_modelfile")
        return {name: value for name, value in super().__getstate__().items() if name not in left_out}

    def _file(self) -> Path | None:
        """Return the model file, if it exists: then `fit` is not needed."""
        path = None if self.model_filename is None else Path(self.model_filename)
        return path if path is not None and path.exists() else None

    def _trained(self) -> Tagger:
        if "_tagger" not in vars(self) and (file := self._file()) is not None:
            self._tagger, self._kind = Tagger.load(file), str
        return super()._trained()

    def _pairs(self, X: Any, y: Any, names: tuple[str, str] = ("X", "y")) -> tuple[LabeledSequences, type[Label]]:
        if isinstance(X, list | tuple) and isinstance(y, list | tuple) and len(X) == len(y):
            # CRFsuite accepts empty sequences, which say nothing, and bytes as labels
            both = [(tokens, tags) for tokens, tags in zip(X, y, strict=True) if len(tokens) or len(tags)]
            X, y = [tokens for tokens, _ in both], [[decoded(tag) for tag in tags] for _, tags in both]
        pairs, kind = super()._pairs(X, y, names)
        return list(
            zip(feature_sequences([tokens for tokens, _ in pairs]), [tags for _, tags in pairs], strict=True)
        ), kind

    def _tokens(self, X: Any) -> list[list[Any]]:
        return feature_sequences(super()._tokens(X))


def _like_numpy(sequences: Any) -> Any:
    """Return sequences of one length as an array with two dimensions, as sklearn-crfsuite does."""
    return np.array(sequences.tolist(), object)
