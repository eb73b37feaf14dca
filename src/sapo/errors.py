"""The exception for mistakes of users, with a message of one line, and "did you mean"."""

import re
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")
LISTED = 40  # names, in a message that lists what is known
# What other tools call the same thing. A name is looked up only where ours is known.
ELSEWHERE = {
    theirs: ours
    for ours, names in {
        "rate": "learning_rate lr eta step_size",
        "epochs": "iterations iteration iter iters max_iter max_iterations n_iter num_epochs max_epochs passes pass",
        "strength": "c2 l2 lambda alpha c regularization regularisation weight_decay sigma",
        "regulariser": "regularizer penalty c1 l1",
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
    """A file beside the result, such as a log, could not be written, and the work goes on without it."""

    def __init__(self, message: object = "") -> None:
        super().__init__(harmless(str(message)))
