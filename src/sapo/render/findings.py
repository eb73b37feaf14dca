"""The findings about files as text: one line each, then what the files hold."""

from collections import Counter

from sapo.check import Report
from sapo.check.finding import SEVERITIES


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
