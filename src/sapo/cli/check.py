"""sapo check: find mistakes in labeled files, and show them as text or on a page."""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import click

from sapo.cli.options import (
    announce_compiling,
    columns_option,
    counted,
    encoding_option,
    format_option,
    label_option,
    refuse_same_file,
    split_names,
    tell,
)
from sapo.errors import OptionError

if TYPE_CHECKING:
    from sapo.check.doctor import CheckReport, Summary

SEVERITY_STYLES = {"error": "disagrees", "warning": "in-part", "note": ""}
MOST_LABELS = 60  # in a list


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE [DEV] [TEST]")
@format_option
@encoding_option
@label_option
@columns_option
@click.option("--missing", metavar="MARK", help="How a missing tag is written, as for sapo train.")
@click.option("--fix", metavar="OUT", help="Write a corrected copy of FILE. Only what is safe to correct is changed.")
@click.option("--html", metavar="PAGE", help="Write a page, too: findings, balance of labels, lengths of sentences.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def check_command(
    files: tuple[str, ...],
    format: str | None,
    encoding: str | None,
    label: str | None,
    columns: str | None,
    missing: str | None,
    fix: str | None,
    html: str | None,
    as_json: bool,
) -> None:
    """Find mistakes in labeled files.

    sapo check train.txt dev.txt test.txt

    Lists, with line numbers, what would spoil training or scores: labels that almost fit a scheme, headers, missing
    empty lines, sentences of DEV or TEST that are also in FILE, columns that give the label away, and more. Exits
    with 1 if there are errors or warnings, 0 if not, 2 if a file cannot be read. With --fix, checks OUT instead of
    FILE.
    """
    from sapo.check.doctor import examine
    from sapo.cli.pages import write_page

    if len(files) > 3:
        raise OptionError(
            f"check takes at most three files (FILE, DEV and TEST), not {len(files)}; check the others separately"
        )
    refuse_same_file({f"the input {file}": file for file in files}, {"--fix": fix, "--html": html})
    announce_compiling()
    names = split_names(columns)
    if fix is not None:
        format = _mend(files, fix, format, encoding, label, names, missing)
        files, encoding = (fix,), None
    report = examine(files, format=format, label=label, columns=names, missing=missing, encoding=encoding)
    if html is not None:
        write_page(html, check_page(report))
    if html != "-":
        click.echo(json.dumps(report.as_dict(), indent=2, ensure_ascii=False) if as_json else findings_text(report))
    if not report.clean:
        raise SystemExit(1)


def _mend(
    files: tuple[str, ...],
    fix: str,
    format: str | None,
    encoding: str | None,
    label: str | None,
    columns: list[str] | None,
    missing: str | None,
) -> str:
    """Write a corrected copy, which is UTF-8, and return its format."""
    from sapo.check.mending import mend
    from sapo.corpus.files import check_writable, with_encoding
    from sapo.corpus.formats import format_of

    if len(files) > 1:
        raise OptionError("--fix corrects one file at a time; give FILE alone")
    if fix == "-":
        raise OptionError("--fix needs the name of a file to write")
    check_writable(fix)
    format = format_of(files[0], format)
    path = with_encoding(files[0], encoding)
    mended = mend(path, fix, format=format, label=label, columns=columns, missing=missing)
    done = ", ".join(f"{what} ({count:,})" for what, count in mended.items() if count)
    tell(f"wrote {fix}: {done or 'as it was'}")
    return format


def findings_text(report: "CheckReport") -> str:
    """Return a report as text."""
    files = (
        f"{file.name}: {_sizes(file)}, {file.mean:.1f} tokens per sentence (at most {file.longest:,})"
        for file in report.files
    )
    return "\n".join([*map(str, report.findings), *files, _verdict(report)])


def _sizes(file: "Summary") -> str:
    scheme = f" in {file.scheme.upper()}" if file.scheme else ""
    sizes = ((file.sentences, "sentence"), (file.tokens, "token"), (len(file.labels), "label"))
    return ", ".join(counted(*size) for size in sizes) + scheme


def _verdict(report: "CheckReport") -> str:
    """Return the number of findings of each severity."""
    counts = Counter(finding.severity for finding in report.findings)
    return ", ".join(counted(counts[one], one) for one in SEVERITY_STYLES if counts[one]) or "nothing found"


def check_page(report: "CheckReport") -> str:
    """Return a report as an HTML page."""
    from sapo.cli.pages import Html, element, whole_page

    names = ", ".join(file.name for file in report.files)
    parts = [element("h1", names), element("p", f"{_verdict(report)}.")]
    for one in report.findings:
        head = Html(f"{element('strong', one.place)} {element('span', f'{one.severity}: {one.kind}')}")
        body = Html(element("p", head, "verdict") + element("p", one.message))
        parts.append(element("div", body, f"finding {SEVERITY_STYLES[one.severity]}"))
    for file in report.files:
        parts += _file_parts(file)
    return whole_page(f"sapo check: {names}", "\n".join(parts))


def _file_parts(file: "Summary") -> Sequence[str]:
    from sapo.cli.pages import bars, element, table

    sizes = f"{_sizes(file)}; columns: {', '.join(file.columns)}."
    labels = [
        (label, count, f"{count:,} ({100 * count / file.tokens:.2f} %)")
        for label, count in list(file.labels.items())[:MOST_LABELS]
    ]
    parts = [element("h2", file.name), element("p", sizes), element("h3", "Labels"), bars(labels)]
    if len(file.labels) > MOST_LABELS:
        parts.append(element("p", f"And {counted(len(file.labels) - MOST_LABELS, 'rarer label')}.", "soft"))
    if file.similar:
        rows = [[text for one in pair for text in (one, f"{file.labels.get(one, 0):,}")] for pair in file.similar]
        parts += [element("h3", "Labels that look alike"), table(("label", "tokens", "looks like", "tokens"), rows)]
    edges = [least for least, _ in file.lengths]
    names = [*(f"{a} to {b - 1}" for a, b in pairwise(edges)), f"{edges[-1]} or more"]
    lengths = [(name, count, f"{count:,}") for name, (_, count) in zip(names, file.lengths, strict=True) if count]
    spread = f"from {file.shortest:,} to {file.longest:,}, median {file.median:g}, mean {file.mean:.1f}"
    return [
        *parts,
        element("h3", "Lengths of sentences"),
        bars(lengths),
        element("p", f"Tokens a sentence: {spread}.", "soft"),
    ]
