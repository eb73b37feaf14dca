"""What each tag scheme is, written once more as regular expressions, to check the table of letters against."""

import re
from collections.abc import Sequence

# a tag is two characters: its letter and its type, X or Y; 'OO' is O
SPAN_PATTERNS = {
    "iob1": "(IT)+(BT(IT)*)*",  # of touching spans of the same type, all at once
    "iob2": "BT(IT)*",
    "bioes": "ST|BT(IT)*ET",
    "bilou": "UT|BT(IT)*LT",
    "bmes": "ST|BT(MT)*ET",
    "io": "IT",
    "ioe1": "((IT)*ET)*(IT)+",  # of touching spans of the same type, all at once
    "ioe2": "(IT)*ET",
}
PATTERNS = {
    scheme: re.compile(f"(OO|{span.replace('T', 'X')}|{span.replace('T', 'Y')})*")
    for scheme, span in SPAN_PATTERNS.items()
}
TAGS = ["O", *(f"{letter}-{kind}" for letter in "BIESLUM" for kind in "XY")]


def is_valid(tags: Sequence[str], scheme: str) -> bool:
    """Tell whether tags of the types X and Y are valid in a scheme."""
    return PATTERNS[scheme].fullmatch("".join("OO" if tag == "O" else tag.replace("-", "") for tag in tags)) is not None
