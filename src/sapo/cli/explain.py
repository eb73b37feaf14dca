"""sapo explain: show why a token has its tag."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from sapo.cli.options import (
    announce_compiling,
    encoding_option,
    format_option,
    model_first,
    quiet_option,
    refuse_same_file,
    tell,
    was_given,
)
from sapo.errors import SapoError

if TYPE_CHECKING:
    from pathlib import Path

    from sapo.corpus.blocks import Sentence
    from sapo.tagger.tagger import Tagger


@click.command("explain")
@click.argument("model")
@click.argument("sentence", required=False)
@click.option("--token", type=int, required=True, metavar="NUMBER", help="Which token; the first is 1.")
@click.option("--tag", metavar="NAME", help="Why this tag? Default: the one that the model chooses.")
@click.option("--against", metavar="NAME", help="Why not this tag? Default: the strongest rival.")
@click.option("--top", default=15, show_default=True, help="How many contributions to show; the others are summed.")
@click.option("--file", metavar="FILE", help="Take the sentence from a file; - for standard input.")
@click.option("--sentence", "number", default=1, show_default=True, help="With --file: which sentence; the first is 1.")
@format_option
@encoding_option
@click.option("--html", metavar="PAGE", help="Write a page with bars, too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs; its tokens count from 0.")
@quiet_option
def explain_command(
    model: str,
    sentence: str | None,
    token: int,
    tag: str | None,
    against: str | None,
    top: int,
    file: str | None,
    number: int,
    format: str | None,
    encoding: str | None,
    html: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Why does a token have its tag?

    sapo explain pos.sapo "The cat sleeps" --token 3

    Shows what each feature and transition adds for the tag and against its strongest rival; together they are the
    difference between the scores of the two taggings.

    SENTENCE is split into words and punctuation. A model that looks at several columns takes them joined by slashes,
    with blanks between the tokens: "The/DT cat/NN".
    """
    from sapo.cli.pages import explanation_page
    from sapo.cli.tables import explanation_text
    from sapo.corpus.files import check_writable, with_encoding, write_file
    from sapo.tagger.explain import explain
    from sapo.tagger.tagger import Tagger

    if (sentence is None) == (file is None):
        raise SapoError("give either a sentence or --file, not both" if file else "give a sentence, or --file FILE")
    if sentence is not None:
        model, sentence = model_first(model, sentence)
    if file is None and (given := [name for name in ("number", "format", "encoding") if was_given(name)]):
        raise SapoError(f"--{'sentence' if given[0] == 'number' else given[0]} is for --file; leave it out")
    refuse_same_file({"the model": model, "--file": file}, {"--html": html})
    if html is not None:
        check_writable(html)
    announce_compiling(quiet)
    tagger = Tagger.load(model)
    tokens = (
        split_sentence(tagger, sentence or "")
        if file is None
        else _from_file(tagger, with_encoding(file, encoding), number, format)
    )
    if tokens and not 1 <= token <= len(tokens):
        shown = " ".join(f"{place}:{_word(one)}" for place, one in enumerate(tokens, 1))
        raise SapoError(f"--token {token}: the sentence has the tokens 1 to {len(tokens)} ({shown:.200})")
    why = explain(tagger, tokens, token - 1, tag=tag, against=against, top=top)
    if html is not None:
        with write_file(html) as stream:
            stream.write(explanation_page(why).encode("utf-8", "replace"))
        if not quiet:
            tell(f"wrote {html}")
    if html != "-":
        click.echo(json.dumps(why.as_dict(), indent=2, ensure_ascii=False) if as_json else explanation_text(why))


def split_sentence(tagger: "Tagger", text: str) -> list[Any]:
    """Split text into the tokens that this model needs: words, or tuples of columns written with slashes.

    Raises SapoError if a token does not have all columns.
    """
    columns = _columns(tagger)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise SapoError("the sentence is not UTF-8; put it into a file that is, and use --file") from None
    if columns == ("word",):
        return [text[start:end] for start, end in tagger.splitter.tokens(text)]
    if len(columns) == 1:  # tags or lemmas: $ and PRP$ must stay whole
        return list(text.split())
    tokens = []
    for number, piece in enumerate(text.split(), 1):
        values = tuple(piece.rsplit("/", len(columns) - 1))  # a slash in the word itself is kept
        if len(values) < len(columns) or not all(values):
            raise SapoError(
                f"token {number}: this model needs {'/'.join(columns)}, found '{piece}'; "
                "join the columns by slashes, or use --file"
            )
        tokens.append(values)
    return tokens


def _from_file(tagger: "Tagger", file: "str | Path", number: int, format: str | None) -> Sequence[Any]:
    """Return one sentence of a file, which is read as `sapo tag` reads it."""
    from sapo.corpus.formats import read
    from sapo.tagger.files import reading_of

    columns = tagger.columns
    if number < 1:
        raise SapoError(f"--sentence must be at least 1, not {number}")
    count = 0
    for count, sentence in enumerate(
        read(file, labeled=False, **reading_of(tagger.model, file, {"format": format})), 1
    ):
        if count == number:
            if not columns:
                return _features(sentence, file)
            if missing := [name for name in columns if name not in sentence.columns]:
                raise SapoError(f"{file}: has no column '{missing[0]}', which the features need")
            values = [sentence.columns[name] for name in columns]
            return values[0] if len(columns) == 1 else list(zip(*values, strict=True))
    raise SapoError(f"{file}: has no sentence {number}; it holds {count}")


def _features(sentence: "Sentence", file: "str | Path") -> Sequence[Any]:
    if sentence.features is None:
        raise SapoError(f"{file}: has no ready-made features, which this model was trained on")
    return sentence.features


def _columns(tagger: "Tagger") -> tuple[str, ...]:
    if not tagger.columns:
        raise SapoError("this model was trained on ready-made features; give them in a file, with --file")
    return tagger.columns


def _word(token: Any) -> str:
    return token if isinstance(token, str) else str(token[0])
