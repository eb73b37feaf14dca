"""Say with labels what becomes of each character of a string, and with rules what becomes of its ends.

`edit_labels` aligns a string with its output and returns a label for each character; `apply_labels` goes back. A label
is MARK and the text that replaces the character, in which KEEP stands for the character itself: "|" deletes it. The
first label has a letter for the case of the output before its MARK. Two strings always have labels, so

    apply_labels(form, edit_labels(form, output)) == output

A `Rule` says the same with as few letters as possible: which beginning and which end are replaced by which.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sapo.errors import DataError

MARK = "|"
KEEP = "\0"  # in a label: the character itself
LOWER, TITLE, UPPER, AS_IS = "ltua"  # cases of an output; the last one is made from the form as it is written
CELLS = 4_000_000  # of an alignment
SUBSTITUTE = 1.5  # inserting and deleting cost 1 each
START = 5  # beginnings that a rule may replace have fewer characters than this


def lowered(form: str) -> str:
    """Return the form in lower case, with as many characters as it has.

    >>> lowered("İstanbul"), len("İ".lower())
    ('İstanbul', 2)
    """
    whole = form.lower()
    if len(whole) == len(form):
        return whole
    return "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in form)


def raised(text: str, case: str) -> str:
    """Return a text in one of the cases.

    >>> raised("berlin", TITLE), raised("nato", UPPER)
    ('Berlin', 'NATO')
    """
    if case == TITLE:
        return text[:1].upper() + text[1:]
    return text.upper() if case == UPPER else text


def case_of(output: str) -> tuple[str, str]:
    """Return the case of an output, and the text that has this output in that case.

    >>> case_of("Berlin"), case_of("iPhone")
    (('t', 'berlin'), ('a', 'iPhone'))
    """
    plain = lowered(output)
    for case in (LOWER, TITLE, UPPER):
        if raised(plain, case) == output:
            return case, plain
    return AS_IS, output


def base_of(form: str, case: str) -> str:
    """Return what labels and rules of this case change."""
    return form if case == AS_IS else lowered(form)


def align(form: str, output: str) -> list[str]:
    """Return for each character of a form what it becomes; an insertion belongs to the character before it.

    >>> align("mice", "mouse")
    ['m', 'ou', 's', 'e']
    """
    short = min(len(form), len(output))
    begin = next((i for i in range(short) if form[i] != output[i]), short)
    end = next((i for i in range(short - begin) if form[-1 - i] != output[-1 - i]), short - begin)
    # insertions need a character before them, or after them at the start
    middle, target = form[begin : len(form) - end], output[begin : len(output) - end]
    pieces = [*form[:begin], *_aligned(middle, target), *form[len(form) - end :]]
    if not middle and target:
        if begin:
            pieces[begin - 1] += target
        else:
            pieces[0] = target + pieces[0]
    return pieces


def _aligned(form: str, output: str) -> list[str]:
    """Align by the smallest sum of edits: cost[i][j] is that of form[:i] and output[:j]."""
    rows, columns = len(form), len(output)
    if rows * columns > CELLS:
        raise DataError(
            f"'{form[:20]}...' and '{output[:20]}...' differ in {rows:,} and {columns:,} characters; split them"
        )
    cost = [float(j) for j in range(columns + 1)]
    moves = [bytearray(b"i" * (columns + 1))]
    for i in range(1, rows + 1):
        diagonal, cost[0] = cost[0], float(i)
        move = bytearray(b"d" * (columns + 1))
        for j in range(1, columns + 1):
            replaced = diagonal + (0.0 if form[i - 1] == output[j - 1] else SUBSTITUTE)
            deleted, inserted = cost[j] + 1.0, cost[j - 1] + 1.0
            diagonal = cost[j]
            cost[j] = min(replaced, deleted, inserted)
            move[j] = ord("s" if cost[j] == replaced else "d" if cost[j] == deleted else "i")
        moves.append(move)
    pieces, i, j, added = [""] * rows, rows, columns, ""
    while i or j:
        step = moves[i][j]
        if step == ord("i"):
            j -= 1
            added = output[j] + added
            continue
        i -= 1
        if step == ord("s"):
            j -= 1
            added = output[j] + added
        pieces[i], added = added, ""
    if rows and added:
        pieces[0] = added + pieces[0]
    return pieces


def edit_labels(form: str, output: str) -> list[str]:
    """Return a label for each character of a form that is not empty.

    >>> [label.replace(KEEP, "=") for label in edit_labels("Houses", "house")]
    ['l|=', '|=', '|=', '|=', '|=', '|']
    """
    case, plain = case_of(output)
    base = base_of(form, case)
    labels = [
        MARK + (KEEP + piece[1:] if piece[:1] == letter else piece)
        for letter, piece in zip(base, align(base, plain), strict=True)
    ]
    if KEEP in form or KEEP in output:  # could not be distinguished from KEEP
        raise DataError(f"{form!r:.40}, {output!r:.40}: the character NUL cannot be learned; leave it out")
    labels[0] = case + labels[0]
    return labels


def apply_labels(form: str, labels: Sequence[str]) -> str:
    """Return the output that labels make of a form that is not empty. The case is that of the first label.

    >>> apply_labels("Mice", edit_labels("Mice", "mouse"))
    'mouse'
    """
    cases, _, pieces = zip(*(label.partition(MARK) for label in labels), strict=True)
    case = cases[0] or LOWER  # a search may put a label of the start elsewhere, or another one there
    letters = zip(base_of(form, case), pieces, strict=True)
    return raised("".join(piece.replace(KEEP, letter) for letter, piece in letters), case)


class Rule(NamedTuple):
    """Replace the beginning and the end of a form."""

    case: str
    beginning: str
    new_beginning: str
    end: str
    new_end: str


def rule_of(form: str, output: str) -> Rule:
    """Return the rule that makes the output, and keeps the longest piece of the form.

    >>> rule_of("walked", "walk").end, rule_of("gegangen", "gehen")
    ('ed', Rule(case='l', beginning='', new_beginning='', end='gangen', new_end='hen'))
    """
    case, plain = case_of(output)
    base = base_of(form, case)
    best, start, begin = _common(base, plain), 0, 0
    if best < max(2, len(base) // 2):
        for a in range(min(START, len(base))):
            for b in range(min(START, len(plain))):
                # a piece that begins later must be longer by two characters
                if (a or b) and (same := _common(base[a:], plain[b:])) > best + 1:
                    best, start, begin = same, a, b
    return Rule(case, base[:start], plain[:begin], base[start + best :], plain[begin + best :])


def _common(one: str, other: str) -> int:
    short = min(len(one), len(other))
    return next((i for i in range(short) if one[i] != other[i]), short)


def apply_rule(form: str, rule: Rule) -> str | None:
    """Return the output of a rule; None if the form does not begin or end as the rule needs it.

    >>> apply_rule("talked", rule_of("walked", "walk")), apply_rule("talk", rule_of("walked", "walk"))
    ('talk', None)
    """
    base = base_of(form, rule.case)
    last = len(base) - len(rule.end)
    if last < len(rule.beginning) or not (base.startswith(rule.beginning) and base.endswith(rule.end)):
        return None
    return raised(rule.new_beginning + base[len(rule.beginning) : last] + rule.new_end, rule.case)
