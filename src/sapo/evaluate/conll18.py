"""Score a system's sentences against gold ones by the rules of the CoNLL 2018 shared task.

Both must have the same characters except blanks. Tokens and sentences are right if both their ends are. Words are
aligned if they stand for the same characters; inside multiword tokens, by the longest common subsequence of their
forms. Precision counts the system's words, recall the gold ones; a tag or an arc is right only for an aligned word.

- LAS: the head is aligned with the gold head, and the relation is the same, without its subtype.
- CLAS: as LAS, only of content words. MLAS: also UPOS, the chosen features, and the same of its function words.
- BLEX: as CLAS, and the lemma is right.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sapo.corpus.treebank import UDSentence, UDWord
from sapo.errors import DataError

CONTENT = frozenset((
    "nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated", "advcl",
    "advmod", "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed", "flat", "compound",
    "list", "parataxis", "orphan", "goeswith", "reparandum", "root", "dep",
))  # fmt: skip
FUNCTIONAL = frozenset((
    "aux", "cop", "mark", "det", "clf", "case", "cc",
))  # fmt: skip
FEATURES = frozenset((
    "PronType", "NumType", "Poss", "Reflex", "Foreign", "Abbr", "Gender", "Animacy", "Number", "Case",
    "Definite", "Degree", "VerbForm", "Mood", "Tense", "Aspect", "Voice", "Evident", "Polarity", "Person",
    "Polite",
))  # fmt: skip
METRICS = (
    "Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS", "CLAS", "MLAS", "BLEX",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class F1:
    """How many units were found, are in the gold data, and are right."""

    system: int
    gold: int
    right: int
    aligned: int | None = None  # words that both have

    @property
    def precision(self) -> float:
        """The share of what was found that is right."""
        return self.right / self.system if self.system else 0.0

    @property
    def recall(self) -> float:
        """The share of the gold units that was found."""
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.right / (self.system + self.gold) if self.system + self.gold else 0.0


class _Word(NamedTuple):
    """A word with its place in the text without blanks, and its tree."""

    word: UDWord
    start: int  # of its token, or of itself where it is one
    end: int
    multiword: bool
    head: int  # the place of its head in the list of all words; -1 for the root
    functional: tuple[int, ...]  # its function words


class _Document(NamedTuple):
    text: str
    tokens: list[tuple[int, int]]
    sentences: list[tuple[int, int]]
    words: list[_Word]


def score(gold: Sequence[UDSentence], system: Sequence[UDSentence]) -> dict[str, F1]:
    """Return the scores by the names in `METRICS`. Raise DataError if the texts differ, or a tree is none."""
    one, other = _document(gold), _document(system)
    if one.text != other.text:
        raise DataError(_difference(one.text, other.text))
    pairs = _align(one.words, other.words)
    partner = {found: right for right, found in pairs}  # of a word of the system

    def same_head(g: int, s: int) -> bool:
        head, found = one.words[g].head, other.words[s].head
        return head == -1 if found == -1 else partner.get(found, -2) == head

    def relation(word: UDWord) -> str:
        return word.deprel.partition(":")[0]

    def labeled(g: int, s: int) -> bool:
        return same_head(g, s) and relation(one.words[g].word) == relation(other.words[s].word)

    def morphology(g: int, s: int) -> bool:
        a, b = one.words[g].word, other.words[s].word
        return a.upos == b.upos and _universal(a.feats) == _universal(b.feats)

    def with_function_words(g: int, s: int) -> bool:
        mine, found = one.words[g].functional, other.words[s].functional
        if not (labeled(g, s) and morphology(g, s)) or len(mine) != len(found):
            return False
        return all(
            partner.get(b, -2) == a
            and relation(one.words[a].word) == relation(other.words[b].word)
            and morphology(a, b)
            for a, b in zip(mine, found, strict=True)
        )

    def lemma(g: int, s: int) -> bool:
        wanted = one.words[g].word.lemma
        return wanted == "_" or wanted == other.words[s].word.lemma

    def equal(*names: str) -> Callable[[int, int], bool]:
        return lambda g, s: all(_value(one.words[g].word, name) == _value(other.words[s].word, name) for name in names)

    def content(word: _Word) -> bool:
        return relation(word.word) in CONTENT

    def count(right: Callable[[int, int], bool], chosen: Callable[[_Word], bool] | None = None) -> F1:
        if chosen is None:
            return F1(len(other.words), len(one.words), sum(right(g, s) for g, s in pairs), len(pairs))
        return F1(
            sum(map(chosen, other.words)),
            sum(map(chosen, one.words)),
            sum(chosen(one.words[g]) and right(g, s) for g, s in pairs),
            sum(chosen(one.words[g]) for g, s in pairs),
        )

    return {
        "Tokens": _spans(one.tokens, other.tokens),
        "Sentences": _spans(one.sentences, other.sentences),
        "Words": count(lambda g, s: True),
        "UPOS": count(equal("upos")),
        "XPOS": count(equal("xpos")),
        "UFeats": count(equal("feats")),
        "AllTags": count(equal("upos", "xpos", "feats")),
        "Lemmas": count(lemma),
        "UAS": count(same_head),
        "LAS": count(labeled),
        "CLAS": count(labeled, content),
        "MLAS": count(with_function_words, content),
        "BLEX": count(lambda g, s: labeled(g, s) and lemma(g, s), content),
    }


def table(scores: dict[str, F1]) -> str:
    """Return the scores as a table: precision, recall, F1, and accuracy on aligned words, in percent."""
    lines = ["metric     | precision |  recall  |    F1    | aligned acc.", "-" * 58]
    for name, one in scores.items():
        numbers = [f"{100 * value:8.2f}" for value in (one.precision, one.recall, one.f1)]
        aligned = f"{100 * one.right / one.aligned:8.2f}" if one.aligned else ""
        lines.append(f"{name:10} |  {numbers[0]} | {numbers[1]} | {numbers[2]} | {aligned}".rstrip())
    return "\n".join(lines)


def _value(word: UDWord, name: str) -> str:
    if name == "feats":
        return _universal(word.feats)
    return word.upos if name == "upos" else word.xpos


def _universal(feats: str) -> str:
    """Return the features that are universal, in order."""
    return "|".join(sorted(item for item in feats.split("|") if item.partition("=")[0] in FEATURES))


def _spans(gold: list[tuple[int, int]], system: list[tuple[int, int]]) -> F1:
    return F1(len(system), len(gold), len(set(gold) & set(system)))


def _document(sentences: Sequence[UDSentence]) -> _Document:
    pieces: list[str] = []
    tokens: list[tuple[int, int]] = []
    spans: list[tuple[int, int]] = []
    words: list[_Word] = []
    at = 0
    for sentence in sentences:
        first, begin = len(words), at
        heads = sentence.heads if any(word.head is not None for word in sentence.words) else None
        helpers: dict[int, list[int]] = {}
        for number, head in enumerate(heads or ()):
            if sentence.words[number].deprel.partition(":")[0] in FUNCTIONAL:
                helpers.setdefault(head - 1, []).append(first + number)
        for token in sentence.tokens:
            form = "".join(token.form.split())
            pieces.append(form)
            tokens.append((at, at + len(form)))
            for number in range(token.first, token.last):
                # without trees each word is its own head, so that none is wrong
                head = first + number if heads is None else -1 if heads[number] == 0 else first + heads[number] - 1
                several = token.last - token.first > 1
                own = tuple(helpers.get(number, ()))
                words.append(_Word(sentence.words[number], at, at + len(form), several, head, own))
            at += len(form)
        spans.append((begin, at))
    return _Document("".join(pieces), tokens, spans, words)


def _difference(gold: str, system: str) -> str:
    same = next(
        (at for at, (a, b) in enumerate(zip(gold, system, strict=False)) if a != b), min(len(gold), len(system))
    )
    return (
        f"the texts differ after {same:,} characters without blanks: gold {gold[same : same + 20]!r}, "
        f"system {system[same : same + 20]!r}; score files of the same text"
    )


def _align(gold: list[_Word], system: list[_Word]) -> list[tuple[int, int]]:
    """Return pairs of words that are the same."""
    pairs: list[tuple[int, int]] = []
    g = s = 0
    while g < len(gold) and s < len(system):
        if gold[g].multiword or system[s].multiword:
            if gold[g].end <= system[s].start:
                g += 1
                continue
            if system[s].end <= gold[g].start:
                s += 1
                continue
            g_end, s_end = _region(gold, system, g, s)
            pairs += _common(gold, system, (g, g_end), (s, s_end))
            g, s = g_end, s_end
        elif (gold[g].start, gold[g].end) == (system[s].start, system[s].end):
            pairs.append((g, s))
            g, s = g + 1, s + 1
        elif gold[g].start <= system[s].start:
            g += 1
        else:
            s += 1
    return pairs


def _region(gold: list[_Word], system: list[_Word], g: int, s: int) -> tuple[int, int]:
    """Return where the words end that overlap, on either side, with multiword tokens that begin here."""
    end = max(gold[g].end if gold[g].multiword else 0, system[s].end if system[s].multiword else 0)
    while True:
        if g < len(gold) and gold[g].start < end:
            end = max(end, gold[g].end) if gold[g].multiword else end
            g += 1
        elif s < len(system) and system[s].start < end:
            end = max(end, system[s].end) if system[s].multiword else end
            s += 1
        else:
            return g, s


def _common(
    gold: list[_Word], system: list[_Word], of_gold: tuple[int, int], of_system: tuple[int, int]
) -> list[tuple[int, int]]:
    """Return the longest common subsequence of forms, without regard to case."""
    (g0, g1), (s0, s1) = of_gold, of_system
    left = [gold[at].word.form.lower() for at in range(g0, g1)]
    right = [system[at].word.form.lower() for at in range(s0, s1)]
    # longest[i][j]: of left[i:] and right[j:]
    longest = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        for j in range(len(right) - 1, -1, -1):
            same = longest[i + 1][j + 1] + 1 if left[i] == right[j] else 0
            longest[i][j] = max(same, longest[i + 1][j], longest[i][j + 1])
    pairs = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] == right[j]:
            pairs.append((g0 + i, s0 + j))
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs
