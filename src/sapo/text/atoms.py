"""Atoms: the smallest pieces of text that rules look at. A run of letters, a run of digits, or a mark.

What stands on either side of a mark decides how it is cut. It has a class:

    i  one letter        a  letters        1  one or two digits        9  more digits        _  a cut, or a mark
"""

import re

_LETTER = r"[^\W\d_]"
# accents stay with what they follow; some are letters to Python's \w, most are not
ACCENT = (
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0e31\u0e34-\u0e3a"
    "\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f]"
)
ATOM = re.compile(rf"(?:{_LETTER}{ACCENT}*)+|\d+|(?P<mixed>[!?]{{2,}})|(?P<mark>[^\w\s]|_)(?P=mark)*{ACCENT}*|\S")
_EQUAL = re.compile(r"!+|\?+")
EDGE = "_"


def atoms_of(chunk: str, runs: str) -> list[str]:
    """Cut a text without blanks into atoms. Only marks in `runs` stay together with equal ones behind them.

    Exclamation and question marks count as equal if both are in `runs`.

    >>> atoms_of("((non-U.S.)...", "."), atoms_of("!!?", "!"), atoms_of("!!?", "!?")
    (['(', '(', 'non', '-', 'U', '.', 'S', '.', ')', '...'], ['!!', '?'], ['!!?'])
    """
    atoms: list[str] = []
    for match in ATOM.finditer(chunk):
        atom, mark = match[0], match["mark"]
        if match["mixed"]:
            whole = "!" in runs and "?" in runs
            atoms.extend([atom] if whole else (part for one in _EQUAL.finditer(atom) for part in _run(one[0], runs)))
        elif mark and len(atom) > 1 and atom[1] == mark and mark not in runs:
            first = len(atom) - len(atom.lstrip(mark)) - 1
            atoms.extend(mark for _ in range(first))
            atoms.append(atom[first:])
        else:
            atoms.append(atom)
    return atoms


def _run(marks: str, runs: str) -> list[str]:
    return [marks] if marks[0] in runs else list(marks)


def is_mark(atom: str) -> bool:
    """Return whether an atom is neither letters nor digits.

    >>> is_mark("..."), is_mark("a"), is_mark("7")
    (True, False, False)
    """
    return not atom[0].isalnum()


def side_class(atom: str) -> str:
    """Return the class of what stands beside a mark.

    >>> [side_class(atom) for atom in ("U", "dog", "12", "1990", ")", "")]
    ['i', 'a', '1', '9', '_', '_']
    """
    if not atom or is_mark(atom):
        return EDGE
    if atom[0].isalpha():
        return "i" if len(atom) == 1 else "a"
    return "1" if len(atom) < 3 else "9"


def sides(atoms: list[str], at: int, cut_earlier: bool) -> tuple[str, str]:
    """Return the classes of what stands before and after the mark `at`.

    `cut_earlier` says that the atom before it begins a token. If not, that atom is part of a word: even a mark, and
    the t of don't is no initial.

    >>> sides(["U", ".", "-", "based"], 2, False), sides(["don", "'", "t", "."], 3, False), sides(["J", "."], 1, True)
    (('a', 'a'), ('a', '_'), ('i', '_'))
    """
    left = side_class(atoms[at - 1]) if at else EDGE
    if at > 1 and not cut_earlier and (left == EDGE or (left == "i" and atoms[at - 2] in ("'", "\u2019"))):
        left = "a"
    return left, side_class(atoms[at + 1]) if at + 1 < len(atoms) else EDGE


def mark_key(left: str, mark: str, right: str) -> str:
    """Return the key of a mark between two classes, for tables of rules. Longer runs count as two.

    >>> mark_key("a", "-", "a"), mark_key("a", "....", "_")
    ('a-a', 'a.._')
    """
    return f"{left}{mark[:2]}{right}"


def word_key(atoms: list[str], at: int, right: str) -> str:
    """Return the key of a mark behind a certain word: prefixes have rules of their own.

    >>> word_key(["non", "-", "linear"], 1, "a")
    'non -a'
    """
    return f"{atoms[at - 1].lower()} {atoms[at][:2]}{right}"
