"""Who may call a kernel and how: through its module, so that it can be swapped for its compiled form."""

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import sapo
from sapo import kernels
from sapo.kernels import tagging, topn

SOURCE = Path(sapo.__file__).parent
KERNEL_MODULES = sorted(path.stem for path in (SOURCE / "kernels").glob("[!_]*.py"))


def kernel_functions(module: str) -> set[str]:
    """The names that a kernel module decorates with @kernel."""
    tree = ast.parse((SOURCE / "kernels" / f"{module}.py").read_text("utf-8"))
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(mark, ast.Name) and mark.id == "kernel" for mark in node.decorator_list)
    }


def uses_of_kernels(tree: ast.AST) -> Iterator[str]:
    """Each place where a kernel function is imported by name, or looked up in its module without being called."""
    modules: dict[str, str] = {}  # the name in this file, and the kernel module it stands for
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("kernels"):
            modules.update((name.asname or name.name, name.name) for name in node.names if name.name in KERNEL_MODULES)
        elif isinstance(node, ast.ImportFrom) and "kernels." in (node.module or ""):
            functions = kernel_functions((node.module or "").rsplit(".", 1)[1])
            yield from (f"line {node.lineno}: {name.name}" for name in node.names if name.name in {*functions, "*"})
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {id(node.func) for node in calls}
    called |= {id(node.args[0]) for node in calls if ast.unparse(node.func) == "background.call"}  # which calls it now
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            if node.attr in kernel_functions(modules[node.value.id]) and id(node) not in called:
                yield f"line {node.lineno}: {node.value.id}.{node.attr}"


def files_outside_kernels() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if path.parent.name != "kernels"]


def test_no_file_outside_holds_a_kernel_by_name() -> None:
    found = {
        str(path.relative_to(SOURCE)): places
        for path in files_outside_kernels()
        if (places := list(uses_of_kernels(ast.parse(path.read_text("utf-8")))))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("from sapo.kernels.topn import top_n", True),
        ("from sapo.kernels.topn import top_n as search", True),
        ("from sapo.kernels.topn import *", True),
        ("from sapo.kernels import topn\nsearch = topn.top_n", True),
        ("from sapo.kernels import topn as t\nn = t.top_n()", False),
        ("from sapo.kernels.types import Ints", False),
        ("from sapo.kernels import sapo\nx = sapo.LOSS", False),
    ],
)
def test_the_look_at_imports_sees_what_it_should(text: str, wrong: bool) -> None:
    assert bool(list(uses_of_kernels(ast.parse(text)))) == wrong


def test_only_one_file_imports_numba() -> None:
    importers = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] == "numba" for name in names):
                importers.add(str(path.relative_to(SOURCE)))
    assert importers == {"kernels/_compiler.py"}


def test_the_kernels_run_as_asked(kernel_mode: str) -> None:
    for module in KERNEL_MODULES:
        loaded = import_module(f"sapo.kernels.{module}")
        for name in kernel_functions(module):
            assert inspect.isfunction(getattr(loaded, name)) == (kernel_mode == "interpreted"), f"{module}.{name}"


def test_kernels_that_kernels_call_are_swapped_too() -> None:
    assert tagging.best_path is import_module("sapo.kernels.viterbi").best_path


def test_compiling_twice_changes_nothing(kernel_mode: str) -> None:
    if kernel_mode == "interpreted":
        pytest.skip("would compile")
    before = topn.top_n
    kernels.compile_kernels()
    kernels.prepare(tokens=1_000_000)
    assert topn.top_n is before


def test_little_work_leaves_interpreted_kernels_as_they_are(kernel_mode: str) -> None:
    kernels.prepare(tokens=1, pairs=4)
    assert kernels.compiled() == (kernel_mode != "interpreted")
