"""sapo export: write a page that tags text in a browser, without a server."""

import base64
import re
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sapo.cli.options import quiet_option, refuse_same_file, tell_saved
from sapo.cli.pages import whole_page, write_page
from sapo.errors import ModelError, OptionError

if TYPE_CHECKING:
    from sapo.tagger.model import Model

EXAMPLE = "Write or paste text here."


@click.command("export")
@click.argument("model")
@click.option(
    "--html", "page", metavar="PAGE", help="Write a page with the model inside, which tags text in a browser."
)
@click.option("--text", metavar="TEXT", help="The text that the page shows first.")
@quiet_option
def export_command(model: str, page: str | None, text: str | None, quiet: bool) -> None:
    """Write a model as a page that tags text in any browser.

    sapo export ner.sapo --html page.html

    The page needs no server and asks for nothing: the model and its reader (sapo.js) are inside.
    """
    from sapo.corpus.files import check_writable
    from sapo.tagger.file import load_model, model_bytes
    from sapo.tagger.text import check_words_only

    if page is None:
        raise OptionError("say what to write: --html page.html")
    refuse_same_file({"MODEL": model}, {"--html": page})
    check_writable(page)
    loaded = load_model(model)
    refuse_unreadable(loaded)
    check_words_only(loaded)
    write_page(page, tagging_page(model_bytes(loaded), Path(model).name, text or EXAMPLE))
    if not quiet:
        tell_saved(page)


def refuse_unreadable(model: "Model") -> None:
    """Raise SapoError if sapo.js cannot read the model."""
    from sapo.features.encoder import TemplateEncoder

    encoder = model.encoder
    if not isinstance(encoder, TemplateEncoder):
        raise ModelError(f"a page cannot use a model of kind '{encoder.kind}'; train one with templates")
    knowledge = encoder.templates.knowledge
    others = [name for name, source in knowledge.columns.items() if source.kind != "names"]
    if knowledge.vectors is not None:
        others.append("vectors")
    if others:
        raise ModelError(f"a page cannot use {', '.join(others)}; train the model without clusters and vectors")


def reader_source() -> str:
    """Return sapo.js: a reader of model files in JavaScript."""
    return files("sapo.cli").joinpath("reader", "sapo.js").read_text("utf-8")


def tagging_page(model: bytes, name: str, text: str) -> str:
    """Return a page that has a model inside, and tags what is written into it."""
    parts = {
        "name": escape(name),
        "text": escape(text),
        "model": base64.b64encode(model).decode("ascii"),
        "reader": reader_source(),
    }
    body = files("sapo.cli").joinpath("reader", "page.html").read_text("utf-8")
    # one pass: what is put in may contain braces itself
    return whole_page(f"Tag text: {name}", re.sub(r"{{(\w+)}}", lambda found: parts[found[1]], body))
