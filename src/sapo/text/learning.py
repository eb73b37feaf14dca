"""Learn from training sentences how text is cut.

`Evidence` counts which tokens stood together without a blank, and where sentences ended. The running text of a
sentence shows this; if it is not known, punctuation marks are assumed to stand where they usually do. `rules_of`
chooses for each case the rule that the counts support; without evidence, those of the Penn Treebank stay.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sapo.text.splitter import CLASSES, CLOSING, default_ends, end_key, next_class
from sapo.text.tokens import (
    ALONE,
    BOTH,
    CHARACTERS,
    CLITICS,
    EDGE,
    IDEOGRAPH,
    IDEOGRAPHS,
    KEPT,
    LEFT,
    MOST_CLITICS,
    RIGHT,
    WORDS,
    Rules,
    Words,
    atoms_of,
    default_attachment,
    is_mark,
    mark_key,
    side_class,
    sides,
    word_key,
)

Chunks = dict[tuple[str, ...], int]  # tokens that stand together, and how often
CLITIC = re.compile(r"['\u2019][^\W\d_]{1,3}|n['\u2019]t", re.IGNORECASE)
ENOUGH = 50_000  # tokens: with four times as many, no more tokens of EWT's dev file are cut right
MOST_KEPT = 5000
_LEFT, _RIGHT, _BOTH = 1, 2, 3  # without a blank before it, after it, or on both sides
_USUAL = {
    **dict.fromkeys([*".,;:!?)]}%\u2026\u201d\u00bb", "''", "..."], _LEFT),
    **dict.fromkeys([*"([{$#@\u201c\u00ab\u00bf\u00a1", "``"], _RIGHT),
    **dict.fromkeys("-/", _BOTH),
}
_LOST = 8  # tokens to look ahead if the text has other words
_HOW = {(True, True): ALONE, (True, False): RIGHT, (False, True): LEFT, (False, False): BOTH}
_IDEOGRAPHS = re.compile(f"[{IDEOGRAPH}]+")
_RUN = re.compile(r"([^\w\s]|_)\1+")
_AFTER_DIGITS = re.compile(r"\d([^\W\d_]+)")
_COMMON = frozenset(".,:;!?)")
_SURE = 5  # times more often at the end of sentences than inside
_SELDOM = 2  # rarer cases are chance


class _Classes(dict[str, str]):
    """The class of each token after a possible end of a sentence."""

    def __missing__(self, token: str) -> str:
        found = self[token] = next_class(token)
        return found


class _Places(dict[str, int]):
    """On which sides each token usually has no blank."""

    def __missing__(self, token: str) -> int:
        found = self[token] = _USUAL.get(token) or (_LEFT if CLITIC.fullmatch(token) else 0)
        return found


class Evidence:
    """Counts of sentences, which are added in the order of the text.

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
        self.borders: list[tuple[str, int, str]] = []  # text without blanks, where it is split, and what says so
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
        """Count where sentences end if there are closing quotes or brackets, which belong to the token before."""
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
    """Yield tokens that stand together. Words that are different in the text, as zum for zu and dem, are skipped."""
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


def learn_rules(sentences: Iterable[tuple[Sequence[str], str | None]]) -> Rules:
    """Return the rules that cut text most like these sentences: pairs of tokens and running text, or None.

    >>> rules = learn_rules([(["a", "well", "-", "known", "dog"], "a well-known dog")] * 3)
    >>> rules.marks["a-a"]
    'alone'
    """
    evidence = Evidence()
    for tokens, text in sentences:
        evidence.add(tokens, text)
    return rules_of(evidence)


def unlearned(evidence: Evidence, rules: Rules) -> list[str]:
    """Return what says that text is split at a place where these rules do not split it.

    >>> evidence = Evidence()
    >>> evidence.borders += [("well-known", 4, "a:1: span 0:4"), ("wellknown", 4, "a:2: span 0:4")]
    >>> unlearned(evidence, Rules(marks={"a-a": "alone"}))
    ['a:2: span 0:4']
    """
    words = Words(rules)
    return [
        message for chunk, border, message in evidence.borders if border not in itertools.accumulate(words.sizes(chunk))
    ]


def rules_of(evidence: Evidence) -> Rules:
    """Return the rules that the evidence supports."""
    unit = _unit(evidence.tokens)
    ends = _ends(evidence)
    if unit == CHARACTERS:
        return Rules(unit, ends=ends)
    chunks = _chunks(evidence)
    rules = Rules(unit, runs=_runs(evidence), clitics=_clitics(evidence.tokens), ends=ends, kept=frozenset())
    rules = replace(rules, units=_units(chunks), pieces=_pieces(chunks))
    rules = replace(rules, marks=_marks(chunks, rules))
    return replace(rules, kept=_kept(evidence, rules))


def _chunks(evidence: Evidence) -> Chunks:
    """Return everything that stood between blanks."""
    alone = Counter(evidence.tokens)
    for chunk, count in evidence.together.items():
        for token in chunk:
            alone[token] -= count
    return {**{(token,): count for token, count in alone.items() if count > 0}, **evidence.together}


def _unit(tokens: Counter[str]) -> str:
    several = sum(count for token, count in tokens.items() if len(token) > 1)
    if not several:
        return CHARACTERS if any(_IDEOGRAPHS.fullmatch(token) for token in tokens) else WORDS
    lengths: Counter[bool] = Counter()
    for token, count in tokens.items():
        if _IDEOGRAPHS.fullmatch(token):
            lengths[len(token) == 1] += count
    return IDEOGRAPHS if lengths[True] > 20 * lengths[False] and lengths[True] > several / 10 else WORDS


def _runs(evidence: Evidence) -> str:
    together: Counter[str] = Counter()
    for token, count in evidence.tokens.items():
        if _RUN.fullmatch(token):
            together[token[0]] += count
    for chunk, count in evidence.together.items():
        for one, other in itertools.pairwise(chunk):
            if one == other and not one[0].isalnum():
                together[one[0]] -= count
    default = {mark for mark in Rules().runs if together[mark] >= 0}
    return "".join(sorted(default | {mark for mark, count in together.items() if count > 0}))


def _clitics(tokens: Counter[str]) -> tuple[str, ...]:
    found: Counter[str] = Counter()
    for token, count in tokens.items():
        if CLITIC.fullmatch(token):
            found[token.lower().replace("\u2019", "'")] += count
    whole = {ending for token in tokens for ending in _endings(token) if len(token) > len(ending)}
    found.update({clitic: _SELDOM for clitic in CLITICS if clitic not in whole})  # no evidence against them
    return tuple(sorted(clitic for clitic, count in found.items() if count >= _SELDOM)[:MOST_CLITICS])


def _endings(token: str) -> tuple[str, ...]:
    """Return the usual clitics that a token ends with."""
    plain = token.lower().replace("\u2019", "'")
    return tuple(clitic for clitic in CLITICS if plain.endswith(clitic)) if "'" in plain else ()


def _units(chunks: Chunks) -> frozenset[str]:
    """Return the letters that are cut off digits: 5|pm, but not 1st."""
    balance: Counter[str] = Counter()
    for chunk, count in chunks.items():
        for one, other in itertools.pairwise(chunk):
            if one[-1].isdecimal() and other.isalpha():
                balance[other.lower()] += count
        for token in chunk:
            if token[0].isdecimal() and not token.isdecimal():
                for digits in _AFTER_DIGITS.finditer(token):
                    balance[digits[1].lower()] -= count
    return frozenset(letters for letters, count in balance.items() if count >= _SELDOM)


def _pieces(chunks: Chunks) -> dict[str, tuple[int, ...]]:
    """Return words without marks that are several tokens more often than one, and their sizes: cannot as can|not."""
    cut: dict[str, Counter[tuple[int, ...]]] = {}
    for chunk, count in chunks.items():
        if len(chunk) > 1:
            for run in _letters(chunk):
                if len(run) > 1:
                    cut.setdefault("".join(run).lower(), Counter())[tuple(map(len, run))] += count
    whole: Counter[str] = Counter()
    for chunk, count in chunks.items():
        if len(chunk) == 1 and chunk[0].lower() in cut:
            whole[chunk[0].lower()] += count
    pieces = {}
    for word, options in cut.items():
        sizes, count = options.most_common(1)[0]
        if count >= _SELDOM and count > whole[word] and sum(sizes) == len(word):
            pieces[word] = sizes
    return pieces


def _letters(chunk: Sequence[str]) -> Iterator[list[str]]:
    """Yield the longest runs of tokens that are letters only."""
    for letters, run in itertools.groupby(chunk, str.isalpha):
        if letters:
            yield list(run)


def _marks(chunks: Chunks, rules: Rules) -> dict[str, str]:
    """Return how each mark between its neighbors is cut most often, if it is not the default."""
    counted: dict[str, Counter[str]] = {}
    of_words: dict[tuple[str, str], Counter[str]] = {}  # by the key of the word and that of its class
    classes: dict[str, tuple[str, str, str]] = {}
    words = Words(rules)
    for chunk, count in chunks.items():
        if chunk[0].isalpha() and (len(chunk) == 1 or (len(chunk) == 2 and chunk[1] in _COMMON)):
            if len(chunk) == 2:  # a short cut for the most frequent case
                left = side_class(chunk[0])
                classes[key := mark_key(left, chunk[1], EDGE)] = left, chunk[1], EDGE
                counted.setdefault(key, Counter())[ALONE] += count
            continue
        whole = "".join(chunk)
        borders = {0, *itertools.accumulate(map(len, chunk))}
        for start, end, settled in words.parts(whole):
            atoms = [] if settled else atoms_of(whole[start:end], rules.runs)
            at = start
            for place, atom in enumerate(atoms):
                before, at = at, at + len(atom)
                if not is_mark(atom):
                    continue
                cut = before in borders or not place
                cut_earlier = place < 2 or before - len(atoms[place - 1]) in borders
                left, right = sides(atoms, place, cut_earlier)
                how = _HOW[cut, at in borders or place + 1 == len(atoms)]
                key = mark_key(left, atom, right)
                classes[key] = left, atom, right
                counted.setdefault(key, Counter())[how] += count
                if left == "a" and right == "a":
                    of_words.setdefault((word_key(atoms, place, right), key), Counter())[how] += count
    found = {}
    for key, options in counted.items():
        how, count = options.most_common(1)[0]
        if count >= _SELDOM and count > options[default_attachment(*classes[key])]:
            found[key] = how
    for (word, key), options in of_words.items():
        how, count = options.most_common(1)[0]
        if count >= _SELDOM and count > options[found.get(key, default_attachment(*classes[key]))]:
            found[word] = how
    return found


def _kept(evidence: Evidence, rules: Rules) -> frozenset[str]:
    """Return tokens that the rules would cut although they are whole more often than cut."""
    words = Words(rules)
    parts: dict[tuple[str, ...], str] = {}
    for token, count in evidence.tokens.items():
        if len(token) < 2 or token.isalpha() or (count < _SELDOM and any(map(str.isalnum, token))):
            continue
        if any(map(str.isspace, token)):
            continue
        sizes = words.sizes(token)
        if len(sizes) > 1:
            at = 0
            cut = []
            for size in sizes:
                cut.append(token[at : at + size])
                at += size
            parts[tuple(cut)] = token
    balance = Counter({token: evidence.tokens[token] for token in parts.values()})
    lengths = sorted({len(cut) for cut in parts})
    for chunk, count in evidence.together.items():
        for start in range(len(chunk) - 1):
            for length in lengths:
                whole = parts.get(chunk[start : start + length])
                if whole is not None:
                    balance[whole] -= count
    found = {token for token, count in balance.most_common(MOST_KEPT) if count > 0}
    cut_off = {chunk[:2] for chunk in evidence.together}
    return frozenset(found | {token for token in KEPT if (token[:-1], ".") not in cut_off})


def _ends(evidence: Evidence) -> dict[str, str]:
    """Return before which classes of tokens each possible end ends a sentence, if it is not the default."""
    words: Counter[str] = Counter()
    for (token, _), count in evidence.ends.items():
        words[token] += count
    balance: Counter[tuple[str, str]] = Counter()
    for counted, sign in ((evidence.ends, 1), (evidence.inside, -1)):
        for (token, following), count in counted.items():
            ending = end_key(token)
            if ending is not None or words[token] > _SURE:
                balance[ending or token, following] += sign * count
    found: dict[str, str] = {}
    for key in sorted({key for key, _ in balance}):
        default = default_ends(key)
        against = 1 if default else _SURE  # a word or comma may end some sentences by chance
        usual = (1 if following in default else -against for following in CLASSES)
        classes = "".join(
            following for following, bias in zip(CLASSES, usual, strict=True) if balance[key, following] + bias > 0
        )
        if classes != default:
            found[key] = classes
    return found
