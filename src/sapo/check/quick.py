"""The labels of training data in, what is gravely wrong with them out: the few checks that every training run does.

They look at the labels, their counts and the lengths of sentences only, so they take no time. The file is read a second
time, for line numbers, if something was found.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from sapo.check.between import check_overlap
from sapo.check.finding import ERROR, Finding
from sapo.check.labels import TITLES, header_line, misfit_text, misfit_way_out
from sapo.check.reading import read_sheet
from sapo.check.sentences import NO_ENDS_WAY_OUT, no_ends
from sapo.check.sheet import Sheet
from sapo.check.spelling import case_groups, fits_spans, misfits
from sapo.errors import SapoError
from sapo.kernels.types import Longs


def quick_findings(
    counts: Mapping[str, int],
    offsets: Longs,
    path: object,
    *,
    dev: object = None,
    dev_offsets: Longs | None = None,
    **reading: Any,
) -> list[Finding]:
    """Return the grave findings about training data, which are errors and few.

    `counts` are those of the labels. `offsets` [sentences + 1] are where the sentences begin, and `dev_offsets` those
    of the dev data. `path` and `dev` are the files, or anything else for data that is not a file. `reading` is as for
    `read_sheet`.

    >>> counts = {"O": 900, "B-PER": 50, "I-PER": 49, "0": 1}
    >>> [finding.kind for finding in quick_findings(counts, np.arange(0, 1001, 10), None)]
    ['near-scheme']
    """
    name = str(path) if isinstance(path, str | Path) else "training data"
    found = list(_findings(counts, int(offsets[-1]), len(offsets) - 1, name))
    same_size = dev_offsets is not None and np.array_equal(offsets, dev_offsets)
    if not _is_file(path) or not (found or same_size):
        return [finding for _, finding in found if finding.kind != "header"]
    try:
        sheet = read_sheet(path, **reading)
        same = list(check_overlap(sheet, read_sheet(dev, **reading))) if same_size and _is_file(dev) else []
    except SapoError:  # it was read already: it is a pipe, or has changed
        return [finding for _, finding in found if finding.kind != "header"]
    return [*_with_lines(found, sheet), *(finding for finding in same if finding.severity == ERROR)]


def _is_file(path: object) -> TypeGuard[str | Path]:
    return isinstance(path, str | Path) and Path(path).is_file()


def _findings(
    counts: Mapping[str, int], tokens: int, sentences: int, name: str
) -> Iterator[tuple[str | None, Finding]]:
    """Yield each finding with the label that it is about."""
    if text := no_ends(tokens, sentences):
        yield None, Finding("no-empty-lines", ERROR, name, text, NO_ENDS_WAY_OUT)
    strange = misfits(counts)
    fitting = sum(count for label, count in counts.items() if fits_spans(label))
    for label, meant in strange.items():
        yield label, Finding("near-scheme", ERROR, name, misfit_text(label, fitting), misfit_way_out(meant))
    for group in case_groups(label for label in counts if label not in strange):
        usual = max(group, key=lambda label: counts[label])
        for label in group:
            if label != usual:
                text = f"label {label!r} differs from {usual!r} ({counts[usual]:,} tokens) only by case"
                yield label, Finding("case", ERROR, name, text, "use one spelling")
    for label, count in counts.items():
        if count == 1 and label not in strange and label.lower().replace("_", "-") in TITLES:
            yield (
                label,
                Finding("header", ERROR, name, f"label {label!r} occurs once", "is it a header? Then remove it"),
            )


def _with_lines(found: list[tuple[str | None, Finding]], sheet: Sheet) -> list[Finding]:
    header = header_line(sheet)
    result = []
    for label, finding in found:
        lines = sheet.label_lines(label) if label is not None else []
        if header is not None and lines == [header]:
            text = "a header, which is learned as a token"
            result.append(Finding("header", ERROR, sheet.name, text, "remove it", (header,)))
        elif finding.kind != "header":  # the label of possessive endings is called POS, too
            result.append(
                Finding(finding.kind, ERROR, sheet.name, finding.text, finding.way_out, tuple(lines[:3]), len(lines))
            )
    return result
