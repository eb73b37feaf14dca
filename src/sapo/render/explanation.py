"""Render an explanation as text: aligned columns, the strongest contributions first, and the sum below."""

import math

from sapo.tagger.explain import Elsewhere, Explanation, full_name

AROUND = 4  # number of tokens shown on each side
KINDS = {"feature": "", "transition": "transition ", "edge feature": "edge feature ", "bias": "bias "}


def explanation_text(why: Explanation) -> str:
    """Return the explanation as text."""
    tag, rival = weighed_labels(why)
    wide = max(8, len(tag), len(rival))
    lines = [headline(why), strength(why), "", *_taggings(why), ""]
    for note in (brackets(why), nothing_known(why)):
        lines += [note, ""] if note else []
    lines.append(f"{'difference':>10}  {tag:>{wide}}  {rival:>{wide}}")
    for part in why.contributions:
        weights = f"{part.weight:+{wide}.4f}  {part.rival_weight:+{wide}.4f}"
        lines.append(f"{part.difference:+10.4f}  {weights}  {KINDS[part.kind]}{part.name}{times(part.value)}")
    blank = " " * (2 * wide + 4)
    if why.others:
        lines.append(f"{why.others_difference:+10.4f}{blank}  {others(why.others)}")
    for one in why.elsewhere:
        lines.append(
            f"{one.difference:+10.4f}{blank}  token {one.token + 1}, {one.word}: {both_labels(one)} ({sums(one)})"
        )
    return "\n".join([*lines, f"{why.difference:+10.4f}{blank}  the sum: {why.tag} against {why.rival}"])


def headline(why: Explanation) -> str:
    """Return a line that says which token and which tags are compared."""
    return (
        f"token {why.token + 1}, {why.words[why.token]}: {why.tag} against {why.rival} (the model chooses {why.chosen})"
    )


def strength(why: Explanation) -> str:
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


def weighed_labels(why: Explanation) -> tuple[str, str]:
    """Return the tag and its rival, each with the learned label if that has another name."""
    if not why.learned:
        return why.tag, why.rival
    return full_name(why.tag, why.learned[why.token]), full_name(why.rival, why.rival_learned[why.token])


def brackets(why: Explanation) -> str:
    """Return a note about the meaning of brackets, if there may be any."""
    return "In brackets: the label that the model learned, where it shows another." if why.learned else ""


def both_labels(one: Elsewhere) -> str:
    """Return the two tags of another token."""
    return f"{full_name(one.tag, one.learned)}, against {full_name(one.rival, one.rival_learned)}"


def sums(one: Elsewhere, digits: int = 4) -> str:
    """Return the differences between the two taggings at another token."""
    bias = f", bias {one.bias:+.{digits}f}" if one.bias else ""
    return f"features {one.features:+.{digits}f}, transitions {one.transitions:+.{digits}f}{bias}"


def nothing_known(why: Explanation) -> str:
    """Return a note if the model does not know any feature of the token."""
    if why.known:
        return ""
    return "The model knows no feature of this token: only its neighbours, by transitions, decide."


def others(count: int) -> str:
    """Return the number of contributions that are not listed, as text."""
    return f"{count:,} {'other' if count == 1 else 'others'}"


def times(value: float) -> str:
    """Return the value of a feature as text, if it is not 1.

    >>> times(1.0), times(0.5)
    ('', ' (value 0.5)')
    """
    return "" if value == 1 else f" (value {value:g})"


def shown_tokens(why: Explanation) -> range:
    """Return the tokens to show: some on each side, and all at which the two taggings differ."""
    differ = [place for place in range(len(why.words)) if why.tags[place] != why.rival_tags[place]]
    first, last = min(why.token - AROUND, *differ, why.token), max(why.token + AROUND, *differ, why.token)
    return range(max(0, first), min(len(why.words), last + 1))


def _taggings(why: Explanation) -> list[str]:
    places = shown_tokens(why)
    rows = [(str(place + 1), why.words[place], why.tags[place], why.rival_tags[place]) for place in places]
    widths = [max(map(len, row)) for row in rows]
    start, end = "... " if places.start else "", " ..." if places.stop < len(why.words) else ""
    notes = ("", "", "  the tagging", "  its rival")
    return [
        (
            "  " + start + " ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + end + note
        ).rstrip()
        for line, note in zip(zip(*rows, strict=True), notes, strict=True)
    ]
