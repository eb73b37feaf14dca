"""Count what a reader of the package has to hold in mind: python tools/house.py [--json | --files | --tree | --lower]

    --json    print the figures as JSON
    --files   print the files of each walk, in the order they are met
    --tree    write what each file is for into docs/explanation/architecture.md, from the docstrings
    --lower   set the limits in tests/test_house.py to the figures that are lower; no limit is ever raised

Every file below src/sapo counts. A walk is the files whose functions run while a job is done, with interpreted kernels,
since compiled ones call each other unseen. Code that runs while a module is imported is not part of a walk.
"""

import argparse
import ast
import contextlib
import inspect
import io
import json
import os
import pkgutil
import re
import sys
import tempfile
import threading
import tomllib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "sapo"
PAGE = ROOT / "docs" / "explanation" / "architecture.md"
LIMITS_FILE = ROOT / "tests" / "test_house.py"
LIMIT = re.compile(r'^    "(?P<name>.+)": (?P<limit>\d+),$', re.MULTILINE)  # a line of LIMITS
SHORT = 60  # lines; a file below this usually belongs to its caller
SENTENCES = [(["the", "dog", "barks"], ["DT", "NN", "VBZ"]), (["a", "cat", "sleeps"], ["DT", "NN", "VBZ"])]
NEW = [(["the", "bird", "sings"], ["DT", "NN", "VBZ"])]


def main() -> None:
    """Print the figures and their limits, or lower the limits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--json", action="store_true")
    choice.add_argument("--files", action="store_true")
    choice.add_argument("--tree", action="store_true")
    choice.add_argument("--lower", action="store_true")
    asked = parser.parse_args()
    if asked.tree:
        PAGE.write_text(with_tree(PAGE.read_text("utf-8"), PACKAGE), "utf-8")
        return
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # before sapo is imported
    sys.path.insert(0, str(PACKAGE.parent))
    walks = walk_jobs()
    figures = source_figures(PACKAGE) | api_figures() | {f"files of {job}": len(walks[job]) for job in walks}
    if asked.json:
        print(json.dumps(figures, indent=1))
    elif asked.files:
        for job, files in walks.items():
            print(f"{job}: {' → '.join(files)}\n")
    else:
        text = LIMITS_FILE.read_text("utf-8")
        if asked.lower:
            text = lowered(text, figures)
            LIMITS_FILE.write_text(text, "utf-8")
        limits = {found["name"]: found["limit"] for found in LIMIT.finditer(text)}
        for name, figure in figures.items():
            print(f"{name:<45}{figure:>7}   at most {limits.get(name, '?'):>6}")


def with_tree(page: str, package: Path) -> str:
    """Return the page with a table of all files: each with the first sentence of its docstring."""
    rows = ["| file | what it is for |", "|---|---|"]
    for path in sorted(package.rglob("*.py")):
        summary = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition("\n\n")[0]
        rows.append(f"| `{path.relative_to(package).as_posix()}` | {' '.join(summary.split())} |")
    before, _, rest = page.partition("<!-- tree:")
    comment, _, rest = rest.partition("-->\n")
    _, _, after = rest.partition("\n## ")
    return f"{before}<!-- tree:{comment}-->\n\n" + "\n".join(rows) + f"\n\n## {after}"


def lowered(text: str, figures: Mapping[str, int]) -> str:
    """Return the text of the test with each limit that is above its figure set to the figure."""

    def lower(found: re.Match[str]) -> str:
        limit = int(found["limit"])
        return f'    "{found["name"]}": {min(limit, figures.get(found["name"], limit))},'

    return LIMIT.sub(lower, text)


def source_figures(package: Path) -> dict[str, int]:
    """Count rooms, files, lines and habits in the source of a package."""
    texts = {path: path.read_text("utf-8") for path in sorted(package.rglob("*.py"))}
    trees = {module_name(path, package): ast.parse(text) for path, text in texts.items()}
    lines = {path: text.count("\n") for path, text in texts.items()}
    importers: defaultdict[str, set[str]] = defaultdict(set)
    homes: defaultdict[str, set[str]] = defaultdict(set)  # the modules that define a public class of this name
    any_options = in_out = 0
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for name in imported(node, trees):
                    importers[name].add(module)
            elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(module)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.args.kwarg is not None:
                annotation = node.args.kwarg.annotation
                any_options += annotation is not None and ast.unparse(annotation) == "Any"
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                summary = (ast.get_docstring(node) or "").partition("\n\n")[0]
                in_out += re.search(r"\bin[,;:].*\bout\b", summary, re.DOTALL) is not None
    rooms = {path.relative_to(package).parts[0] for path in texts} - {"__init__.py", "__main__.py"}
    return {
        "rooms": len(rooms),
        "files": len(texts),
        "lines": sum(lines.values()),
        f"files under {SHORT} lines": sum(
            count < SHORT and path.name != "__init__.py" for path, count in lines.items()
        ),
        "modules with one importer": sum(len(importers[module]) == 1 for module in trees),
        "class names used twice": sum(len(modules) > 1 for modules in homes.values()),
        "functions with **x: Any": any_options,
        "docstrings 'X in, Y out'": in_out,
    }


def module_name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(node: ast.Import | ast.ImportFrom, modules: Collection[str]) -> Iterator[str]:
    """Return the modules that a statement imports; `from a import b` is a.b if that is a module, else a."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            yield alias.name
        else:
            name = f"{node.module}.{alias.name}"
            yield name if name in modules else str(node.module)


def api_figures() -> dict[str, int]:
    """Count the names, options and arguments that users see."""
    import click

    import sapo
    from sapo.cli.main import app

    options = [one for one in app.commands["train"].params if isinstance(one, click.Option)]
    return {
        "names of sapo.__all__": len(sapo.__all__),
        "public names of Tagger": sum(not name.startswith("_") for name in dir(sapo.Tagger)),
        "options of sapo train": len(options),
        "arguments of SequenceLabeler": len(inspect.signature(sapo.SequenceLabeler).parameters),
    }


def walk_jobs() -> dict[str, list[str]]:
    """Return the files of the walk of each job."""
    import sapo

    with tempfile.TemporaryDirectory() as directory:
        room = Path(directory)
        labeled, plain, model = room / "train.txt", room / "plain.txt", room / "model.sapo"
        blocks = ["".join(f"{word} {tag}\n" for word, tag in zip(*pair, strict=True)) for pair in SENTENCES]
        labeled.write_text("\n".join(blocks), "utf-8")
        plain.write_text("the\nbird\nsings\n\nsing\n!\n", "utf-8")
        walks = {"sapo train FILE": walk(lambda: command("train", labeled, "-o", model))}
        walks["sapo tag MODEL FILE"] = walk(lambda: command("tag", model, plain, "-o", room / "tagged.txt"))
        walks["sapo.train"] = walk(lambda: sapo.train(SENTENCES))
        tagger = sapo.Tagger.load(model)
    walks["Tagger.tag"] = walk(lambda: tagger.tag(NEW[0][0]))
    trainer = sapo.Trainer(tagger)
    walks["Trainer.update"] = walk(lambda: trainer.update(NEW))
    return walks


def command(*arguments: object) -> None:
    """Run the command `sapo` in this process; it must succeed."""
    entry = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]["sapo"]
    run: Callable[[], None] = pkgutil.resolve_name(entry)
    sys.argv = ["sapo", *map(str, arguments)]
    shown = io.StringIO()
    try:
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
            run()
    except SystemExit as end:
        if end.code:
            sys.exit(f"{' '.join(sys.argv)} failed: {shown.getvalue()}")


def walk(job: Callable[[], object]) -> list[str]:
    """Do a job and return the files of the package whose functions ran, in the order they are met."""
    files: dict[str, None] = {}
    local = threading.local()

    def note(frame: FrameType, event: str, _: object) -> None:
        importing: list[bool] = vars(local).setdefault("importing", [False])  # for each call that is running
        if event == "return" and len(importing) > 1:
            importing.pop()
        elif event == "call":
            importing.append(importing[-1] or frame.f_code.co_name == "<module>")
            path = Path(frame.f_globals.get("__file__") or "")  # right for code that a dataclass has generated, too
            if not importing[-1] and path.is_relative_to(PACKAGE):
                files[path.relative_to(PACKAGE).as_posix()] = None

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        job()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(files)


if __name__ == "__main__":
    main()
