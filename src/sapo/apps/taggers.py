"""Share what the servers do with taggers: load them, warm them up, measure doubt, and read their labels as a task.

A task marks spans of tokens, which are kept as IOB2 tags, or gives each token one label.
"""

import contextlib
import io
import os
import stat
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from sapo import jit
from sapo.corpus.files import missing_file
from sapo.errors import SapoError
from sapo.tagger.explain import explain
from sapo.tagger.file import model_from_bytes
from sapo.tagger.tagger import Tagger
from sapo.tagger.text import find
from sapo.tags.schemes import TABLE, as_prefixed, looks_like_spans
from sapo.tags.spans import convert_tags, type_of

SPANS, TAGS = "spans", "tags"
SCHEME = "iob2"
OUTSIDE = "O"
MOST_LABELS = 1000  # that a model can have which learns from requests: memory grows with the square of their number
LONGEST_LABEL = 1000  # characters
LEAST = 3  # tokens that decide how unsure a sentence is


def load(path: Path) -> Tagger:
    """Load a tagger and everything that it needs to answer. Raise SapoError if it is missing or damaged."""
    return ready_tagger(read_model(path), path)


def ready_tagger(data: bytes, path: Path) -> Tagger:
    """Return the tagger of the bytes of a file, with everything that it needs to answer."""
    tagger = Tagger(model_from_bytes(data, name=path))
    warm_up(tagger)
    return tagger


def read_model(path: Path) -> bytes:
    """Return the bytes of the file of a model. Raise SapoError if it is missing.

    The file is read, not mapped: it may be written over while the model is in use. Only a regular file is read, and no
    more of it than there is at first: a pipe in its place would keep the server waiting, and /dev/zero has no end.
    """
    try:
        with io.BufferedReader(io.FileIO(path, opener=_without_waiting)) as stream:
            found = os.fstat(stream.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise SapoError(f"{path}: not a regular file; give the file of a model")
            return stream.read(found.st_size)
    except FileNotFoundError:
        raise missing_file(path) from None
    except OSError as error:
        raise SapoError(f"{path}: cannot be read ({error.strerror or error})") from None


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def warm_up(tagger: Tagger) -> None:
    """Do once what requests may ask for, so that none of them waits for a kernel to compile."""
    jit.compile_kernels()
    token: Any = ["a"] if len(tagger.columns) == 0 else ("a",) * len(tagger.columns)
    sentence = [token] * 3
    for probabilities, nbest in ((False, 0), (True, 2)):
        list(find(tagger.model, [sentence, sentence], probabilities=probabilities, nbest=nbest))
    tagger.marginals(sentence)
    with contextlib.suppress(SapoError):  # networks, and models of one label, explain nothing
        explain(tagger, sentence, 1)


def doubt(probabilities: Sequence[float]) -> float:
    """Return how unsure a model is of a sentence, from 0 to 1. `probabilities` are those of the tags of its tokens.

    It is the mean of 1 - probability over the three least sure tokens. The whole sentence would favor long sentences,
    and the mean of all tokens would favor fragments of one or two words, which teach little.

    >>> round(doubt([0.9, 0.5, 1.0, 0.6]), 2)
    0.33
    >>> doubt([0.4]) < doubt([0.4, 0.9, 0.9])
    True
    """
    return sum(sorted((1.0 - share for share in probabilities), reverse=True)[:LEAST]) / LEAST


def kind_of(labels: Iterable[str]) -> str:
    """Return what labels of a model or a file are.

    >>> kind_of(["O", "B-PER"]), kind_of(["NN", "VB"])
    ('spans', 'tags')
    """
    listed = list(labels)
    return SPANS if looks_like_spans(listed) or set(listed) <= {OUTSIDE} else TAGS


def label_names(kind: str, tags: Iterable[str]) -> list[str]:
    """Return the labels that tags use, in order: types of spans, or the tags themselves.

    >>> label_names("spans", ["O", "B-PER", "I-PER"]), label_names("tags", ["NN", "O"])
    (['PER'], ['NN', 'O'])
    """
    if kind == TAGS:
        return list(dict.fromkeys(tags))
    return list(dict.fromkeys(filter(None, map(type_of, as_prefixed(list(dict.fromkeys(tags)))))))


def check_new_labels(known: Collection[str], labels: Iterable[str]) -> None:
    """Raise SapoError if labels of requests are too many, or too long, to be learned by a model with known ones.

    >>> check_new_labels(["PER"], ["x" * 2000])
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: a label may have at most 1000 characters, not 2000: 'xxxxxxxxxxxxxxxxxxxx…'
    """
    new = set(labels).difference(known)
    if new and len(known) + len(new) > MOST_LABELS:
        raise SapoError(
            f"the model has {len(known)} labels and can learn up to {MOST_LABELS} here, {len(new)} more are too many; "
            "correct them, or use sapo train"
        )
    longest = max(new, key=len, default="")
    if len(longest) > LONGEST_LABEL:
        shown = f"{longest[:20]}…"
        raise SapoError(f"a label may have at most {LONGEST_LABEL} characters, not {len(longest)}: {shown!r}")


def scheme_of(labels: Sequence[str]) -> str:
    """Return the scheme in which a model shows its spans.

    >>> scheme_of(["O", "B-X", "I-X"]), scheme_of(["O", "B-X", "E-X", "S-X"])
    ('iob2', 'bioes')
    """
    for scheme in (SCHEME, "bioes", "bilou", "bmes"):
        if all(label == OUTSIDE or TABLE[scheme].fits(label) for label in labels):
            return scheme
    raise SapoError(f"the labels of this model do not mark spans: {', '.join(labels)[:60]}")


def for_model(tags: Sequence[str], scheme: str) -> list[str]:
    """Return IOB2 tags in the scheme of a model.

    >>> for_model(["B-PER", "I-PER", "O"], "bioes")
    ['B-PER', 'E-PER', 'O']
    """
    return list(tags) if scheme == SCHEME else convert_tags(tags, SCHEME, scheme)
