"""Write results as text for a terminal."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from sapo.check.doctor import Report
from sapo.check.findings import SEVERITIES
from sapo.tagger.errors import KINDS, Doubt, ErrorReport, Mistake
from sapo.tagger.explain import Elsewhere, Explanation, full_name


def findings_text(report: Report) -> str:
    """Return a report as text."""
    lines = [str(finding) for finding in report.findings]
    for file in report.files:
        scheme = f" in {file.scheme.upper()}" if file.scheme else ""
        lines.append(
            f"{file.name}: {counted(file.sentences, 'sentence')}, {counted(file.tokens, 'token')}, "
            f"{counted(len(file.labels), 'label')}{scheme}, "
            f"{file.mean:.1f} tokens a sentence (at most {file.longest:,})"
        )
    return "\n".join([*lines, verdict(report)])


def verdict(report: Report) -> str:
    """Return how many findings of each severity there are."""
    counts = Counter(finding.severity for finding in report.findings)
    if not counts:
        return "nothing found"
    return ", ".join(counted(counts[severity], severity) for severity in SEVERITIES if counts[severity])


def counted(number: int, what: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "label"), counted(1200, "token")
    ('1 label', '1,200 tokens')
    """
    return f"{number:,} {what}{'s' * (number != 1)}"


AROUND = 4  # words of context on either side


def errors_text(report: ErrorReport, top: int) -> str:
    """Return a report as text, with at most `top` lines in each part."""
    lines = [errors_headline(report)]
    for kind, mistakes in grouped(report):
        lines += ["", f"{kind}: {KINDS[kind]} ({len(mistakes):,})"]
        lines += _cut([_mistake(mistake) for mistake in mistakes], top)
    if report.confusion:
        lines += ["", "taken for another type or label: gold, found, how often ('-': no span)"]
        widths = [max(len(pair[side]) for pair in report.confusion) for side in (0, 1)]
        table = [
            f"  {gold:{widths[0]}}  {found:{widths[1]}}  {count:,}"
            for (gold, found), count in report.confusion.most_common()
        ]
        lines += _cut(table, top)
    if report.suspects:
        lines += ["", f"the gold tags may be wrong: the model is sure of something else ({len(report.suspects):,})"]
        lines += _cut([_mistake(mistake) for mistake in report.suspects], top)
    lines += ["", "the least sure, one token of a sentence"]
    return "\n".join([*lines, *(_doubt(doubt) for doubt in report.least_sure[:top])])


def errors_headline(report: ErrorReport) -> str:
    """Return how good the model is, and how many mistakes there are."""
    name, value = report.scores.main
    what = "wrong token" if name == "accuracy" else "wrong span"
    return (
        f"{report.file}: {counted(report.scores.sentences, 'sentence')}, {counted(report.scores.tokens, 'token')}, "
        f"{name} {100 * value:.2f}, {counted(len(report.mistakes), what)}"
    )


def grouped(report: ErrorReport) -> Iterator[tuple[str, list[Mistake]]]:
    """Yield each kind of mistake with its mistakes, sorted by their pairs of labels, the most frequent pair first."""
    for kind in KINDS:
        mistakes = [mistake for mistake in report.mistakes if mistake.kind == kind]
        sizes = dict[tuple[str, str], int]()
        for mistake in mistakes:
            sizes[types_of(mistake)] = sizes.get(types_of(mistake), 0) + 1
        if mistakes:
            yield kind, sorted(mistakes, key=lambda mistake: (-sizes[types_of(mistake)], types_of(mistake)))


def types_of(mistake: Mistake) -> tuple[str, str]:
    """Return the gold and the found type of a mistake."""
    return mistake.gold_type, mistake.found_type


def context(words: Sequence[str], start: int, end: int) -> tuple[str, str, str]:
    """Return the words before, in and behind a mistake.

    >>> context(["He", "saw", "Ann", "."], 2, 3)
    ('He saw', 'Ann', '.')
    """
    before, after = words[max(0, start - AROUND) : start], words[end : end + AROUND]
    return (
        " ".join(["…"] * (start > AROUND) + list(before)),
        " ".join(words[start:end]),
        " ".join(list(after) + ["…"] * (end + AROUND < len(words))),
    )


def said(mistake: Mistake) -> str:
    """Return what gold says and what the model says, with the probabilities that the model gives.

    >>> from sapo.tags.spans import Span
    >>> said(Mistake("missed", "a.txt", 3, ("in", "Oslo"), Span(1, 2, "LOC"), None, 0.25))
    'gold LOC (0.25), found nothing'
    """
    parts = []
    for what, span, chance in (
        ("gold", mistake.gold, mistake.gold_probability),
        ("found", mistake.found, mistake.found_probability),
    ):
        exactly = ""
        if span and (span.start, span.end) != (mistake.start, mistake.end):
            exactly = f" '{' '.join(mistake.words[span.start : span.end])}'"
        parts.append(f"{what} {span.type}{exactly} ({chance:.2f})" if span else f"{what} nothing")
    return ", ".join(parts)


def _mistake(mistake: Mistake) -> str:
    before, middle, after = context(mistake.words, mistake.start, mistake.end)
    sentence = f"{before} [{middle}] {after}".strip()
    return f"  {mistake.line:>6}  {sentence}  {said(mistake)}"


def _doubt(doubt: Doubt) -> str:
    before, middle, after = context(doubt.words, doubt.token, doubt.token + 1)
    sentence = f"{before} [{middle}] {after}".strip()
    wrong = "" if doubt.found == doubt.gold else f", gold {doubt.gold}"
    chances = f"{doubt.found} ({doubt.probability:.2f}) or {doubt.rival} ({doubt.rival_probability:.2f})"
    return f"  {doubt.line:>6}  {sentence}  {chances}{wrong}"


def _cut(lines: Sequence[str], top: int) -> list[str]:
    more = len(lines) - top
    return [*lines[:top], *([f"  … and {more:,} more"] if more > 0 else [])]


SHOWN_TOKENS = 4  # number of tokens shown on each side
PART_PREFIXES = {"feature": "", "transition": "transition ", "edge feature": "edge feature ", "bias": "bias "}


def explanation_text(why: Explanation) -> str:
    """Return the explanation as text."""
    tag, rival = weighed_labels(why)
    wide = max(8, len(tag), len(rival))
    lines = [explanation_headline(why), strength(why), "", *_taggings(why), ""]
    for note in (brackets(why), nothing_known(why)):
        lines += [note, ""] if note else []
    lines.append(f"{'difference':>10}  {tag:>{wide}}  {rival:>{wide}}")
    for part in why.contributions:
        weights = f"{part.weight:+{wide}.4f}  {part.rival_weight:+{wide}.4f}"
        lines.append(f"{part.difference:+10.4f}  {weights}  {PART_PREFIXES[part.kind]}{part.name}{times(part.value)}")
    blank = " " * (2 * wide + 4)
    if why.others:
        lines.append(f"{why.others_difference:+10.4f}{blank}  {others(why.others)}")
    for one in why.elsewhere:
        lines.append(
            f"{one.difference:+10.4f}{blank}  token {one.token + 1}, {one.word}: {both_labels(one)} ({sums(one)})"
        )
    return "\n".join([*lines, f"{why.difference:+10.4f}{blank}  the sum: {why.tag} against {why.rival}"])


def explanation_headline(why: Explanation) -> str:
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
    return "The model knows no feature of this token: only its neighbors, by transitions, decide."


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
    first, last = min(why.token - SHOWN_TOKENS, *differ, why.token), max(why.token + SHOWN_TOKENS, *differ, why.token)
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


def describe_text(description: dict[str, Any]) -> str:
    """Return the description as text.

    `description` also needs the name of the model file (`file`) and its size (`megabytes`).
    """
    record = description["record"]
    lines = [
        f"{description['file']}  {description['megabytes']} MB",
        "",
        f"labels    {len(description['labels'])}: {' '.join(description['labels'])}",
        *(_network_lines(description["network"]) if description["network"] else _linear_lines(description)),
        f"columns   {', '.join(description['columns']) or 'ready-made features'}",
        *_constraint_lines(description),
    ]
    if description["temperature"] != 1.0 or "calibration" in record:
        lines.append(f"calibrated  temperature {description['temperature']:.4g}")
    if record:
        settings = ", ".join(f"{key} {value}" for key, value in record["settings"].items() if value is not None)
        lines += [
            f"trained   {record['learner']} on {record['sentences']:,} sentences, {record['tokens']:,} tokens",
            f"          {settings}",
            f"          {record['passes']} epochs, kept epoch {record['kept_pass']}; stopped: {record['stopped']}",
            *_n_of_each_pass(record),
            *_looked(record, len(description["learned_as"] or description["labels"])),
            *(_continued(entry, record["settings"]) for entry in record.get("continued", [])),
            "",
            f"epoch  objective  {'dev ' + record['score_name']:>12}  w-complexity",
        ]
        for entry in record["history"]:
            dev = f"{100 * entry['dev']:12.2f}" if entry["dev"] is not None else " " * 12
            lines.append(f"{entry['epoch']:5d}  {entry['objective']:9.4f}  {dev}  {entry['w_complexity']:.6f}")
    if description["template"]:
        lines += ["", "template", *("  " + line for line in description["template"].strip().splitlines())]
    lines += ["", "strongest features"] if description["strongest_features"] else []
    for label, features in description["strongest_features"].items():
        lines += [f"  {label}", *(f"    {entry['weight']:+8.4f}  {entry['feature']}" for entry in features)]
    lines += ["", "strongest transitions"] if description["strongest_transitions"] else []
    lines += [
        f"    {entry['weight']:+8.4f}  {entry['from']} -> {entry['to']}"
        for entry in description["strongest_transitions"]
    ]
    if description["strongest_edge_features"]:
        lines += ["", "strongest edge features"]
    lines += [
        f"    {entry['weight']:+8.4f}  {entry['from']} -> {entry['to']}  {entry['feature']}"
        for entry in description["strongest_edge_features"]
    ]
    return "\n".join(lines)


def _linear_lines(description: dict[str, Any]) -> list[str]:
    edge_features = f" and {description['edge_features']:,} edge features" if description["edge_features"] else ""
    return [
        f"features  {description['features']:,}" + edge_features,
        f"weights   {description['weights']:,}, of which {description['nonzero_weights']:,} are not 0",
    ]


def _network_lines(network: dict[str, Any]) -> list[str]:
    options = ", ".join(f"{key} {value}" for key, value in network["options"].items() if value is not None)
    return [f"network   {network['words']:,} words; {options}", f"weights   {network['weights']:,}"]


def _constraint_lines(description: dict[str, Any]) -> list[str]:
    lines = []
    if description["learned_as"]:
        pairs = (f"{name} ({shown})" if name != shown else name for name, shown in description["learned_as"].items())
        lines.append(f"learned   {' '.join(pairs)}")
    constraints = description["constraints"]
    if constraints["scheme"] or constraints["rules"]:
        scheme = f"{constraints['scheme']}; " if constraints["scheme"] else ""
        lines.append(f"tagging   {scheme}{constraints['forbidden']:,} pairs of labels, starts and ends are forbidden")
    if constraints["exceptions"]:
        pairs = (f"{before or 'start'} {after or 'end'}" for before, after in constraints["exceptions"])
        lines.append(f"          allowed, as training has it: {', '.join(pairs)}")
    lines += [f"          rule: {rule}" for rule in constraints["rules"]]
    if description["bias"]:
        lines.append("bias      " + ", ".join(f"{label} {value:+g}" for label, value in description["bias"].items()))
    return lines


def looked_text(kept: dict[str, Any], labels: int) -> str | None:
    """Return how many labels were looked at in a pass, as a line; None if it was all of them.

    >>> looked_text({"looked": 4.1, "lost": 0.0005}, 453)
    'looked at 4.1 of 453 labels a token; 0.05 % of the gold labels would have been left out'
    """
    if "looked" not in kept or "lost" not in kept:
        return None
    left_out = f"{100 * kept['lost']:.2f} % of the gold labels would have been left out"
    return f"looked at {kept['looked']:.1f} of {labels:,} labels a token; {left_out}"


def _looked(record: dict[str, Any], labels: int) -> list[str]:
    lines = (looked_text(entry, labels) for entry in record["history"] if entry["epoch"] == record["kept_pass"])
    return [f"          {line}" for line in lines if line is not None]


def _n_of_each_pass(record: dict[str, Any]) -> list[str]:
    if record["settings"].get("n") != "auto":
        return []
    return [f"          n by epoch: {', '.join(str(entry['n']) for entry in record['history'] if 'n' in entry)}"]


def _continued(entry: dict[str, Any], trained: dict[str, Any]) -> str:
    """Return a line about later training, with the settings that were different then."""
    other = (f"{key} {value}" for key, value in entry["settings"].items() if trained.get(key) != value)
    return (
        f"continued {entry['sentences']:,} sentences in {entry['updates']:,} updates, {entry['passes']:,} epochs "
        f"({', '.join(other) or 'settings as before'}); stopped: {entry['stopped']}"
    )
