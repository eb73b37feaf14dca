"""The steps of a pipeline, as values and as text: `pos=pos.sapo` or `pos=train.txt,more.txt`."""

from dataclasses import dataclass
from pathlib import Path

from sapo.corpus import LABEL
from sapo.errors import SapoError

MODEL = ".sapo"  # the file extension of models


@dataclass(frozen=True, slots=True)
class ReadyStep:
    """Add a column with a model that is trained already.

    >>> ReadyStep("pos", "pos.sapo").column
    'pos'
    """

    column: str
    model: str | Path


@dataclass(frozen=True, slots=True)
class TrainedStep:
    """Add a column with a model that the pipeline trains on these files.

    >>> TrainedStep("pos", ("train.txt",), template="pos").files
    ('train.txt',)
    """

    column: str
    files: tuple[str | Path, ...]
    template: str | Path | None = None  # a preset or a file; default: the preset that suits the tags


Step = ReadyStep | TrainedStep


def parse_step(text: str, template: str | None = None) -> Step:
    """Return the step that is written as on the command line.

    A file that ends in .sapo is a model; other files are training data. Raises SapoError if the text is not a step.

    >>> parse_step("pos=pos.sapo")
    ReadyStep(column='pos', model='pos.sapo')
    >>> parse_step("chunk=a.txt,b.txt.gz").files
    ('a.txt', 'b.txt.gz')
    """
    column, equals, value = text.partition("=")
    names = [name.strip() for name in value.split(",")]
    if not equals or not all(names):
        raise SapoError(f"a step is column=model.sapo or column=file,file, not '{text}'")
    models = [name for name in names if name.endswith(MODEL)]
    if not models:
        return TrainedStep(column.strip(), tuple(names), template)
    if len(names) > 1:
        raise SapoError(f"the step '{text}' has a model beside other files; give one model, or files to train on")
    if template is not None:
        raise SapoError(f"the step '{text}' has a ready model and takes no template")
    return ReadyStep(column.strip(), models[0])


def check_names(steps: tuple[Step, ...], columns: tuple[str, ...], source: str) -> None:
    """Raise SapoError unless every step adds a new column with a valid name."""
    have = list(columns)
    for step in steps:
        if not step.column.isidentifier() or step.column == LABEL:
            raise SapoError(
                f"a column cannot be called '{step.column}'; use letters, digits and _, and not '{LABEL}', "
                "which is the gold tag"
            )
        if step.column in have:
            there = source if step.column in columns else "the pipeline"
            raise SapoError(f"{there}: has a column '{step.column}' already; give the step another name")
        have.append(step.column)
