"""Count what training sentences say about how text is cut. This runs over all tokens, so its loops are short.

The running text of a sentence says which tokens stood together without a blank. Where it is not known, marks are taken
to stand where they usually do.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from sapo.text.ends import CLOSING, end_key, next_class

CLITIC = re.compile(r"['\u2019][^\W\d_]{1,3}|n['\u2019]t", re.IGNORECASE)
ENOUGH = 200_000  # tokens: more would not change the rules
_LEFT, _RIGHT, _BOTH = 1, 2, 3  # without a blank before it, behind it, or on both sides
_USUAL = {
    **dict.fromkeys([*".,;:!?)]}%\u2026\u201d\u00bb", "''", "..."], _LEFT),
    **dict.fromkeys([*"([{$#@\u201c\u00ab\u00bf\u00a1", "``"], _RIGHT),
    **dict.fromkeys("-/", _BOTH),
}
_LOST = 8  # tokens to look ahead where the text has other words


class _Classes(dict[str, str]):
    def __missing__(self, token: str) -> str:
        found = self[token] = next_class(token)
        return found


class _Places(dict[str, int]):
    def __missing__(self, token: str) -> int:
        found = self[token] = _USUAL.get(token) or (_LEFT if CLITIC.fullmatch(token) else 0)
        return found


class Evidence:
    """What is counted of sentences, in the order in which they come.

    >>> evidence = Evidence()
    >>> evidence.add(["It", "'s", "me", "."], "It's me.")
    >>> evidence.together
    Counter({('It', "'s"): 1, ('me', '.'): 1})
    """

    def __init__(self) -> None:
        self.tokens: Counter[str] = Counter()
        self.together: Counter[tuple[str, ...]] = Counter()  # two tokens or more without a blank between them
        self.inside: Counter[tuple[str, str]] = Counter()  # a token, and the class of the next in the same sentence
        self.ends: Counter[tuple[str, str]] = Counter()  # the last token, and the class of the next sentence
        self.size = 0
        self._classes = _Classes()
        self._places = _Places()
        self._last: str | None = None

    @property
    def enough(self) -> bool:
        """Whether further sentences would be ignored."""
        return self.size >= ENOUGH

    def add(self, tokens: Sequence[str], text: str | None = None) -> None:
        """Count a sentence. `text` is its running text, if known."""
        if not tokens or not all(tokens) or self.enough:
            return
        self.size += len(tokens)
        self.tokens.update(tokens)
        self.together.update(self._usual(tokens) if text is None else _in_text(tokens, text))
        if self._last is not None:
            self.ends[self._last, self._classes[tokens[0]]] += 1
        if CLOSING.isdisjoint(tokens):
            self.inside.update(zip(tokens, map(self._classes.__getitem__, tokens[1:]), strict=False))
            self._last = tokens[-1]
        else:
            self._add_quoted(tokens)

    def _add_quoted(self, tokens: Sequence[str]) -> None:
        """Count where sentences end if there are closing quotes or brackets, which belong to what stands before."""
        self._last = None
        at = 0
        while at < len(tokens):
            following = at + 1
            if end_key(tokens[at]):
                while following < len(tokens) and tokens[following] in CLOSING:
                    following += 1
            if following < len(tokens):
                self.inside[tokens[at], self._classes[tokens[following]]] += 1
            elif self._last is None:
                self._last = tokens[at]
            at += 1

    def _usual(self, tokens: Sequence[str]) -> Iterator[tuple[str, ...]]:
        places = list(map(self._places.__getitem__, tokens))
        first = last = 0
        for at, place in enumerate(places):
            if not place:
                continue
            start = at - 1 if place & _LEFT and at else at
            end = min(at + 1 if place & _RIGHT else at, len(tokens) - 1)
            if start > last:
                if last > first:
                    yield tuple(tokens[first : last + 1])
                first = start
            last = max(end, last)
        if last > first:
            yield tuple(tokens[first : last + 1])


def _in_text(tokens: Sequence[str], text: str) -> Iterator[tuple[str, ...]]:
    """Yield tokens that stand together. Words that the text has otherwise, as zum for zu and dem, are passed over."""
    at = 0
    lost = False
    for chunk in text.split():
        if lost:
            near = range(at, min(at + _LOST, len(tokens)))
            at = next((place for place in near if chunk.startswith(tokens[place])), at)
        if at < len(tokens) and tokens[at] == chunk:
            at += 1
            lost = False
            continue
        end, size = at, 0
        while end < len(tokens) and chunk.startswith(tokens[end], size):
            size += len(tokens[end])
            end += 1
        lost = size != len(chunk)
        if not lost:
            yield tuple(tokens[at:end])
            at = end
