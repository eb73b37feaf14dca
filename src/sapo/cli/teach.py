"""sapo teach: teach a tagger on a page in the browser."""

from collections.abc import Callable
from pathlib import Path

import click

from sapo.cli.options import announce_compiling, quiet_option, split_names, tell
from sapo.cli.train import names_option, parse_names
from sapo.errors import OptionError


@click.command("teach")
@click.argument("files", nargs=-1, required=True, metavar="TEXT... | PROJECT")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="PROJECT", help="The project to make.")
@click.option("--labels", metavar="NAMES", help="Labels to begin with, as PER,ORG,LOC. The page can add more.")
@click.option(
    "--tags", is_flag=True, help="Each token gets one label, as in part-of-speech tagging. Default: spans of tokens."
)
@click.option("--model", metavar="MODEL", help="Begin with this model.")
@click.option("--annotated", multiple=True, metavar="FILE", help="Begin with the sentences of this labeled file.")
@names_option
@click.option(
    "--format", metavar="NAME", help="Format of the texts, or of the file to import or export. Default: see the docs."
)
@click.option("--import", "imported", metavar="FILE", help="Add the sentences of a labeled file to PROJECT, and exit.")
@click.option("--export", "exported", metavar="FILE", help="Write the accepted sentences of PROJECT, and exit.")
@click.option("--author", metavar="NAME", help="Author of the imported annotations. Default: the name of the file.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; 0.0.0.0 for all addresses.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="0 for any free port.")
@click.option("--token", is_flag=True, help="Ask for a token, which is part of the printed address.")
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@quiet_option
def teach_command(
    files: tuple[str, ...],
    output: Path | None,
    labels: str | None,
    tags: bool,
    model: str | None,
    annotated: tuple[str, ...],
    names: tuple[str, ...],
    format: str | None,
    imported: str | None,
    exported: str | None,
    author: str | None,
    host: str,
    port: int,
    token: bool,
    no_browser: bool,
    quiet: bool,
) -> None:
    """Teach a tagger on a page in the browser.

    sapo teach notes.txt -o notes.teach --labels PER,ORG,LOC

    Read a text, correct what the model says, and press Enter: it learns each sentence at once. The project is one
    file; sapo teach notes.teach opens it again, and sapo teach notes.teach --export notes.jsonl writes what you
    accepted.

    docs/how-to/teaching.md has more.
    """
    say = (lambda line: None) if quiet else tell
    serving = not (imported or exported)
    if serving:  # before a project is made
        from sapo.apps.limits import need_extra

        need_extra("sapo teach")
    if output is not None:
        from sapo.apps.teach.project import make_project

        begin = [name for name in split_names(labels) or () if name]
        kind, lists = "tags" if tags else None, parse_names(names)
        make_project(output, files, begin, kind=kind, model=model, annotated=annotated, format=format, names=lists)
    elif len(files) > 1 or labels or tags or model or annotated or names:
        raise OptionError("give the project to make: sapo teach TEXT... -o PROJECT")
    project = output or Path(files[0])
    if not serving:
        _exchange(project, imported, exported, format, author, say)
        return
    from sapo.apps.teach.app import teach

    announce_compiling(quiet)
    try:
        teach(project, host=host, port=port, token=token, browser=not no_browser, say=say)
    except KeyboardInterrupt:
        say(f"sapo: everything that was accepted is in {project}; to export it: sapo teach {project} --export FILE")
        raise


def _exchange(
    project: Path,
    imported: str | None,
    exported: str | None,
    format: str | None,
    author: str | None,
    say: Callable[[str], None],
) -> None:
    """Import and export labeled files."""
    from sapo.apps.teach.project import export_file, import_file
    from sapo.apps.teach.store import Store

    store = Store(project)
    try:
        if imported:
            count, new = import_file(store, imported, format, author)
            say(f"{count:,} sentences imported, {new:,} of them new to the project")
        if exported:
            count = export_file(store, exported, format)
            say(f"{count:,} accepted sentences written to {exported}")
    finally:
        store.close()
