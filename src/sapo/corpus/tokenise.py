"""Raw text in, character offsets of its tokens out, by a few fixed rules close to those of the Penn Treebank.

1. White space separates tokens and belongs to none.
2. Brackets, double quotes, long dashes, ellipses, and commas that are not between two digits are tokens anywhere.
3. Other punctuation is split off at both ends of a word and kept inside it: o'clock, AT&T, 1,000.5, 12:30.
4. The clitics 's 'd 'm 're 've 'll n't are tokens: do|n't, I|'d|'ve. Straight and curly apostrophes are alike.
5. The period stays on single letters (U.S., J.) and on the titles below, even at the end of a sentence;
   after a hyphen too (non-U.S.). Every other period at the end of a word is a token.
6. A sign or a period right before a digit belongs to the number: -5, .5.

Each rule looks at one word alone, so tokens joined by blanks give the same tokens again.
"""

import re
import unicodedata

_CLITICS = frozenset(("'s", "'d", "'m", "'re", "'ve", "'ll", "n't"))

_SPLITS_ANYWHERE = r"""-{2,}|\.{2,}|`{2}|'{2}|[()\[\]{}"“”«»—…]|,(?!\d)|(?<!\d),"""
_PIECE = re.compile(rf"(?P<token>{_SPLITS_ANYWHERE})|(?:(?!{_SPLITS_ANYWHERE})\S)+")

_ABBREVIATION = re.compile(
    r"(?:[^\W\d_]\.)+|(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|Inc|Co|Ltd|Corp|Ph\.D)\."  # e.g. and i.e. are single letters
)
_NUMBER_BEGINS = re.compile(r"[-+\u2212]?\.?\d")
# not before a second apostrophe: 's' is a quoted letter
_CLITIC_BEGINS = re.compile(r"['\u2019](?:s|d|m|re|ve|ll)(?![\w'\u2019])", re.IGNORECASE)


def tokenise(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each token, end exclusive. Every character but white space is in exactly one token.

    >>> text = "Mr. Smith didn't pay $1,000.5 in the U.S., did he?"
    >>> [text[start:end] for start, end in tokenise(text)]
    ['Mr.', 'Smith', 'did', "n't", 'pay', '$', '1,000.5', 'in', 'the', 'U.S.', ',', 'did', 'he', '?']
    """
    offsets: list[tuple[int, int]] = []
    for piece in _PIECE.finditer(text):
        if piece["token"]:
            offsets.append(piece.span())
        else:
            offsets.extend(_split_ends(text, *piece.span()))
    return offsets


def _split_ends(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Split punctuation and clitics off both ends of text[start:end]; the left first, as 'U.S. must become ' U.S."""
    left = []
    while start < end and _is_punctuation(text[start]) and not _keeps_first(text, start, end):
        left.append((start, start + 1))
        start += 1
    right = []
    while start < end and (size := _last_token_size(text, start, end)):
        right.append((end - size, end))
        end -= size
    core = [(start, end)] if start < end else []
    return [*left, *core, *reversed(right)]


def _keeps_first(text: str, start: int, end: int) -> bool:
    return bool(_NUMBER_BEGINS.match(text, start, end) or _CLITIC_BEGINS.match(text, start, end))


def _last_token_size(text: str, start: int, end: int) -> int:
    """Return how many characters to split off the end of text[start:end]; 0 when it is one token."""
    for size in (2, 3):
        tail = text[max(start, end - size) : end].lower().replace("\u2019", "'")
        if tail in _CLITICS:
            return size if end - size > start else 0
    if not _is_punctuation(text[end - 1]):
        return 0
    if text[end - 1] == ".":
        after_hyphen = max(start, text.rfind("-", start, end) + 1)
        if _ABBREVIATION.fullmatch(text, after_hyphen, end):
            return 0
    return 1


def _is_punctuation(character: str) -> bool:
    # the Unicode classes P and S; not "no word character", which would split accents off their letters
    return unicodedata.category(character)[0] in "PS"
