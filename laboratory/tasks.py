"""The paper's tasks: what to read, how to score it, and which features to use."""

from collections.abc import Iterable
from dataclasses import dataclass

from sapo.errors import SapoError, did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Data in `directory` of SAPO_DATA; the files are `train`, `dev` (where there is one) and `test` + `ending`."""

    name: str
    title: str
    directory: str
    metric: str  # F1 or accuracy
    template: str  # the paper's features
    best_template: str  # of SAPO-best
    paper_features: int
    columns: tuple[str, ...]  # of those of the file that features may look at
    file_columns: tuple[str, ...] | None = None  # None: the format tells
    ending: str = ".txt.gz"
    label: str | None = None
    dev: bool = False
    only: str | None = None  # keep only spans of this type


_POS = {
    "metric": "accuracy",
    "template": "pos-paper",
    "best_template": "pos-best",
    "paper_features": 393_741,
    "columns": ("word",),
}
_EWT = {"directory": "ud-ewt", "ending": ".conllu.gz", "dev": True}
_CONLL = {
    "directory": "conll2000",
    "metric": "F1",
    "template": "chunking",
    "paper_features": 264_818,
    "columns": ("word", "pos"),
    "file_columns": ("word", "pos", "label"),
    "best_template": "chunking-best",
}


def _task(*shared: dict[str, object], **own: object) -> Task:
    merged: dict[str, object] = {}
    for part in (*shared, own):
        merged.update(part)
    return Task(**merged)  # type: ignore[arg-type]


TASKS = {
    task.name: task
    for task in (
        _task(_CONLL, name="chunking", title="Chunking (CoNLL-2000, all phrases)"),
        _task(_CONLL, name="chunking-np", title="Chunking (CoNLL-2000, noun phrases)", only="NP"),
        Task(
            name="bioner",
            title="Bio-NER (BioNLP/JNLPBA-2004)",
            directory="jnlpba",
            metric="F1",
            template="bioner",
            paper_features=403_192,
            columns=("word", "pos", "chunk"),
            file_columns=("word", "pos", "chunk", "label"),
            best_template="bioner-best",
        ),
        _task(_POS, _EWT, name="pos-xpos", title="POS-Tag (UD English EWT, XPOS)", label="xpos"),
        _task(_POS, _EWT, name="pos-upos", title="POS-Tag (UD English EWT, UPOS)", label="upos"),
        _task(
            _POS,
            name="pos-wsj",
            title="POS-Tag (Penn Treebank, WSJ)",
            directory="wsj-sample",
            file_columns=("word", "label"),
        ),
    )
}
GROUPS: dict[str, tuple[str, ...]] = {"pos": ("pos-xpos", "pos-upos", "pos-wsj"), "all": tuple(TASKS)}
KNOWN = (*TASKS, *GROUPS, "theory")  # the last is no task with runs, but a name of the command


def find_tasks(names: Iterable[str]) -> list[Task]:
    """Return the tasks of these names and groups, each once, in the order of the table.

    >>> [task.name for task in find_tasks(["pos-upos", "chunking"])]
    ['chunking', 'pos-upos']
    >>> find_tasks(["chunkin"])
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: unknown task 'chunkin'; did you mean 'chunking'?
    """
    wanted: set[str] = set()
    for name in names:
        if name not in TASKS and name not in GROUPS:
            raise SapoError(f"unknown task '{name}'{did_you_mean(name, KNOWN)}")
        wanted.update(GROUPS.get(name, (name,)))
    return [task for name, task in TASKS.items() if name in wanted]
