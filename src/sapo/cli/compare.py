"""sapo compare: test whether one system is significantly better than others."""

import json

import click

from sapo.cli.options import Ticker, announce_compiling, encoding_option, models_first


@click.command("compare")
@click.argument("systems", nargs=-1, required=True, metavar="A B [C ...]")
@click.argument("gold")
@click.option(
    "--rounds", default=10_000, show_default=True, type=click.IntRange(1), help="Rounds of the randomization test."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the randomization test.")
@click.option(
    "--column", metavar="COLUMN", help="The tags of the systems: a column's number or name. Default: the last."
)
@click.option("--gold-column", metavar="COLUMN", help="The tags of gold: a column's number or name. Default: the last.")
@encoding_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def compare_command(
    systems: tuple[str, ...],
    gold: str,
    rounds: int,
    seed: int,
    column: str | None,
    gold_column: str | None,
    encoding: str | None,
    as_json: bool,
) -> None:
    """Test which of two systems is better.

    sapo compare new.sapo old.sapo test.txt

    A and B are models, which tag GOLD, or tagged files. Tagged files and GOLD have one tag per line and an empty line
    after each sentence, or are corpora with the tag in the last column. With more than two systems, the first is
    compared with each of the others.
    """
    from sapo.corpus.files import with_encoding
    from sapo.evaluate.comparison import comparison_json, comparison_text
    from sapo.tagger.errors import compare_systems

    systems, gold = models_first(systems, gold)
    announce_compiling()
    ticker = Ticker()

    def watch(done: int) -> None:
        ticker.tell(f"randomization test: {done:,} of {rounds:,} rounds")

    *files, gold_file = (with_encoding(path, encoding) for path in (*systems, gold))
    found = compare_systems(
        files, gold_file, column=column, gold_column=gold_column, rounds=rounds, seed=seed, watch=watch
    )
    ticker.end()
    click.echo(json.dumps(comparison_json(systems, found), indent=2) if as_json else comparison_text(systems, found))
