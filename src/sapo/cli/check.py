"""sapo check: find mistakes in labeled files."""

import json
from typing import TYPE_CHECKING, Any

import click

from sapo.cli.options import (
    columns_option,
    encoding_option,
    format_option,
    label_option,
    refuse_same_file,
    split_names,
    tell,
)
from sapo.errors import SapoError

if TYPE_CHECKING:
    from sapo.check.doctor import Report


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

    if len(files) > 3:
        raise SapoError(f"check takes FILE, DEV and TEST, found {len(files)} files; check the others on their own")
    reading: dict[str, Any] = {
        "format": format,
        "encoding": encoding,
        "label": label,
        "columns": split_names(columns),
        "missing": missing,
    }
    outputs = {"--fix": fix, "--html": html}
    refuse_same_file({f"the input {file}": file for file in files}, outputs)
    if fix is not None:
        _mend(files, fix, reading)
        files = (fix,)
    report = examine(files, **reading)
    if html is not None:
        _write_page(report, html)
    if html != "-":
        _show(report, as_json)
    if not report.clean:
        raise SystemExit(1)


def _mend(files: tuple[str, ...], fix: str, reading: dict[str, Any]) -> None:
    from sapo.check.mending import mend
    from sapo.corpus.files import check_writable, with_encoding
    from sapo.corpus.formats import format_of

    if len(files) > 1:
        raise SapoError("--fix corrects one file at a time; give FILE alone")
    if fix == "-":
        raise SapoError("--fix needs the name of a file to write")
    check_writable(fix)
    reading["format"] = format_of(files[0], reading["format"])  # the new file has the format of the old one
    path = with_encoding(files[0], reading.pop("encoding"))  # the new file is UTF-8
    mended = mend(path, fix, **reading)
    tell(
        f"wrote {fix}: " + (", ".join(f"{what} ({count:,})" for what, count in mended.items() if count) or "as it was")
    )


def _write_page(report: "Report", html: str) -> None:
    from sapo.cli.pages import check_page
    from sapo.corpus.files import write_file

    with write_file(html) as stream:
        stream.write(check_page(report).encode("utf-8", "replace"))


def _show(report: "Report", as_json: bool) -> None:
    from sapo.cli.tables import findings_text

    click.echo(json.dumps(report.as_dict(), indent=2, ensure_ascii=False) if as_json else findings_text(report))
