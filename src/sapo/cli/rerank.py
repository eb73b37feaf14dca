"""sapo rerank: learn which of several given candidates is right, and rank candidates."""

import json

import click

from sapo.cli.options import Ticker, announce_compiling, counted, quiet_option, refuse_same_file, tell


@click.group("rerank")
def rerank_command() -> None:
    """Rank candidates that another program proposed.

    sapo rerank train lists.jsonl -o ranker.sapo

    sapo rerank apply ranker.sapo new.jsonl -o ranked.jsonl

    A line of the data is an object with a list of candidates, each with features. docs/how-to/rerank.md shows how to
    make such lists.
    """


@rerank_command.command("train")
@click.argument("lists", metavar="LISTS")
@click.option("--output", "-o", default="reranker.sapo", show_default=True, metavar="FILE", help="Where to write.")
@click.option("--epochs", "-e", type=int, metavar="N", help="Epochs (passes over the lists). Default: 10.")
@click.option("--seed", default=0, show_default=True, help="Fixes everything that is random.")
@quiet_option
def train_command(lists: str, output: str, epochs: int | None, seed: int, quiet: bool) -> None:
    """Learn to rank from lists whose right candidate is known.

    LISTS is a JSONL file: {"candidates": [{"features": ...}, ...], "gold": 0} on each line. Features are a list of
    names, or an object of names with numbers. "gold" is the place of the right candidate, or null if none is right.
    """
    from dataclasses import replace

    from sapo import jit
    from sapo.corpus.files import check_writable
    from sapo.training.rerank import SETTINGS, read_lists, train_reranker

    refuse_same_file({"the lists": lists}, {"-o": output})
    check_writable(output)
    settings = replace(SETTINGS, seed=seed, epochs=SETTINGS.epochs if epochs is None else epochs)
    given = [one for one, _ in read_lists(lists)]
    jit.prepare(tokens=sum(len(one.features) for one in given))
    announce_compiling(quiet)
    ticker = Ticker(quiet)
    model = train_reranker(
        given, settings=settings, watch=lambda epoch, done, of: ticker.tell(f"epoch {epoch}: {done:,} of {of:,} lists")
    )
    ticker.end()
    model.save(output)
    if not quiet:
        learned = sum(one.gold is not None for one in given)
        tell(f"{counted(len(model.names), 'feature')} of {counted(learned, 'list')} written to {output}")


@rerank_command.command("apply")
@click.argument("model")
@click.argument("lists", metavar="LISTS", default="-")
@click.option("--output", "-o", default="-", metavar="FILE", help="Where to write; - for standard output.")
@quiet_option
def apply_command(model: str, lists: str, output: str, quiet: bool) -> None:
    """Order the candidates of each list, the best first, and add their probabilities.

    Everything else on a line stays as it is. If the lists name their right candidates, the share of lists that have it
    first is printed, before and after.
    """
    from sapo.corpus.files import check_writable, write_file
    from sapo.training.rerank import Reranker, read_lists

    refuse_same_file({"the model": model, "the lists": lists}, {"-o": output})
    check_writable(output)
    ranker = Reranker.load(model)
    known = first_before = first_after = 0
    with write_file(output) as stream:
        for given, record in read_lists(lists):
            shares = ranker.probabilities(given.features)
            order = (-shares).argsort(kind="stable").tolist()
            record["candidates"] = [
                {**record["candidates"][k], "probability": round(float(shares[k]), 6)} for k in order
            ]
            if given.gold is not None:
                known += 1
                first_before += given.gold == 0
                record["gold"] = order.index(given.gold)
                first_after += record["gold"] == 0
            stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
    if known and not quiet:
        tell(f"the right candidate is first in {first_after:,} of {counted(known, 'list')} ({first_before:,} before)")
