"""Judge a model on test data, and show the result as a page: scores, calibration, learning curve, errors, advice."""

import shlex
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapo.cli.options import counted

if TYPE_CHECKING:
    from sapo.check.doctor import CheckReport
    from sapo.corpus.blocks import Block
    from sapo.evaluate.calibration import Reliability
    from sapo.evaluate.significance import SentenceCounts
    from sapo.tagger.errors import Doubt, ErrorReport, Mistake
    from sapo.tagger.tagger import Tagger
    from sapo.tagger.text import TaggedText
    from sapo.training.calibration import Calibration

CURVE = (0.25, 0.5, 0.75)  # of the training data, besides all of it
SHOWN_TEXTS = 3
SHOWN_ERRORS = 12
SHOWN_DOUBTS = 8
LEAST_SPANS = 20  # of a type in the training data; types with fewer are named
SLOPE = 0.005  # gain of the last quarter of the training data above which more of it is worth the work
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # for color-blind readers, too


@dataclass(frozen=True, slots=True)
class Point:
    """A score with its interval of 95 %; the training data had this many documents or sentences."""

    units: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Judged:
    """What a model does on test data."""

    name: str  # of the score: F1 or accuracy
    errors: "ErrorReport"
    calibration: "Calibration"
    curve: Sequence[Point]  # the last one is the model itself
    types: Mapping[str, Point]  # by type of span; the units are spans in the training data
    examples: "Sequence[TaggedText]"

    def headline(self) -> str:
        """Return the score in a line."""
        last = self.curve[-1]
        return (
            f"{self.name} on test: {100 * last.value:.1f} (95 % interval {100 * last.low:.1f} to {100 * last.high:.1f})"
        )


def judge(
    tagger: "Tagger", parts: Sequence[Path], reading: Mapping[str, Any], seed: int, say: Callable[[str], None]
) -> Judged:
    """Evaluate a model on test data, and models of less training data for the learning curve."""
    from sapo.corpus.conversion import Source, read_units
    from sapo.corpus.formats import open_output, read
    from sapo.evaluate.significance import bootstrap_interval
    from sapo.tagger.errors import find_errors
    from sapo.tags.spans import loose_spans
    from sapo.training.calibration import measure
    from sapo.training.run import train

    train_path, _, test = parts
    tested = Tested.of(tagger, test, reading)
    units, _ = read_units(Source(train_path, **reading))
    order = _shuffled(len(units), seed)
    curve = []
    for share in CURVE if len(units) >= 2 * len(CURVE) else ():
        count = max(1, round(share * len(units)))
        with tempfile.TemporaryDirectory() as room:
            path = Path(room, f"part{''.join(train_path.suffixes)}")
            with open_output(path, reading["format"]) as stream:
                for number in sorted(order[:count]):
                    stream.write(units[number].data)
            smaller = Tested.of(train(path, seed=seed, **reading), test, reading)
        curve.append(Point(count, smaller.value, *bootstrap_interval(smaller.counts, smaller.groups)))
        say(f"learning curve: {100 * share:.0f} % of the training data, {tested.name} {100 * smaller.value:.1f}")
    curve.append(Point(len(units), tested.value, *bootstrap_interval(tested.counts, tested.groups)))
    in_training = Counter(span.type for one in read(train_path, **reading) for span in loose_spans(one.tags or ()))
    types = {
        name: Point(in_training[name], _f1(counts), *bootstrap_interval(counts, tested.groups))
        for name, counts in tested.types.items()
    }
    errors = find_errors(tagger, test, **reading)
    return Judged(tested.name, errors, measure(tagger, test, **reading), curve, types, _examples(tagger, test, reading))


def _shuffled(count: int, seed: int) -> list[int]:
    import numpy as np

    return [int(number) for number in np.random.default_rng(seed).permutation(count)]


def _f1(counts: "SentenceCounts") -> float:
    both = int(counts.gold.sum() + counts.found.sum())
    return 2 * int(counts.correct.sum()) / both if both else 0.0


@dataclass(frozen=True, slots=True)
class Tested:
    """The counts of a model on test data, sentence by sentence, with the document of each sentence."""

    name: str
    value: float
    counts: "SentenceCounts"
    types: "Mapping[str, SentenceCounts]"
    groups: Sequence[int]

    @classmethod
    def of(cls, tagger: "Tagger", path: Path, reading: Mapping[str, Any]) -> "Tested":
        """Tag a file and count."""
        import numpy as np

        from sapo.evaluate.significance import span_counts, token_counts
        from sapo.features.strings import label_ids
        from sapo.tagger.decoding import best_tags, each_block
        from sapo.tagger.files import read_blocks
        from sapo.tags.schemes import looks_like_spans
        from sapo.tags.spans import type_of

        labels = list(tagger.model.outer_labels)
        golds, founds, sizes, groups = [], [], [np.zeros(1, np.int64)], list[int]()
        for block, tags in each_block(tagger, read_blocks(tagger, path, labeled=True, **reading), best_tags):
            golds.append(label_ids(block, labels))
            founds.append(tags)
            sizes.append(np.diff(block.offsets))
            groups += _groups(block, groups[-1] + 1 if groups else 0)
        gold, found, offsets = np.concatenate(golds), np.concatenate(founds), np.cumsum(np.concatenate(sizes))
        if not looks_like_spans(labels):
            counts = token_counts(gold, found, offsets)
            return cls("accuracy", _f1(counts), counts, {}, groups)
        types = {}
        for name in sorted({type_of(label) for label in labels} - {""}):
            alone = [label if type_of(label) == name else "O" for label in labels]
            types[name] = span_counts(alone, gold, found, offsets)
        counts = span_counts(labels, gold, found, offsets)
        return cls("F1", _f1(counts), counts, types, groups)


def _groups(block: "Block", first: int) -> Iterator[int]:
    """Yield the number of the document of each sentence of a block; a sentence without one is its own."""
    cuts = block.origin.cuts() if block.origin is not None else None
    if cuts is not None:
        yield from (first + number for number, cut in enumerate(cuts) for _ in cut.sentences)
        return
    last = object()
    for sentence in block.sentences():
        first += sentence.document is None or sentence.document != last
        last = sentence.document
        yield first


def _examples(tagger: "Tagger", path: Path, reading: Mapping[str, Any]) -> "list[TaggedText]":
    """Return some texts of a file as the model tags them."""
    from sapo.tagger.files import read_blocks

    texts = []
    for block in islice(read_blocks(tagger, path, labeled=False, **reading), 1):
        cuts = block.origin.cuts() if block.origin is not None else None
        texts = [cut.document.text for cut in cuts or ()] or [one.text for one in block.sentences() if one.text]
    long = sorted(texts, key=len)[len(texts) // 2 :]
    return tagger.tag_texts(long[:SHOWN_TEXTS], probabilities=True) if tuple(tagger.columns) == ("word",) else []


@dataclass(frozen=True, slots=True)
class About:
    """What a report is about."""

    data: str  # the file
    sizes: str  # of it and its parts, in words
    unit: str  # of which the parts are made: document or sentence
    test: Path
    commands: Sequence[str]  # that come next


def report_page(about: About, judged: Judged, checked: "CheckReport") -> str:
    """Return the report as a page."""
    from sapo.cli.pages import Html, element, whole_page

    unit, name = about.unit, Path(about.data).name
    parts = [
        element("h1", name),
        element("p", f"{about.sizes}. No {unit} of the test data was seen in training."),
        Html(f'<div class="cards">{"".join(_cards(judged))}</div>'),
    ]
    if judged.examples:
        colors = {name: COLORS[at % len(COLORS)] for at, name in enumerate(judged.types)}
        parts += [
            element("h2", "What the model finds"),
            element("p", "Texts of the test data, as the model tags them."),
        ]
        parts += [_text(tagged, colors) for tagged in judged.examples]
    parts += [element("h2", "Scores"), *_score_table(judged)]
    parts += [element("h2", "Can you trust its probabilities? Would more data help?")]
    parts += [f'<div class="charts">{_reliability_chart(judged)}{_curve_chart(judged, unit)}</div>']
    parts += [element("h2", "Errors"), *_errors(judged.errors, about.test)]
    parts += [element("h2", "What to label next"), *_advice(judged, unit)]
    parts += [element("h2", "The data"), *_about_data(checked)]
    again = f"sapo quickstart {shlex.quote(about.data)}   # again, after you have added data"
    commands = "\n".join((*about.commands, again))
    parts += [element("h2", "Next"), f"<pre><code>{element('span', commands)}</code></pre>"]
    return whole_page(f"sapo quickstart: {name}", "\n".join(parts))


def _cards(judged: Judged) -> Iterator[str]:
    from sapo.cli.pages import Html, element

    last, scores = judged.curve[-1], judged.errors.scores
    reliability = _reliability(judged)
    what = "spans" if scores.overall is not None else "tokens"
    for title, value, note in (
        (
            f"{judged.name} on test",
            f"{100 * last.value:.1f}",
            f"95 % interval: {100 * last.low:.1f} to {100 * last.high:.1f}",
        ),
        ("Errors", f"{len(judged.errors.mistakes):,}", f"in {counted(scores.events, what[:-1])} of the test data"),
        (
            "Calibration error",
            f"{100 * reliability.ece:.1f} %",
            f"mean gap between the probability of {what} and their accuracy",
        ),
    ):
        inner = element("p", title, "soft") + element("p", value, "big") + element("p", note, "soft")
        yield element("div", Html(inner), "card")


def _reliability(judged: Judged) -> "Reliability":
    exact = judged.calibration.exact
    return exact.get("spans", exact["tokens"])


def _text(tagged: "TaggedText", colors: Mapping[str, str]) -> str:
    from html import escape

    pieces, at = [], 0
    for span in tagged.spans:
        color = colors.get(span.type, COLORS[0])
        label = f'<small style="color:{color}">{escape(span.type)} {100 * (span.probability or 0):.0f} %</small>'
        pieces.append(escape(tagged.text[at : span.start]))
        pieces.append(f'<span class="span" style="border-color:{color}">{escape(span.text)}{label}</span>')
        at = span.end
    return f'<div class="text">{"".join(pieces)}{escape(tagged.text[at:])}</div>'


def _score_table(judged: Judged) -> Iterator[str]:
    from sapo.cli.pages import element, table

    scores = judged.errors.scores
    if scores.overall is None:
        yield element(
            "p",
            f"{scores.correct_tokens:,} of {scores.tokens:,} tokens have the right label, and in "
            f"{scores.correct_sentences:,} of {scores.sentences:,} sentences all of them.",
        )
        return
    rows = []
    for name, counts in scores.types.items():
        point = judged.types.get(name, Point(0, counts.f1, 0.0, 0.0))
        values = (f"{100 * value:.1f}" for value in (counts.precision, counts.recall, counts.f1))
        interval = f"{100 * point.low:.0f} to {100 * point.high:.0f}"
        rows.append((name, f"{point.units:,}", f"{counts.gold:,}", f"{counts.found:,}", *values, interval))
    whole, last = scores.overall, judged.curve[-1]
    values = (f"{100 * value:.1f}" for value in (whole.precision, whole.recall, whole.f1))
    training = sum(point.units for point in judged.types.values())
    interval = f"{100 * last.low:.0f} to {100 * last.high:.0f}"
    rows.append(("all", f"{training:,}", f"{whole.gold:,}", f"{whole.found:,}", *values, interval))
    titles = ("type", "in training", "in test", "found", "precision", "recall", "F1", "95 % interval of F1")
    yield table(titles, rows, numbers=range(1, 8))
    yield element(
        "p",
        "Precision is the share of the found spans that are right, recall the share of the labeled spans that were "
        "found, and F1 their harmonic mean. A span counts only if all of its words and its type are right. The "
        "interval says how much F1 would vary with other test data of this size.",
        "soft",
    )


def _reliability_chart(judged: Judged) -> str:
    from sapo.cli.pages import Axis, chart

    found = _reliability(judged)
    ticks = [(value / 100, f"{value} %") for value in range(0, 101, 25)]

    def draw(x: Callable[[float], float], y: Callable[[float], float]) -> Iterator[str]:
        yield f'<line class="ideal" x1="{x(0):.1f}" y1="{y(0):.1f}" x2="{x(1):.1f}" y2="{y(1):.1f}"/>'
        for one in found.bins:
            size = 3 + 9 * (one.count / max(other.count for other in found.bins)) ** 0.5
            where = f'cx="{x(one.confidence):.1f}" cy="{y(one.accuracy):.1f}"'
            shown = f"probability {100 * one.confidence:.0f} %: {100 * one.accuracy:.0f} % right of {one.count:,}"
            yield f'<circle {where} r="{size:.1f}" fill-opacity="0.75"><title>{shown}</title></circle>'

    what = "spans" if "spans" in judged.calibration.exact else "tokens"
    caption = (
        f"Calibration. Of the {what} that the model is 80 % sure of, 80 % should be right: circles on the dashed line. "
        f"A large circle stands for many {what}."
    )
    return chart(Axis("probability", 0, 1, ticks), Axis("right", 0, 1, ticks), draw, caption)


def _curve_chart(judged: Judged, unit: str) -> str:
    from sapo.cli.pages import Axis, chart

    points = judged.curve
    tenths = max(0, min(8, int(10 * min(point.low for point in points))))
    low, most = tenths / 10, points[-1].units
    steps = [step / 10 for step in range(tenths, 11, 1 if tenths > 4 else 2)]

    def draw(x: Callable[[float], float], y: Callable[[float], float]) -> Iterator[str]:
        path = " L".join(f"{x(point.units):.1f},{y(point.value):.1f}" for point in points)
        yield f'<path d="M{path}"/>'
        for point in points:
            place = f'x1="{x(point.units):.1f}" x2="{x(point.units):.1f}"'
            yield f'<line class="spread" {place} y1="{y(point.low):.1f}" y2="{y(point.high):.1f}"/>'
            shown = f"{point.units:,} {unit}s: {judged.name} {100 * point.value:.1f}"
            where = f'cx="{x(point.units):.1f}" cy="{y(point.value):.1f}"'
            yield f'<circle {where} r="4"><title>{shown}</title></circle>'

    caption = f"Learning curve. {judged.name} on test for models of less training data; the bars are intervals of 95 %."
    across = Axis(f"training {unit}s", 0, 1.05 * most, [(point.units, f"{point.units:,}") for point in points])
    return chart(across, Axis(judged.name, low, 1, [(step, f"{100 * step:.0f}") for step in steps]), draw, caption)


def _errors(report: "ErrorReport", test: Path) -> Iterator[str]:
    from sapo.cli.pages import element, table
    from sapo.tagger.errors import KINDS

    if not report.mistakes:
        yield element("p", "None in the test data. With more test data there would be some.")
        return
    kinds = ", ".join(f"{count:,} {KINDS[kind]}" for kind, count in report.by_kind.most_common())
    yield element("p", f"{kinds[:1].upper()}{kinds[1:]}. Lines are those of {test}.")
    shown = sorted(report.mistakes, key=lambda one: -max(one.found_probability, 1 - one.gold_probability))[
        :SHOWN_ERRORS
    ]
    rows = [(str(one.line), _marked(one.words, one.start, one.end), _gold(one), _found(one)) for one in shown]
    yield table(("line", "sentence", "labeled", "found"), rows, numbers=(0,), wrapped=(1,))
    if len(report.mistakes) > len(shown):
        yield element("p", f"And {len(report.mistakes) - len(shown):,} more: sapo errors shows all.", "soft")
    if report.suspects:
        yield element(
            "p",
            f"In {counted(len(report.suspects), 'case')} the model is sure of something else than the label says. "
            "Look at these first: the label may be wrong.",
        )


def _marked(words: Sequence[str], start: int, end: int) -> str:
    from html import escape

    from sapo.cli.pages import Html

    around = 8
    before, after = words[max(0, start - around) : start], words[end : end + around]
    pieces = ["…"] * (start > around) + [escape(" ".join(before)), f"<mark>{escape(' '.join(words[start:end]))}</mark>"]
    return Html(" ".join([*pieces, escape(" ".join(after)), *["…"] * (end + around < len(words))]))


def _gold(one: "Mistake") -> str:
    return (
        one.gold_type if one.gold is None else f"{one.gold_type} ({' '.join(one.words[one.gold.start : one.gold.end])})"
    )


def _found(one: "Mistake") -> str:
    if one.found is None:
        return f"nothing ({100 * one.gold_probability:.0f} % {one.gold_type})"
    words = " ".join(one.words[one.found.start : one.found.end])
    return f"{one.found_type} ({words}), {100 * one.found_probability:.0f} %"


def _advice(judged: Judged, unit: str) -> Iterator[str]:
    from sapo.cli.pages import element

    lines = []
    if len(judged.curve) > 1:
        before, last = judged.curve[-2:]
        gain = last.value - before.value
        more = last.units - before.units
        last_ones = f"The last {more:,} training {unit}s"
        if gain > SLOPE:
            lines.append(f"{last_ones} raised {judged.name} by {100 * gain:.1f}: more of them should help.")
        else:
            lines.append(
                f"{last_ones} changed {judged.name} by {100 * gain:+.1f} only. "
                "Rather than more of the same, label texts of the kinds below."
            )
    weak = sorted(judged.types.items(), key=lambda pair: (pair[1].value, pair[1].units))
    for name, point in weak:
        if point.units < LEAST_SPANS:
            lines.append(f"Label more of {name}: the training data has only {counted(point.units, 'span')} of it.")
        elif point.value < judged.curve[-1].value - 0.05:
            lines.append(f"Label more of {name}: its F1 is {100 * point.value:.1f}, the lowest.")
            break
    yield "<ul>" + "".join(element("li", line) for line in lines) + "</ul>"
    doubts = [one for one in judged.errors.least_sure if one.probability < 0.9][:SHOWN_DOUBTS]
    if doubts:
        yield element("p", "The model is least sure of texts like these. Label more that are similar:")
        yield _doubts_table(doubts)
    yield element(
        "p",
        "sapo teach shows the texts first that the model learns most from, and suggests their labels.",
        "soft",
    )


def _doubts_table(doubts: "Sequence[Doubt]") -> str:
    from sapo.cli.pages import table

    rows = []
    for one in doubts:
        likely = f"{one.found} {100 * one.probability:.0f} %, {one.rival} {100 * one.rival_probability:.0f} %"
        rows.append((_marked(one.words, one.token, one.token + 1), likely))
    return table(("sentence", "what the model thinks"), rows, wrapped=(0,))


def _about_data(checked: "CheckReport") -> Iterator[str]:
    from sapo.cli.pages import Html, bars, element
    from sapo.tags.spans import type_of

    (file,) = checked.files
    types: dict[str, int] = {}
    for label, count in file.labels.items():
        name = type_of(label) if file.scheme else label
        if name:
            types[name] = types.get(name, 0) + count
    shown = sorted(types.items(), key=lambda pair: -pair[1])[:30]
    yield element(
        "p", f"{counted(file.sentences, 'sentence')}, {counted(file.tokens, 'token')}. Labeled tokens by type:"
    )
    yield bars([(name, count, f"{count:,}") for name, count in shown])
    for one in checked.findings[:10]:
        style = {"error": "disagrees", "warning": "in-part"}.get(one.severity, "")
        head = Html(f"{element('strong', one.place)} {element('span', f'{one.severity}: {one.kind}')}")
        yield element("div", Html(element("p", head, "verdict") + element("p", one.message)), f"finding {style}")
    if not checked.findings:
        yield element("p", "sapo check found nothing wrong.")
