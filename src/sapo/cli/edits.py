"""sapo edits: learn to turn strings into strings, such as words into lemmas, and do it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from sapo.cli.options import Ticker, announce_compiling, counted, quiet_option, refuse_same_file, tell
from sapo.errors import DataError, OptionError

if TYPE_CHECKING:
    from sapo.tagger.edits import EditItem

CONLLU = (".conllu", ".conllu.gz")
FORM, LEMMA, WIDTH = 1, 2, 10  # columns of CoNLL-U
CONTEXT = {"upos": 3, "xpos": 4, "feats": 5}

context_option = click.option(
    "--context",
    default="upos,feats",
    show_default=True,
    metavar="COLUMNS",
    help="CoNLL-U: the columns that are known: upos, xpos, feats, or none.",
)


@click.group("edits")
def edits_command() -> None:
    """Turn strings into strings: lemmas, pronunciations, spellings.

    sapo edits train pairs.tsv -o lemmas.sapo

    sapo edits apply lemmas.sapo words.tsv

    A line of pairs.tsv is a form, what is known about it (any number of columns, such as a part of speech), and the
    output, separated by tabs. A file that ends in .conllu or .conllu.gz has words and lemmas.
    """


@edits_command.command("train")
@click.argument("pairs", metavar="FILE")
@click.option("--output", "-o", default="edits.sapo", show_default=True, metavar="FILE", help="Where to write.")
@context_option
@click.option("--seed", default=0, show_default=True, help="Fixes everything that is random.")
@quiet_option
def train_command(pairs: str, output: str, context: str, seed: int, quiet: bool) -> None:
    """Learn from forms with their outputs. A pair that occurs often may be repeated, as in running text."""
    from sapo.corpus.files import check_writable
    from sapo.training.edits import train_edits

    refuse_same_file({"the pairs": pairs}, {"-o": output})
    check_writable(output)
    items = [item for _, item in _read(pairs, context, labeled=True) if item is not None]
    announce_compiling(quiet)
    ticker = Ticker(quiet)
    model = train_edits(items, seed=seed, progress=ticker.tell)
    ticker.end()
    model.save(output)
    if not quiet:
        edits = len(model.chain.edits) if model.chain else 0
        tell(f"{counted(edits, 'edit')} of {counted(len(items), 'pair')} written to {output}")


@edits_command.command("apply")
@click.argument("model")
@click.argument("forms", metavar="FILE")
@click.option("--output", "-o", default="-", metavar="FILE", help="Where to write; - for standard output.")
@click.option("--nbest", type=click.IntRange(1), metavar="N", help="The N best outputs, each with its probability.")
@context_option
def apply_command(model: str, forms: str, output: str, nbest: int | None, context: str) -> None:
    """Add the output to each line of a TSV file, or fill the lemmas of a CoNLL-U file.

    With --nbest, N outputs and their probabilities are added. These are over the candidates that the model compared.
    """
    from sapo.corpus.files import check_writable, write_file
    from sapo.tagger.edits import EditModel

    if nbest is not None and _is_conllu(forms):
        raise OptionError("CoNLL-U has room for one lemma; use `nbest` with a TSV file")
    refuse_same_file({"the model": model, "the forms": forms}, {"-o": output})
    check_writable(output)
    edits = EditModel.load(model)
    lines = list(_read(forms, context, labeled=False))
    outputs = iter(edits.predict_many(item for _, item in lines if item is not None) if nbest is None else [])
    with write_file(output) as stream:
        for line, item in lines:
            fields = line.split("\t")
            if item is not None and nbest is not None:
                fields += [text for one in edits.nbest(item, nbest) for text in (one.text, f"{one.probability:.6f}")]
            elif item is not None and _is_conllu(forms):
                fields[LEMMA] = next(outputs) or "_"
            elif item is not None:
                fields.append(next(outputs))
            stream.write(("\t".join(fields) + "\n").encode())


def _is_conllu(path: str) -> bool:
    return path.lower().endswith(CONLLU)


def _read(path: str, context: str, *, labeled: bool) -> "Iterator[tuple[str, EditItem | None]]":
    """Yield each line, with its item if it has one."""
    from sapo.corpus.files import check_utf8, show_path
    from sapo.corpus.scanner import read_lines
    from sapo.tagger.edits import EditItem

    name, columns, conllu = show_path(path), _columns(context), _is_conllu(path)
    for number, data in read_lines(path, "write one form a line"):
        check_utf8(data, name, number)
        line = data.decode().rstrip("\r")
        fields = line.split("\t")
        if not line or (conllu and (line.startswith("#") or not fields[0].isdecimal())):
            yield line, None  # blank lines, comments, multiword tokens and empty nodes
            continue
        if conllu and len(fields) != WIDTH:
            raise DataError(f"{name}:{number}: expected {WIDTH} columns, found {len(fields)} ({line!r:.60})")
        if labeled and not conllu and len(fields) < 2:
            raise DataError(f"{name}:{number}: expected a form, a tab and its output, found {line!r:.60}")
        form = fields[FORM if conllu else 0]
        if labeled and not form:
            raise DataError(f"{name}:{number}: the form is empty; leave the line out")
        if conllu:
            yield line, EditItem(form, tuple(fields[column] for column in columns), fields[LEMMA])
        else:
            known = fields[1:-1] if labeled else fields[1:]
            yield line, EditItem(form, tuple(known), fields[-1] if labeled else None)


def _columns(context: str) -> list[int]:
    names = [] if context == "none" else context.lower().split(",")
    unknown = [name for name in names if name not in CONTEXT]
    if unknown:
        raise OptionError(f"`context` takes {', '.join(CONTEXT)}, or none, not '{unknown[0]}'")
    return [CONTEXT[name] for name in names]
