"""Read and write sentences of CoNLL-U with tokens, words and trees, and reject trees that are none.

A token is what stands in the text; a multiword token such as "don't" has several words. Words have tags, a lemma and a
head. Empty nodes (8.1) and enhanced dependencies are skipped, as in the CoNLL 2018 shared task.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sapo.corpus.blocks import Sentence
from sapo.corpus.conllu import COLUMNS, GLUED, TEXT, ConlluOrigin, read_blocks
from sapo.errors import DataError
from sapo.tags.labels import in_order

NONE = "_"
_RANGE = re.compile(r"(\d+)-(\d+)\t([^\t]*)\t")
_NEW_PARAGRAPH = re.compile(r"#\s*new(par|doc)\b")
_BAD_FIELD = re.compile(r"[\t\r\n]")


@dataclass(frozen=True, slots=True)
class UDWord:
    """A word of a sentence: the unit that has tags, a lemma and a head."""

    form: str
    lemma: str = NONE
    upos: str = NONE
    xpos: str = NONE
    feats: str = NONE
    head: int | None = None  # the number of another word, from 1; 0 for the root; None if there is no tree
    deprel: str = NONE
    misc: str = NONE


@dataclass(frozen=True, slots=True)
class UDToken:
    """A token of the text. It has the words first, ..., last - 1 of the sentence, counted from 0."""

    form: str
    first: int
    last: int
    start: int = -1  # of `text[start:end]`, the text that was given; -1 if it is not known
    end: int = -1
    space_after: bool = True


@dataclass(frozen=True, slots=True)
class UDSentence:
    """A sentence with its tokens and words."""

    tokens: tuple[UDToken, ...]
    words: tuple[UDWord, ...]
    comments: tuple[str, ...] = ()  # lines that begin with #, except that of the text
    place: str = ""  # for messages: where it was read

    @property
    def text(self) -> str:
        """The running text, with one blank where the tokens were not glued together."""
        return "".join(token.form + " " * token.space_after for token in self.tokens).strip()

    @property
    def heads(self) -> list[int]:
        """The head of each word. Raises DataError unless they are a tree with one root.

        >>> UDSentence((), (UDWord("No", head=2), UDWord("way", head=0))).heads
        [2, 0]
        """
        place = self.place or "sentence"
        heads = []
        for at, word in enumerate(self.words, 1):
            if word.head is None:
                raise DataError(
                    f"{place}: word {at} ({word.form[:40]!r}) has no head; give each word one, 0 for the root"
                )
            heads.append(word.head)
        check_heads(heads, place)
        return heads

    def to_conllu(self) -> str:
        r"""Return the sentence as CoNLL-U, with the empty line after it.

        >>> UDSentence((UDToken("Go", 0, 1, space_after=False),), (UDWord("Go"),)).to_conllu()
        '# text = Go\n1\tGo\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n\n'
        """
        lines = [*self.comments, TEXT + " ".join(self.text.split())]
        for token in self.tokens:
            glued = NONE if token.space_after else GLUED
            several = token.last - token.first > 1
            if several:
                lines.append("\t".join([f"{token.first + 1}-{token.last}", token.form, *[NONE] * 7, glued]))
            for at in range(token.first, token.last):
                word = self.words[at]
                misc = word.misc if several else _with_glue(word.misc, token.space_after)
                head = NONE if word.head is None else str(word.head)
                fields = [str(at + 1), word.form, word.lemma, word.upos, word.xpos, word.feats, head, word.deprel]
                lines.append("\t".join([*fields, NONE, misc]))
        for line in lines:
            if "\n" in line or "\r" in line:
                raise DataError(f"{line[:40]!r} cannot be written to CoNLL-U: it has a line break")
        return "\n".join(lines) + "\n\n"

    @property
    def starts_paragraph(self) -> bool:
        """Whether a paragraph or document begins here."""
        return any(map(_NEW_PARAGRAPH.match, self.comments))


class UDDocument(list[UDSentence]):
    """The sentences of a text."""

    def to_conllu(self) -> str:
        """Return all sentences as CoNLL-U."""
        return "".join(sentence.to_conllu() for sentence in self)


def read_treebank(path: str | Path) -> Iterator[UDSentence]:
    """Yield the sentences of a CoNLL-U file. Trees are not checked; `UDSentence.heads` does that.

    Raises DataError if a line has other than ten columns, or an ID or a head makes no sense.
    """
    for block in read_blocks(path, labeled=False):
        scanned = block.origin_as(ConlluOrigin).scanned
        lines = scanned.line_numbers(scanned.line_starts).tolist()
        for number, sentence in enumerate(block.sentences()):
            first, last = int(block.offsets[number]), int(block.offsets[number + 1])
            if last > first:
                yield _sentence(sentence, block.name, lines[first:last])


def _sentence(sentence: Sentence, name: str, lines: Sequence[int]) -> UDSentence:
    rows = list(zip(*(sentence.columns[column] for column in COLUMNS), strict=True))
    words: list[UDWord] = []
    for at, (row, line) in enumerate(zip(rows, lines, strict=True), 1):
        number, form, lemma, upos, xpos, feats, head, deprel, _, misc = row
        if number != str(at):
            raise DataError(f"{name}:{line}: expected the ID {at}, found {number[:20]!r}; number the words from 1")
        if head != NONE and not re.fullmatch(r"\d{1,7}", head):
            raise DataError(f"{name}:{line}: HEAD must be the ID of a word, 0 or '_', found {head[:20]!r}")
        words.append(
            UDWord(form, lemma, upos, xpos, in_order(feats) or feats, None if head == NONE else int(head), deprel, misc)
        )
    ranges: dict[int, tuple[int, str, str]] = {}
    covered = 0
    for before, note in sentence.notes:
        found = _RANGE.match(note)
        if found is None:
            continue
        first, last = int(found[1]), int(found[2])
        place = f"{name}:{lines[0]}: the multiword token {found[1]}-{found[2]} of this sentence"
        if first != before + 1 or not first < last <= len(words) or first <= covered:
            raise DataError(f"{place} does not stand before the words {found[1]} to {found[2]}; move or renumber it")
        fields = note.split("\t")
        if len(fields) != len(COLUMNS):
            raise DataError(f"{place} has {len(fields)} columns; write {len(COLUMNS)}, with '_' for those it lacks")
        if fields[COLUMNS.index("head")] != NONE:
            raise DataError(f"{place} has a HEAD; its words have heads, a multiword token has none: write '_'")
        ranges[first - 1] = last, found[3], fields[-1]
        covered = last
    tokens: list[UDToken] = []
    at = 0
    while at < len(words):
        last, form, misc = ranges.get(at, (at + 1, words[at].form, words[at].misc))
        tokens.append(UDToken(form, at, last, space_after=GLUED not in misc.split("|")))
        at = last
    # a treebank without SpaceAfter=No may still have its text
    given = next((note.removeprefix(TEXT) for _, note in sentence.notes if note.startswith(TEXT)), "")
    if spaces := _spaces(given, [token.form for token in tokens]):
        tokens = [
            replace(one, space_after=one.space_after and space) for one, space in zip(tokens, spaces, strict=True)
        ]
    comments = tuple(note for _, note in sentence.notes if note.startswith("#") and not note.startswith(TEXT))
    return UDSentence(tuple(tokens), tuple(words), comments, f"{name}:{lines[0]}")


def _spaces(text: str, forms: Iterable[str]) -> list[bool]:
    """Return whether a blank follows each token in the text, or [] if the tokens are not those of the text.

    >>> _spaces("Go on!", ["Go", "on", "!"]), _spaces("Go on!", ["Go", "off", "!"])
    ([True, False, True], [])
    """
    spaces, at = [], 0
    for form in forms:
        if not text.startswith(form, at):
            return []
        end = at + len(form)
        at = end
        while at < len(text) and text[at].isspace():
            at += 1
        spaces.append(at > end or end == len(text))
    return spaces if at == len(text) else []


def check_heads(heads: Sequence[int], place: str) -> None:
    """Raise DataError, which begins with the place, unless the heads of words are a tree with one root.

    >>> check_heads([2, 3, 1], "sentence 7")
    Traceback (most recent call last):
    ...
    sapo.errors.DataError: sentence 7: the heads go in a circle (1 -> 2 -> 3 -> 1); a tree has none
    """
    for at, head in enumerate(heads, 1):
        if not 0 <= head <= len(heads):
            raise DataError(f"{place}: the head of word {at} is {head}, but there are {len(heads)} words")
    roots = [at for at, head in enumerate(heads, 1) if head == 0]
    if len(roots) > 1:
        raise DataError(f"{place}: words {roots[0]} and {roots[1]} both have the head 0; a tree has one root")
    if cycle := find_cycle(heads):  # which there is if words have no root
        listed = " -> ".join(map(str, cycle[:6])) + (" -> ..." if len(cycle) > 6 else "")
        raise DataError(f"{place}: the heads go in a circle ({listed}); a tree has none")


def find_cycle(heads: Sequence[int]) -> list[int]:
    """Return the words of a cycle, the first one also at the end, or [].

    >>> find_cycle([2, 0, 2]), find_cycle([2, 3, 1])
    ([], [1, 2, 3, 1])
    """
    state = [0] * (len(heads) + 1)  # 0: not seen; otherwise the walk that has seen it
    for start in range(1, len(heads) + 1):
        at = start
        while at and not state[at]:
            state[at] = start
            at = heads[at - 1]
        if at and state[at] == start:
            cycle = [at]
            while heads[cycle[-1] - 1] != at:
                cycle.append(heads[cycle[-1] - 1])
            return [*cycle, at]
    return []


def _with_glue(misc: str, space_after: bool) -> str:
    items = [item for item in misc.split("|") if item not in (NONE, "", GLUED)]
    return "|".join([*items, *([] if space_after else [GLUED])]) or NONE


def raw_text(sentences: Iterable[UDSentence]) -> str:
    """Return the running text of sentences, with an empty line before each new paragraph or document."""
    pieces: list[str] = []
    glued = True
    for sentence in sentences:
        if pieces:
            pieces.append("\n\n" if sentence.starts_paragraph else "" if glued else " ")
        pieces.append(sentence.text)
        glued = not sentence.tokens[-1].space_after
    return "".join(pieces) + "\n"


def plain_sentence(words: Sequence[str]) -> UDSentence:
    """Return a sentence of words that are tokens, with a blank after each. Raise DataError for an empty word.

    >>> plain_sentence(["Go", "on"]).text
    'Go on'
    """
    for word in words:
        if not word or _BAD_FIELD.search(word):
            raise DataError(f"a word must have characters, and no tab or line break, not {word[:40]!r}")
    tokens = (UDToken(word, at, at + 1) for at, word in enumerate(words))
    return UDSentence(tuple(tokens), tuple(map(UDWord, words)))
