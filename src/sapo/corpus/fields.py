"""What the fields of a file with one token a line can hold."""

import re

from sapo.errors import SapoError

ELSEWHERE = "; write JSONL, which holds every tag"


def check_tag(tag: str, *, tabs: bool) -> None:
    """Raise SapoError if a tag cannot be a field. Single TABs separate the fields if `tabs`, otherwise runs of blanks.

    >>> check_tag("proper noun", tabs=True)
    """
    if not tag:
        raise SapoError("an empty tag cannot be written to this file" + ELSEWHERE)
    if re.search(r"[\t\r\n]", tag) or (not tabs and re.search(r"\s", tag, re.ASCII)):
        raise SapoError(
            f"the tag {tag!r} contains a blank and cannot be written to this file"
            + (ELSEWHERE if tabs or re.search(r"[\t\r\n]", tag) else "; separate its columns by TABs")
        )
    if re.search("[\ud800-\udfff]", tag):
        raise SapoError(f"the tag {tag!r} has half of a surrogate pair, which is not valid text" + ELSEWHERE)
