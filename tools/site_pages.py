"""What `mkdocs build` adds: the reference of the command line, links out of docs/ as plain text, and a page that tags.

`python tools/site_pages.py` writes the tables of options into the pages that have one.
"""

import re
import sys
from pathlib import Path, PurePosixPath
from typing import Any

import click

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)([^)#\s]+)(#[^)]*)?\)")
TABLE = re.compile(r"(<!-- options: (\w+)[^>]*-->\n\n)(?:\|.*\n)*")
COMMAND_LINE = "reference/command-line.md"
TRIED = (
    "Mr. Whitcombe sold his stake in Brandt Aerospace and moved to Iceland. Sanna Koskela lives in the town of Halden."
)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in the page of the command line; name files outside of docs/, which the site does not have."""
    if page.file.src_uri == COMMAND_LINE:
        return markdown + "\n" + command_line()
    return LINK.sub(lambda link: _inside(link, PurePosixPath(page.file.src_uri).parent), markdown)


def on_post_build(config: Any, **_: Any) -> None:
    """Write what the page "Try it in the browser" shows: the sample's model, with its reader, and the reader alone."""
    sys.path.insert(0, str(ROOT / "src"))
    from sapo import train
    from sapo.cli.export import reader_source, tagging_page
    from sapo.corpus.sample import COLUMNS, sample_path
    from sapo.tagger.file import model_bytes

    tagger = train(sample_path("train"), columns=COLUMNS, label="entity", template="ner", rate=0.1, strength=1.0)
    target = Path(config["site_dir"])
    page = tagging_page(model_bytes(tagger.model), "sample.sapo", TRIED)
    (target / "tag-text.html").write_text(page, "utf-8")
    (target / "sapo.js").write_text(reader_source(), "utf-8")


def _inside(link: re.Match[str], directory: PurePosixPath) -> str:
    text, target, _ = link.groups()
    place = (ROOT / "docs" / directory / target).resolve()
    if place.is_relative_to(ROOT / "docs") or not place.exists():
        return link[0]
    name = f"`{place.relative_to(ROOT).as_posix()}`"
    return name if text.strip("`") == name.strip("`") else f"{text} ({name})"


def command_line() -> str:
    """Return the reference of all commands as Markdown, made from their parsers."""
    sys.path.insert(0, str(ROOT / "src"))  # the commands of this clone, not those of an installed package
    from sapo.cli.main import app

    return "\n".join(_command(app, "sapo", None))


def _command(command: click.Command, path: str, parent: click.Context | None) -> list[str]:
    context = click.Context(command, info_name=path.split()[-1], parent=parent, **command.context_settings)
    lines: list[str] = []
    if parent is not None:
        usage = " ".join([path, *command.collect_usage_pieces(context)])
        lines += [f"{'#' * len(path.split())} {path}", "", f"    {usage}", ""]
        for paragraph in _paragraphs(command.help or ""):
            lines += [f"    {paragraph}" if paragraph.startswith("sapo ") else _escaped(paragraph), ""]
        lines += _options(command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None and not found.hidden:
                lines += _command(found, f"{path} {name}", context)
    return lines


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip()) if part.strip()]


def _options(command: click.Command, context: click.Context) -> list[str]:
    options = [param for param in command.get_params(context) if isinstance(param, click.Option)]
    rows = [option.get_help_record(context) for option in options]
    shown = [row for row in rows if row is not None]
    if not shown:
        return []
    cells = [f"| `{name.replace('|', chr(92) + '|')}` | {_escaped(' '.join(text.split()))} |" for name, text in shown]
    return ["| option | meaning |", "|---|---|", *cells, ""]


def with_options(page: str) -> str:
    """Return a page with the tables of options that its comments ask for, made from the declarations."""
    return TABLE.sub(lambda found: f"{found[1]}{options_table(found[2])}", page)


def options_table(name: str) -> str:
    """Return the options that a dataclass declares as a table."""
    sys.path.insert(0, str(ROOT / "src"))
    from sapo.learn.settings import Settings, options_of
    from sapo.neural.options import NeuralOptions

    rows = ["| setting | default | meaning |", "|---|---|---|"]
    for setting, option in options_of({"Settings": Settings, "NeuralOptions": NeuralOptions}[name]).items():
        default = "auto" if option.auto else "" if option.default is None else str(option.default).lower()
        rows.append(f"| `{setting}` | {default} | {_escaped(option.help)} |")
    return "\n".join(rows) + "\n"


def _escaped(text: str) -> str:
    """Keep what Markdown would take for markup."""
    return re.sub(r"([\\`*_<>|\[\]])", r"\\\1", text)


if __name__ == "__main__":
    for path in (ROOT / "docs").rglob("*.md"):
        if (page := path.read_text("utf-8")) != with_options(page):
            path.write_text(with_options(page), "utf-8")
