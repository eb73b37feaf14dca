"""sapo explain: show why a token has its tag, as text or on a page."""

import json
import math
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
from sapo.errors import DataError, ModelError, OptionError

if TYPE_CHECKING:
    from pathlib import Path

    from sapo.tagger.explain import Elsewhere, Explanation
    from sapo.tagger.tagger import Tagger

SHOWN_TOKENS = 4  # on each side of the token
EXACT = (
    "Each number is a value times the difference of its two weights. Together they are exactly the difference between "
    "the scores of the two taggings; nothing is left out."
)


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
    from sapo.cli.pages import write_page
    from sapo.corpus.files import check_writable, with_encoding
    from sapo.tagger.explain import explain
    from sapo.tagger.tagger import Tagger

    if (sentence is None) == (file is None):
        raise OptionError("give either a sentence or --file, not both" if file else "give a sentence, or --file FILE")
    if sentence is not None:
        model, sentence = model_first(model, sentence)
    if file is None and (given := [name for name in ("number", "format", "encoding") if was_given(name)]):
        raise OptionError(f"--{'sentence' if given[0] == 'number' else given[0]} is for --file; leave it out")
    refuse_same_file({"the model": model, "--file": file}, {"--html": html})
    if html is not None:
        check_writable(html)
    announce_compiling(quiet)
    tagger = Tagger.load(model)
    if file is None:
        tokens: Sequence[Any] = split_sentence(tagger, sentence or "")
    else:
        tokens = _from_file(tagger, with_encoding(file, encoding), number, format)
    if tokens and not 1 <= token <= len(tokens):
        shown = " ".join(f"{place}:{_word(one)}" for place, one in enumerate(tokens, 1))
        raise OptionError(f"--token {token}: the sentence has the tokens 1 to {len(tokens)} ({shown:.200})")
    why = explain(tagger, tokens, token - 1, tag=tag, against=against, top=top)
    if html is not None:
        write_page(html, explanation_page(why))
        if not quiet:
            tell(f"wrote {html}")
    if html != "-":
        click.echo(json.dumps(why.as_dict(), indent=2, ensure_ascii=False) if as_json else explanation_text(why))


def split_sentence(tagger: "Tagger", text: str) -> list[Any]:
    """Split text into the tokens that this model needs: words, or tuples of columns written with slashes.

    Raises SapoError if a token does not have all columns.
    """
    columns = tagger.columns
    if not columns:
        raise ModelError("this model was trained on ready-made features; give them in a file, with --file")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise DataError("the sentence is not UTF-8; put it into a file that is, and use --file") from None
    if columns == ("word",):
        return [text[start:end] for start, end in tagger.splitter.tokens(text)]
    if len(columns) == 1:  # tags or lemmas: $ and PRP$ must stay whole
        return list(text.split())
    tokens = []
    for number, piece in enumerate(text.split(), 1):
        values = tuple(piece.rsplit("/", len(columns) - 1))  # a slash in the word itself is kept
        if len(values) < len(columns) or not all(values):
            raise ModelError(
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
        raise OptionError(f"--sentence must be at least 1, not {number}")
    count = 0
    reading = reading_of(tagger.model, file, {"format": format})
    for count, sentence in enumerate(read(file, labeled=False, **reading), 1):
        if count == number:
            if not columns:
                if sentence.features is None:
                    raise ModelError(f"{file}: has no ready-made features, which this model was trained on")
                return sentence.features
            if missing := [name for name in columns if name not in sentence.columns]:
                raise DataError(f"{file}: has no column '{missing[0]}', which the features need")
            values = [sentence.columns[name] for name in columns]
            return values[0] if len(columns) == 1 else list(zip(*values, strict=True))
    raise DataError(f"{file}: there is no sentence {number}; the file has {count}")


def _word(token: Any) -> str:
    return token if isinstance(token, str) else str(token[0])


def explanation_text(why: "Explanation") -> str:
    """Return the explanation as text."""
    from sapo.evaluate.scores import text_table

    names = _weighed_labels(why)
    wide = max(8, *map(len, names))
    rows = [["difference", *(f"{name:>{wide}}" for name in names), ""]]
    for part in why.contributions:
        kind = "" if part.kind == "feature" else f"{part.kind} "
        weights = (part.difference, part.weight, part.rival_weight)
        rows.append([*(f"{weight:+.4f}" for weight in weights), f"{kind}{part.name}{_times(part.value)}"])
    sums = [(why.others_difference, _others(why))] if why.others else []
    for one in why.elsewhere:
        sums.append((one.difference, f"token {one.token + 1}, {one.word}: {_both_labels(one)} ({_parts(one)})"))
    sums.append((why.difference, f"the sum: {why.tag} against {why.rival}"))
    rows += [[f"{difference:+.4f}", "", "", what] for difference, what in sums]
    notes = [line for note in (_brackets(why), _nothing_known(why)) if note for line in (note, "")]
    return "\n".join([_headline(why), strength(why), "", *_taggings(why), "", *notes, *text_table(rows, left=(3,))])


def _headline(why: "Explanation") -> str:
    """Return which token it is, and which tags are compared."""
    word = why.words[why.token]
    return f"token {why.token + 1}, {word}: {why.tag} against {why.rival} (the model chooses {why.chosen})"


def strength(why: "Explanation") -> str:
    """Return how much better one tagging is than the other, in scores and as a ratio of probabilities.

    Weights and their sums are those of the model; only the ratio depends on its temperature.
    """
    size = abs(why.log_ratio)
    ratio = f"e^{size:.1f}" if size > 14 else f"{math.exp(size):,.0f}" if size > 3 else f"{math.exp(size):.1f}"
    first, second = (why.tag, why.rival) if why.difference >= 0 else (why.rival, why.tag)
    at = "" if why.temperature == 1 else f" at temperature {why.temperature:.4g}"
    return (
        f"score {why.difference:+.4f}{at}: the tagging with {first} is {ratio} times as probable as that with {second}"
    )


def _weighed_labels(why: "Explanation") -> tuple[str, str]:
    """Return the tag and its rival, each with the learned label if that has another name."""
    from sapo.tagger.explain import full_name

    if not why.learned:
        return why.tag, why.rival
    return full_name(why.tag, why.learned[why.token]), full_name(why.rival, why.rival_learned[why.token])


def _brackets(why: "Explanation") -> str:
    """Return a note about the meaning of brackets, if there may be any."""
    return "In brackets: the label that the model learned, where it shows another." if why.learned else ""


def _nothing_known(why: "Explanation") -> str:
    """Return a note if the model does not know any feature of the token."""
    return "" if why.known else "The model knows no feature of this token: only its neighbors, by transitions, decide."


def _both_labels(one: "Elsewhere") -> str:
    """Return the two tags of another token."""
    from sapo.tagger.explain import full_name

    return f"{full_name(one.tag, one.learned)}, against {full_name(one.rival, one.rival_learned)}"


def _parts(one: "Elsewhere", digits: int = 4) -> str:
    """Return the differences between the two taggings at another token."""
    bias = f", bias {one.bias:+.{digits}f}" if one.bias else ""
    return f"features {one.features:+.{digits}f}, transitions {one.transitions:+.{digits}f}{bias}"


def _others(why: "Explanation") -> str:
    """Return the number of contributions that are not listed."""
    return f"{why.others:,} {'other' if why.others == 1 else 'others'}"


def _times(value: float) -> str:
    """Return the value of a feature, if it is not 1.

    >>> _times(1.0), _times(0.5)
    ('', ' (value 0.5)')
    """
    return "" if value == 1 else f" (value {value:g})"


def shown_tokens(why: "Explanation") -> range:
    """Return the tokens to show: some on each side, and all at which the two taggings differ."""
    differ = [place for place in range(len(why.words)) if why.tags[place] != why.rival_tags[place]]
    first, last = min(why.token - SHOWN_TOKENS, *differ, why.token), max(why.token + SHOWN_TOKENS, *differ, why.token)
    return range(max(0, first), min(len(why.words), last + 1))


def _taggings(why: "Explanation") -> list[str]:
    """Return lines with the places, the words and the two taggings of the tokens to show."""
    from sapo.evaluate.scores import text_table

    places = shown_tokens(why)
    start, end = ["..."] * (places.start > 0), ["..."] * (places.stop < len(why.words))
    lines = (
        (map(str, range(1, len(why.words) + 1)), ""),
        (why.words, ""),
        (why.tags, " the tagging"),
        (why.rival_tags, " its rival"),
    )
    rows = [[*start, *list(cells)[places.start : places.stop], *end, note] for cells, note in lines]
    return ["  " + line for line in text_table(rows, left=range(len(rows[0])), gap=" ")]


def explanation_page(why: "Explanation") -> str:
    """Return the explanation as an HTML page."""
    from importlib.resources import files

    from sapo.cli.pages import Html, element, whole_page

    tag, rival = _weighed_labels(why)
    legend = element("span", f"◀ for {rival}", "against") + element("span", f"for {tag} ▶", "for")
    parts = [
        element("h1", f"Why {why.tag}?"),
        element("p", f"{_headline(why)}."),
        element("p", f"{strength(why)}.", "soft"),
        _sentence(why),
        element("h2", f"What speaks for {why.tag}, what for {why.rival}"),
        *(element("p", Html(element("strong", note))) for note in (_nothing_known(why),) if note),
        *(element("p", note, "soft") for note in (_brackets(why),) if note),
        element("p", Html(legend), "legend"),
        _bars(why),
        element("p", EXACT, "soft"),
    ]
    style = files("sapo.cli").joinpath("explanation.css").read_text("utf-8")
    return whole_page(f"Why {why.tag}? {why.words[why.token]}", "\n".join(parts), style)


def _sentence(why: "Explanation") -> str:
    from sapo.cli.pages import Html, element

    places = shown_tokens(why)
    cells = ['<li class="cut">…</li>'] if places.start else []
    for place in places:
        tag, rival = why.tags[place], why.rival_tags[place]
        parts = [element("span", str(place + 1), "place"), element("b", why.words[place]), element("span", tag, "tag")]
        parts += [element("span", rival, "rival")] if rival != tag else []
        cells.append(element("li", Html("".join(parts)), "here" if place == why.token else ""))
    cells += ['<li class="cut">…</li>'] if places.stop < len(why.words) else []
    return element("ol", Html("".join(cells)), "sentence")


def _bars(why: "Explanation") -> str:
    from sapo.cli.pages import element

    rows = [
        (
            part.difference,
            "" if part.kind == "feature" else part.kind,
            part.name + _times(part.value),
            f"{part.weight:+.3f} / {part.rival_weight:+.3f}",
        )
        for part in why.contributions
    ]
    if why.others:
        rows.append((why.others_difference, "", _others(why), ""))
    for one in why.elsewhere:
        rows.append((one.difference, f"token {one.token + 1}", f"{one.word}: {_both_labels(one)}", _parts(one, 3)))
    longest = max((abs(row[0]) for row in rows), default=0.0) or 1.0
    bars = "\n".join(_bar(*row, longest) for row in rows)
    total = element("span", "the sum", "name") + element("span", f"{why.difference:+.4f}", "value")
    return f'<ul class="bars">\n{bars}\n<li class="sum">{total}</li>\n</ul>'


def _bar(difference: float, kind: str, name: str, detail: str, longest: float) -> str:
    from html import escape

    from sapo.cli.pages import Html, element

    side, size = "for" if difference >= 0 else "against", 50 * abs(difference) / longest
    before = element("span", kind, "kind") + " " if kind else ""
    after = " " + element("span", detail, "detail") if detail else ""
    named = element("span", Html(before + escape(name) + after), "name")
    return (
        f"<li>{named}{element('span', f'{difference:+.4f}', 'value')}"
        f'<span class="track" aria-hidden="true"><span class="{side}" style="width:{size:.2f}%"></span></span></li>'
    )
