"""Where sentences end: which tokens may end one, and before which tokens they do.

The token after a possible end has a class, by its first character:

    A  upper case        a  lower case        o  a letter without case        1  digit        q  opening        -  other
"""

CLASSES = "Aao1q-"
CLOSING = frozenset(
    ("'", '"', "''", ")", "]", "}", "\u2019", "\u201d", "\u00bb", "\u300d", "\u300f", "\uff09", "\u3011")
)
OPENING = frozenset("\"'([{`\u2018\u201c\u201e\u00ab\u00bf\u00a1\u300c\u300e\uff08\u3010")
FINAL = frozenset(".!?\u2026\u061f\u06d4\u0964")
NEVER_FIRST = frozenset(".,;:!?)]}%\u2026\u201d\u00bb\u3001\u3002\uff0c\uff01\uff1f\u300d\u300f\uff09\u3011")
# they end a sentence without a blank behind them
FINAL_ANYWHERE = frozenset("\u3002\uff01\uff1f\uff61")


def next_class(token: str) -> str:
    """Return the class of a token after a possible end; '' if it cannot begin a sentence.

    >>> [next_class(token) for token in ("The", "the", "7", '"', "*", ",")]
    ['A', 'a', '1', 'q', '-', '']
    """
    first = token[0]
    if first in NEVER_FIRST:
        return ""
    if first.isalpha():
        return "A" if first.isupper() or first.istitle() else "a" if first.islower() else "o"
    if first.isdecimal():
        return "1"
    return "q" if first in OPENING else "-"


def end_key(token: str) -> str | None:
    """Return under which key tables have a token that may end a sentence, or None if it is a word.

    >>> end_key("."), end_key("....."), end_key("etc."), end_key("dog")
    ('.', '..', 'etc.', None)
    """
    last = token[-1]
    if last.isalnum():
        return None
    if token[0].isalnum():
        return token if last == "." else None
    return token[:2] if token.count(last) == len(token) else token[:4]


def default_ends(key: str) -> str:
    """Return the classes of tokens before which this is the end of a sentence, where no training data says it.

    >>> default_ends("."), default_ends("etc."), default_ends(",")
    ('Ao1q-', '', '')
    """
    if key[-1] in FINAL_ANYWHERE:
        return CLASSES
    if key[0].isalnum() or key[-1] not in FINAL:
        return ""
    return "Ao1q-"
