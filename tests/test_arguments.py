"""Functions take few arguments, and commands are short: they parse, and somebody else does the work."""

import ast
from collections.abc import Iterator
from pathlib import Path

import sapo

PACKAGE = Path(sapo.__file__).parent
MOST_ARGUMENTS = 10
LONGEST_COMMAND = 60  # lines, without decorators

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> Iterator[tuple[str, Function]]:
    """Return every function and method of the package, as room/file.py:name."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, Function):
                yield f"{path.relative_to(PACKAGE).as_posix()}:{node.name}", node


def arguments(function: Function) -> list[str]:
    """Return the names of the arguments; *args and **options are none of them, nor are self and cls."""
    found = function.args
    names = [argument.arg for argument in (*found.posonlyargs, *found.args, *found.kwonlyargs)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def is_command(place: str, function: Function) -> bool:
    """Whether click calls the function: a decorator is click.command(...), or the command(...) of a group."""
    made = [node.func for node in function.decorator_list if isinstance(node, ast.Call)]
    return place.startswith("cli/") and any(isinstance(node, ast.Attribute) and node.attr == "command" for node in made)


def is_estimator(place: str) -> bool:
    """Whether this is a constructor for scikit-learn, whose parameters must be arguments."""
    return place.startswith("sklearn/") and place.endswith(":__init__")


def test_no_function_has_too_many_arguments() -> None:
    many = {
        place: len(arguments(function))
        for place, function in functions()
        if len(arguments(function)) > MOST_ARGUMENTS and not is_command(place, function) and not is_estimator(place)
    }
    assert not many


def test_no_command_is_long() -> None:
    commands = {place: function for place, function in functions() if is_command(place, function)}
    assert len(commands) > 10
    lines = {place: (function.end_lineno or 0) - function.lineno + 1 for place, function in commands.items()}
    assert not {place: count for place, count in lines.items() if count > LONGEST_COMMAND}
