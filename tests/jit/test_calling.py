"""Kernels can be imported by name, since all modules of the package get their compiled form when it is made."""

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import sapo
from sapo import jit
from sapo.jit import cache
from sapo.search.decoding import best_path
from sapo.search.topn import find_top_n

SOURCE = Path(sapo.__file__).parent


def module_of(path: Path) -> str:
    return ".".join(("sapo", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


def kernels_of(tree: ast.Module) -> set[str]:
    """The names of the functions that a module decorates with @kernel."""
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(mark, ast.Name) and mark.id == "kernel" for mark in node.decorator_list)
    }


KERNELS = {module_of(path): kernels_of(ast.parse(path.read_text("utf-8"))) for path in cache.kernel_files()}


def kernel_names(tree: ast.Module, module: str) -> set[str]:
    """The names by which a module knows kernels: its own, and those that it imports."""
    imported = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if name.name in KERNELS.get(node.module or "", ())
    }
    return imported | KERNELS.get(module, set())


def looked_up_on_import(node: ast.AST) -> Iterator[ast.Name]:
    """The names that are looked up when a module is imported: all but those in the bodies of functions."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                yield from looked_up_on_import(default)
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from looked_up_on_import(child)


def hidden_kernels(text: str, module: str) -> list[str]:
    """Each place where a kernel is kept in something else than an attribute of a module."""
    tree = ast.parse(text)
    names = kernel_names(tree, module)
    return [f"{module}:{found.lineno}: {found.id}" for found in looked_up_on_import(tree) if found.id in names]


def test_no_kernel_hides_in_a_partial_a_dictionary_or_a_default_argument() -> None:
    paths = sorted(SOURCE.rglob("*.py"))
    assert not [place for path in paths for place in hidden_kernels(path.read_text("utf-8"), module_of(path))]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("SEARCHES = {'topn': find_top_n}", True),
        ("search = partial(find_top_n, n=5)", True),
        ("def search(lattice, by=find_top_n):\n    return by(lattice)", True),
        ("class Search:\n    by = find_top_n", True),
        ("def search(lattice):\n    return find_top_n(lattice)", False),
        ("def search(lattice):\n    return partial(find_top_n, lattice)", False),
    ],
)
def test_the_look_for_hidden_kernels_finds_what_it_should(text: str, wrong: bool) -> None:
    text = f"from sapo.search.topn import find_top_n\n{text}"
    assert bool(hidden_kernels(text, "sapo.example")) == wrong


def test_the_kernels_run_as_asked(kernel_mode: str) -> None:
    assert len(KERNELS) > 15
    for module, names in KERNELS.items():
        loaded = import_module(module)
        for name in names:
            assert inspect.isfunction(getattr(loaded, name)) == (kernel_mode == "interpreted"), f"{module}.{name}"


def test_kernels_that_kernels_call_are_swapped_too() -> None:
    assert best_path is import_module("sapo.search.viterbi").best_path


def test_compiling_twice_changes_nothing(kernel_mode: str) -> None:
    if kernel_mode == "interpreted":
        pytest.skip("would compile")
    before = find_top_n
    jit.compile_kernels()
    jit.prepare(tokens=1_000_000)
    assert find_top_n is before


def test_little_work_leaves_interpreted_kernels_as_they_are(kernel_mode: str) -> None:
    jit.prepare(tokens=1, pairs=4)
    assert jit.compiled() == (kernel_mode != "interpreted")
