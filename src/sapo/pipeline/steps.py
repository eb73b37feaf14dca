"""What a step of a pipeline is, and how it is written: `pos=pos.sapo` or `pos=train.txt,more.txt`."""

from dataclasses import dataclass
from pathlib import Path

from sapo.corpus import LABEL
from sapo.errors import SapoError

MODEL = ".sapo"  # how the name of a model ends


@dataclass(frozen=True, slots=True)
class ReadyStep:
    """A column that a trained model adds."""

    column: str
    model: str | Path


@dataclass(frozen=True, slots=True)
class TrainedStep:
    """A column that a model adds which is trained on the spot, on these files."""

    column: str
    files: tuple[str | Path, ...]
    template: str | Path | None = None  # a preset or a file; by default what suits the tags


Step = ReadyStep | TrainedStep


def parse_step(text: str, template: str | None = None) -> Step:
    """A step as it is written on the command line: a name that ends in .sapo is a model, others are training files.

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
    """Every step adds a column of its own."""
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
