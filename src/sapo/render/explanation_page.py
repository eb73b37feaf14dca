"""Render an explanation as a small HTML page with bars, without scripts or external files."""

from html import escape
from importlib.resources import files

from sapo.render.explanation import (
    both_labels,
    brackets,
    headline,
    nothing_known,
    others,
    shown_tokens,
    strength,
    sums,
    times,
    weighed_labels,
)
from sapo.render.page import whole_page
from sapo.tagger.explain import Explanation

KINDS = {"feature": "", "transition": "transition", "edge feature": "edge feature", "bias": "bias"}


def explanation_page(why: Explanation) -> str:
    """Return the explanation as an HTML page."""
    style = files("sapo.render").joinpath("explanation.css").read_text("utf-8")
    parts = [
        f"<h1>Why {escape(why.tag)}?</h1>",
        f"<p>{escape(headline(why))}.</p>",
        f'<p class="soft">{escape(strength(why))}.</p>',
        _sentence(why),
        f"<h2>What speaks for {escape(why.tag)}, what for {escape(why.rival)}</h2>",
    ]
    if unknown := nothing_known(why):
        parts.append(f"<p><strong>{escape(unknown)}</strong></p>")
    if note := brackets(why):
        parts.append(f'<p class="soft">{escape(note)}</p>')
    parts += [_legend(why), _bars(why)]
    parts.append(
        '<p class="soft">Each number is a value times the difference of its two weights. Together they are exactly the '
        "difference between the scores of the two taggings; nothing is left out.</p>"
    )
    return whole_page(f"Why {why.tag}? {why.words[why.token]}", "\n".join(parts), style)


def _sentence(why: Explanation) -> str:
    places = shown_tokens(why)
    cells = []
    for place in places:
        tag, rival = why.tags[place], why.rival_tags[place]
        here = ' class="here"' if place == why.token else ""
        other = f'<span class="rival">{escape(rival)}</span>' if rival != tag else ""
        cells.append(
            f'<li{here}><span class="place">{place + 1}</span><b>{escape(why.words[place])}</b>'
            f'<span class="tag">{escape(tag)}</span>{other}</li>'
        )
    start = '<li class="cut">…</li>' if places.start else ""
    end = '<li class="cut">…</li>' if places.stop < len(why.words) else ""
    return f'<ol class="sentence">{start}{"".join(cells)}{end}</ol>'


def _legend(why: Explanation) -> str:
    tag, rival = weighed_labels(why)
    return (
        f'<p class="legend"><span class="against">◀ for {escape(rival)}</span>'
        f'<span class="for">for {escape(tag)} ▶</span></p>'
    )


def _bars(why: Explanation) -> str:
    rows = [
        (
            part.difference,
            KINDS[part.kind],
            part.name + times(part.value),
            f"{part.weight:+.3f} / {part.rival_weight:+.3f}",
        )
        for part in why.contributions
    ]
    if why.others:
        rows.append((why.others_difference, "", others(why.others), ""))
    for one in why.elsewhere:
        rows.append((one.difference, f"token {one.token + 1}", f"{one.word}: {both_labels(one)}", sums(one, 3)))
    longest = max((abs(row[0]) for row in rows), default=0.0) or 1.0
    bars = "\n".join(_bar(*row, longest) for row in rows)
    total = f'<li class="sum"><span class="name">the sum</span><span class="value">{why.difference:+.4f}</span></li>'
    return f'<ul class="bars">\n{bars}\n{total}\n</ul>'


def _bar(difference: float, kind: str, name: str, detail: str, longest: float) -> str:
    side = "for" if difference >= 0 else "against"
    size = 50 * abs(difference) / longest
    kind = f'<span class="kind">{escape(kind)}</span> ' if kind else ""
    detail = f' <span class="detail">{escape(detail)}</span>' if detail else ""
    return (
        f'<li><span class="name">{kind}{escape(name)}{detail}</span><span class="value">{difference:+.4f}</span>'
        f'<span class="track" aria-hidden="true"><span class="{side}" style="width:{size:.2f}%"></span></span></li>'
    )
