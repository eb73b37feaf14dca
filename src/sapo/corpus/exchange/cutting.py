"""A text in, its sentences out, as lists of (start, end) of their tokens. The only place where text is cut here."""

import re
from collections.abc import Callable

from sapo.corpus.tokenise import tokenise

_PARAGRAPH = re.compile(r"\n\s*\n")
_CLOSING = frozenset("\"')]}\u201d\u2019\u00bb")
_ENDS = frozenset((".", "!", "?", "...", "\u2026"))
_ENDS_ANYWHERE = ("\u3002", "\uff01", "\uff1f")  # of Chinese and Japanese


Splitter = Callable[[str], list[list[tuple[int, int]]]]  # as `cut_text`


def cut_text(text: str) -> list[list[tuple[int, int]]]:
    """Return the sentences of a text. Every character but blanks is in exactly one token.

    >>> text = "Dr. No sings. So do we."
    >>> [[text[a:b] for a, b in sentence] for sentence in cut_text(text)]
    [['Dr.', 'No', 'sings', '.'], ['So', 'do', 'we', '.']]
    """
    sentences: list[list[tuple[int, int]]] = []
    ended = True  # behind the last token
    before = 0
    for start, end in tokenise(text):
        gap, token = text[before:start], text[start:end]
        if not sentences or _PARAGRAPH.search(gap) or (ended and not token[0].islower() and token not in _CLOSING):
            sentences.append([])
        sentences[-1].append((start, end))
        closing = ended and token in _CLOSING
        ended = closing or token in _ENDS or token.endswith(_ENDS_ANYWHERE)
        before = end
    return sentences
