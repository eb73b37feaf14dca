"""Cut text into sentences of tokens with their character offsets.

A chunk is text without blanks; it is cut into tokens by text/tokens.py. A sentence may end after a token such as '.'.
Whether it does depends on the class of the next token, which is that of its first character:

    A  upper case        a  lower case        o  a letter without case        1  digit        q  opening        -  other
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from sapo.errors import OptionError, SapoError
from sapo.text.tokens import Rules, Words

Offsets = list[tuple[int, int]]
CLASSES = "Aao1q-"
CLOSING = frozenset(
    ("'", '"', "''", ")", "]", "}", "\u2019", "\u201d", "\u00bb", "\u300d", "\u300f", "\uff09", "\u3011")
)
OPENING = frozenset("\"'([{`\u2018\u201c\u201e\u00ab\u00bf\u00a1\u300c\u300e\uff08\u3010")
FINAL = frozenset(".!?\u2026\u061f\u06d4\u0964")
NEVER_FIRST = frozenset(".,;:!?)]}%\u2026\u201d\u00bb\u3001\u3002\uff0c\uff01\uff1f\u300d\u300f\uff09\u3011")
FINAL_ANYWHERE = frozenset("\u3002\uff01\uff1f\uff61")  # they end a sentence without a blank after them
LONGEST_CHUNK = 1000  # characters without a blank; longer chunks are cut
LONGEST_SENTENCE = 1000  # tokens; longer sentences are cut, so that memory is bounded
LONGEST_PARAGRAPH = 100_000  # tokens; longer ones are cut after a sentence
_CHUNK = re.compile(rf"\S{{1,{LONGEST_CHUNK}}}")
_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n\s*|[\f\u2029]\s*")
_REMEMBERED = 1 << 16  # chunks
_REMEMBERED_SIZE = 40  # characters


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
    """Return the key in tables of a token that may end a sentence, or None if it is a word.

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
    """Return the classes of tokens before which this ends a sentence, unless training data says otherwise.

    >>> default_ends("."), default_ends("etc."), default_ends(",")
    ('Ao1q-', '', '')
    """
    if key[-1] in FINAL_ANYWHERE:
        return CLASSES
    if key[0].isalnum() or key[-1] not in FINAL:
        return ""
    return "Ao1q-"


class _Chunk(NamedTuple):
    """A chunk that was cut."""

    tokens: tuple[tuple[int, int], ...]
    first: str  # class of its first token
    ends: str  # classes of tokens before which a sentence ends after it
    breaks: frozenset[int]  # sentences end after these tokens, inside it


class Splitter:
    """Cut text into sentences and tokens. Every character but blanks is in exactly one token.

    A sentence ends at an empty line, and where the rules say so.

    >>> text = "Mr. Smith didn't pay. He left!"
    >>> for sentence in Splitter()(text):
    ...     print(*(text[start:end] for start, end in sentence))
    Mr. Smith did n't pay .
    He left !
    """

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        self._words = Words(self.rules)
        self._remembered: dict[str, _Chunk] = {}

    def __call__(self, text: str) -> list[Offsets]:
        """Return the sentences of a text."""
        return list(self.sentences(text))

    def sentences(self, text: str) -> Iterator[Offsets]:
        """Yield the sentences of a text, one by one: who has enough can stop."""
        for start, end in _paragraphs(text):
            yield from self._sentences(text, start, end)

    def paragraphs(self, text: str) -> Iterator[list[Offsets]]:
        """Yield the sentences of each paragraph. An empty line ends a paragraph."""
        for start, end in _paragraphs(text):
            found: list[Offsets] = []
            size = 0
            for sentence in self._sentences(text, start, end):
                found.append(sentence)
                size += len(sentence)
                if size >= LONGEST_PARAGRAPH:
                    yield found
                    found, size = [], 0
            if found:
                yield found

    def tokens(self, text: str) -> Offsets:
        """Return the tokens of a text that is one sentence."""
        return [token for sentence in self(text) for token in sentence]

    def _sentences(self, text: str, begin: int, end: int) -> Iterator[Offsets]:
        remembered = self._remembered
        sentence: Offsets = []
        ends = ""
        for match in _CHUNK.finditer(text, begin, end):
            word = match[0]
            start = match.start()
            chunk = remembered.get(word) or self._cut(word)
            if (ends and chunk[1] and chunk[1] in ends) or len(sentence) >= LONGEST_SENTENCE:
                yield sentence
                sentence = []
            tokens = chunk[0]
            if len(tokens) == 1:
                sentence.append((start, start + len(word)))
            elif not chunk[3]:
                sentence += [(start + first, start + last) for first, last in tokens]
            else:
                for at, (first, last) in enumerate(tokens):
                    sentence.append((start + first, start + last))
                    if at in chunk[3]:
                        yield sentence
                        sentence = []
            ends = chunk[2]
        if sentence:
            yield sentence

    def _cut(self, word: str) -> _Chunk:
        tokens = []
        at = 0
        for size in self._words.sizes(word):
            tokens.append((at, at + size))
            at += size
        texts = [word[start:end] for start, end in tokens]
        last = len(texts) - 1
        while last > 0 and texts[last] in CLOSING:  # a quote or bracket after the end belongs to the sentence
            last -= 1
        key = end_key(texts[last]) or texts[last]
        ends = self.rules.ends.get(key, default_ends(key))
        chunk = _Chunk(tuple(tokens), next_class(texts[0]), ends, _breaks(texts))
        if len(word) <= _REMEMBERED_SIZE:
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            self._remembered[word] = chunk
        return chunk


def checked_sentences(sentences: Any, text: str) -> list[Offsets]:
    """Return the sentences of a user's own function, without empty ones.

    Raises SapoError unless they are lists of (start, end), in the order of the text.

    >>> checked_sentences([[(0, 2), (2, 3)]], "no!")
    [[(0, 2), (2, 3)]]
    """
    found: list[Offsets] = []
    last = 0
    try:
        for sentence in sentences:
            offsets = [(int(start), int(end)) for start, end in sentence]
            for start, end in offsets:
                if not last <= start < end <= len(text):
                    raise OptionError(
                        f"the function that cuts text: token {start}:{end} is empty, begins before {last} or ends "
                        f"after {len(text)}; return (start, end) of each token in the order of the text"
                    )
                last = end
            if offsets:
                found.append(offsets)
    except SapoError:
        raise
    except (TypeError, ValueError):
        raise OptionError(
            "the function that cuts text must return a list of sentences, each a list of (start, end) of its tokens"
        ) from None
    return found


def last_paragraph_end(text: str) -> int:
    """Return where the last paragraph of a text begins; it may go on, and those before it are complete.

    >>> last_paragraph_end("a\\n\\nb\\n\\nc"), last_paragraph_end("a\\nb")
    (6, 0)
    """
    end = 0
    for match in _PARAGRAPH_END.finditer(text):
        end = match.end()
    return end


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _PARAGRAPH_END.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _breaks(tokens: list[str]) -> frozenset[int]:
    """Return the tokens, except the last, after which a sentence ends without a blank."""
    found = set()
    last = len(tokens) - 1  # of the run of marks and closing quotes that this token is part of
    for at in range(len(tokens) - 2, -1, -1):
        following = tokens[at + 1]
        if not (following in CLOSING or following[-1] in FINAL_ANYWHERE):
            last = at
        if tokens[at][-1] in FINAL_ANYWHERE and last + 1 < len(tokens):
            found.add(last)
    return frozenset(found)
