"""Define the errors that users see, "did you mean", and the limits on what is read.

Each limit is far above what real data has. Raise it if you need more: `sapo --limit line=1GB tag ...` on the command
line, and in Python:

>>> with allow_limits(line=1 << 30):
...     current_limits().line
1073741824
>>> current_limits().line
8388608

Messages name Python parameters, in backquotes: `format='text'`. The command line shows them as its options.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")
LISTED = 40  # names, in a message that lists what is known
# What other tools call the same thing. A name is looked up only where ours is known.
ELSEWHERE = {
    theirs: ours
    for ours, names in {
        "rate": "learning_rate lr eta step_size",
        "epochs": "iterations iteration iter iters max_iter max_iterations n_iter num_epochs max_epochs passes pass",
        "strength": "c2 l2 lambda alpha c regularization regularisation weight_decay sigma",
        "regularizer": "regulariser penalty c1 l1",
        "output": "out output_file outfile save save_to model_filename save_model dest model model_file model_path",
        "learner": "algorithm method solver model_type trainer",
        "template": "feature_template templates feature_set preset",
        "dev": "valid validation val development devel dev_file heldout",
        "min_count": "min_freq minfreq feature_minfreq min_frequency cutoff",
        "threads": "jobs n_jobs workers processes num_threads num_workers thread",
        "seed": "random_state random_seed random",
        "label": "tag_column label_column target labels tag_type",
        "columns": "column_names fields header names conll tsv txt",
        "format": "input_format file_format type",
        "encoding": "charset codec",
        "width": "beam beam_size beam_width",
        "nbest": "n_best k top_k topk best",
        "marginals": "probs probabilities probability proba confidence",
        "batch": "batch_size minibatch",
        "hidden": "hidden_size hidden_dim",
        "vectors": "embeddings word_vectors embedding",
        "class_weight": "label_weight weights class_weights",
        "checkpoint": "checkpoints snapshot",
        "continue": "init_model warm_start from_model fine_tune finetune",
        "quiet": "silent no_progress",
        "parts": "ratio ratios test_size split splits shares",
        "html": "page report",
        "iob2": "bio bio2 iob",
        "bioes": "iobes",
        "bmes": "bmeso",
        "conllu": "ud",
        "tag": "predict annotate decode label tagging infer apply",
        "eval": "evaluate score test conlleval evaluation",
        "train": "fit learn training",
        "inspect": "info show dump describe",
        "check": "validate lint verify",
        "data": "download fetch corpora datasets",
        "calibrate": "temperature",
        "prune": "compress shrink",
        "compare": "significance",
        "distil": "distill distillation student self_train",
        "cluster": "brown clusters clustering wcluster",
        "explain": "why",
    }.items()
    for theirs in names.split()
}

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """Return a text that a terminal only shows: control characters become what JSON writes for them.

    A label or a file name may hold an escape sequence that clears the screen, or turns the text around.

    >>> print(harmless("B-\\x1b[2J"))
    B-\\u001b[2J
    """
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class SapoError(ValueError):
    """A mistake that the user can correct. The message says place, rule, value and what to do. Also a ValueError.

    >>> raise SapoError("train.txt:812: expected 3 columns, found 2 ('London JJ')")
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: train.txt:812: expected 3 columns, found 2 ('London JJ')
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(harmless(str(message)))


class DataError(SapoError):
    """A file, a table or sentences of the user cannot be used as they are."""


class OptionError(SapoError):
    """A parameter or an option has a value that it cannot have, or does not fit the others."""


class ModelError(SapoError):
    """A model file or a checkpoint is damaged, or a model does not fit what it is used for."""


def pip_install(extra: str) -> str:
    """Return how to install an extra, from a release or in a clone.

    >>> pip_install("ray")
    "pip install 'sapo-nlp[ray]', or pip install '.[ray]' in a clone"
    """
    return f"pip install 'sapo-nlp[{extra}]', or pip install '.[{extra}]' in a clone"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known one, or all of them.

    >>> did_you_mean("sufix", ["prefix", "suffix"]), did_you_mean("learning_rate", ["n", "rate"])
    ("; did you mean 'suffix'?", "; did you mean 'rate'?")
    """
    known = list(known)
    close = nearest(name, known)
    if close is not None:
        return f"; did you mean '{close}'?"
    more = f" ... ({len(known):,} in all)" if len(known) > LISTED else ""
    return f"; known: {', '.join(known[:LISTED])}{more}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, or None: upper and lower case are alike.

    >>> nearest("b-np", ["B-NP", "I-NP"]), nearest("max_iter", ["epochs"]), nearest("xyz", ["epochs"])
    ('B-NP', 'epochs', None)
    """
    folded = {one.casefold(): one for one in reversed(list(known))}
    elsewhere = ELSEWHERE.get(name.casefold())
    if elsewhere in folded:
        return folded[elsewhere]
    import difflib  # only mistakes need it

    close = difflib.get_close_matches(name.casefold(), folded)
    close.sort(key=lambda one: sorted(one) != sorted(name.casefold()))  # letters in another order are a typing mistake
    return folded[close[0]] if close else None


def choice(value: T, choices: Iterable[str]) -> T | str:
    """Return the choice that equals this value but for upper and lower case; any other value as it is.

    >>> choice("BIOES", ["iob2", "bioes"]), choice("x", ["iob2"]), choice(None, ["iob2"])
    ('bioes', 'x', None)
    """
    if isinstance(value, str):
        for one in choices:
            if one.casefold() == value.casefold():
                return one
    return value


class DataWarning(UserWarning):
    """Data was changed or left out in reading, and the user may want to correct it: says place, reason and change."""

    def __init__(self, message: object = "") -> None:
        super().__init__(harmless(str(message)))


class FileWarning(UserWarning):
    """A file besides the result, such as a log, could not be written, and the work goes on without it."""

    def __init__(self, message: object = "") -> None:
        super().__init__(harmless(str(message)))


UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}
UNITS["tb"] = 1 << 40
LARGEST = 1 << 62


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest values that are let through. Sizes are in bytes."""

    unzipped: int = 100 << 30  # of a compressed file, unpacked
    ratio: int = 300  # unpacked bytes for each compressed one; looked at after the first 64 MB
    whole: int = 256 << 20  # of a file that is held in memory as a whole, unpacked: sapo check, .spacy
    line: int = 8 << 20  # of a text file: as JSON it may take 30 times as much memory
    sentence: int = 8 << 20  # of a file with one token a line
    tokens: int = 1_000_000  # in a sentence
    token: int = 1 << 20  # of a word, a label, or another value of a token
    columns: int = 1_000  # of a column file
    labels: int = 5_000  # of training data or a model: pairs of them take 100 MB
    template: int = 1 << 20  # of a template file
    template_line: int = 10_000
    templates: int = 10_000  # in a file
    rules: int = 1 << 20  # of a file of rules
    rule: int = 10_000
    words: int = 10_000_000  # of a file of clusters: all of them are in memory
    names: int = 10_000_000  # of a name list: all of them are in memory
    sentences: int = 1_000_000  # of a project of sapo teach: all of them are in memory
    n: int = 1_000  # taggings of a sentence: the search keeps them in a sorted list


MOST_LABELS = 65_535  # of a model: its file has no room for more
MOST_THREADS = 1024
LARGEST_OPTION = 1_000_000  # of numbers that are larger by mistake only
DEFAULT = Limits()
_current: ContextVar[Limits] = ContextVar("limits", default=DEFAULT)


def current_limits() -> Limits:
    """Return the limits that hold now."""
    return _current.get()


@contextmanager
def allow_limits(**more: int) -> Iterator[Limits]:
    """Let larger (or only smaller) values through in this context. Raise SapoError if there is no such limit.

    >>> with allow_limits(lines=3):
    ...     pass
    Traceback (most recent call last):
    ...
    sapo.errors.OptionError: unknown limit 'lines'; did you mean 'line'?
    """
    token = _current.set(_changed(more))
    try:
        yield current_limits()
    finally:
        _current.reset(token)


def set_limits(**more: int) -> None:
    """Do as `allow`, for good: for a process that is one command."""
    _current.set(_changed(more))


def _changed(more: dict[str, int]) -> Limits:
    names = [field.name for field in dataclasses.fields(Limits)]
    for name, value in more.items():
        if name not in names:
            raise OptionError(f"unknown limit '{name}'{did_you_mean(name, names)}")
        most = MOST_LABELS if name == "labels" else LARGEST
        if not isinstance(value, int) or not 1 <= value <= most:
            raise OptionError(f"limit {name} must be a whole number from 1 to {most:,}, not {value}")
    return dataclasses.replace(current_limits(), **more)


def parse_limit(text: str) -> tuple[str, int]:
    """Return the name and the value of a limit as the command line has it. Raise SapoError if it cannot be read.

    >>> parse_limit("line=1GB"), parse_limit("tokens=2M")
    (('line', 1073741824), ('tokens', 2000000))
    """
    found = re.fullmatch(r"(\w+)=(\d{1,18})([kmgt]?b?)", text.strip().lower())
    if found is None or found[3] not in UNITS:
        raise OptionError(f"--limit '{text}': expected NAME=VALUE, for example line=1GB or tokens=2000000")
    return found[1], int(found[2]) * UNITS[found[3]]


def check_limit(name: str, value: int, place: Any, what: str) -> None:
    """Raise SapoError if a value is above a limit; `place` and `what` say where it stands, and what is counted.

    >>> check_limit("columns", 2000, "a.txt", "columns")
    Traceback (most recent call last):
    ...
    sapo.errors.DataError: a.txt: 2,000 columns are more than 1,000; if that is right, use `allow_limits(columns=2000)`
    """
    if value > getattr(_current.get(), name):
        raise above_limit(name, value, place, what)


def above_limit(name: str, value: int, place: Any, what: str) -> SapoError:
    """Return the error about a value above its limit."""
    most = getattr(current_limits(), name)
    return DataError(
        f"{place}: {value:,} {what} are more than {most:,}; if that is right, use `allow_limits({name}={value})`"
    )
