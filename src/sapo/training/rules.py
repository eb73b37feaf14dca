"""Read rules about labels from a file."""

import re
from pathlib import Path

from sapo import limits
from sapo.corpus.files import check_utf8, read_chunks, show_path
from sapo.errors import SapoError
from sapo.tags.rules import EXAMPLE


def read_rules(path: str | Path) -> list[str]:
    """Return the rules of a file, which has one per line, and comments after #.

    Raises SapoError if the file has no rules or cannot be read.
    """
    name, pieces, size = show_path(path), [], 0
    for chunk in read_chunks(path):
        pieces.append(chunk)
        size += len(chunk)
        limits.check("rules", size, name, "bytes of rules")
    data = b"".join(pieces)
    check_utf8(data, name, 1)
    lines = data.decode("utf-8").splitlines()
    found = [rule for rule in (re.sub(r"(^|\s)#.*", "", line).strip() for line in lines) if rule]
    if not found:
        raise SapoError(f"{name}: holds no rule; {EXAMPLE}")
    return found
