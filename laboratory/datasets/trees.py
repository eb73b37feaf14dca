"""Texts of a treebank in, words and tags of its sentences out, without traces."""

import re
from collections.abc import Iterator

from sapo.errors import SapoError

TRACE = "-NONE-"
Tagged = list[tuple[str, str]]


def tree_sentences(text: str, name: str = "text") -> Iterator[Tagged]:
    """Yield the words and tags of each tree; `name` is the file, for messages.

    >>> list(tree_sentences("( (S (NP (PRP It)) (VP (VBZ rains) (NP (-NONE- *T*-1))) (. .)) )"))
    [[('It', 'PRP'), ('rains', 'VBZ'), ('.', '.')]]
    """
    depth = 0
    open_tag: str | None = None  # a bracket and a tag were read; a word may follow
    after_bracket = False
    tagged: Tagged = []
    for found in re.finditer(r"[()]|[^\s()]+", text):
        token = found.group()
        if token == "(":
            depth += 1
            after_bracket, open_tag = True, None
            continue
        if token == ")":
            depth -= 1
            open_tag = None
            if depth == 0 and tagged:
                yield tagged
                tagged = []
        elif after_bracket:
            open_tag = token
        elif open_tag is not None:
            if open_tag != TRACE:
                tagged.append((token, open_tag))
            open_tag = None
        if depth < 0 or (depth == 0 and token != ")"):
            line = text.count("\n", 0, found.start()) + 1
            raise SapoError(f"{name}:{line}: '{token}' is outside of all brackets; this is not a tree")
        after_bracket = False
    if depth:
        raise SapoError(f"{name}: ends inside a tree ({depth} brackets are open)")


def slash_sentences(text: str, name: str = "text") -> Iterator[Tagged]:
    r"""Yield the words and tags of each sentence of a tagged file; empty lines and lines of = separate sentences.

    >>> list(slash_sentences("=====\n[ 1\\/2/CD pints/NNS ]\nleft/VBN|JJ ./.\n\n"))
    [[('1\\/2', 'CD'), ('pints', 'NNS'), ('left', 'VBN'), ('.', '.')]]
    """
    tagged: Tagged = []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if not line.strip() or set(line.strip()) == {"="}:
            if tagged:
                yield tagged
            tagged = []
            continue
        for token in line.split():
            if token in ("[", "]"):
                continue
            word, slash, tag = token.rpartition("/")
            if not (word and slash and tag):
                raise SapoError(f"{name}:{number}: expected word/TAG, found '{token}'")
            if tag != TRACE:
                # where the annotators left two tags, the first is taken
                tagged.append((word, tag.partition("|")[0] or tag))


def tagged_columns(trees: str, name: str = "text") -> bytes:
    r"""Return the sentences of trees as lines of word and part of speech.

    >>> tagged_columns("( (S (NNP Ann) (VBZ naps)) )")
    b'Ann\tNNP\nnaps\tVBZ\n\n'
    """
    return columns_of(tree_sentences(trees, name))


def columns_of(sentences: Iterator[Tagged]) -> bytes:
    r"""Return sentences with one word and tag a line, and an empty line after each sentence.

    >>> columns_of(iter([[("Ann", "NNP"), ("naps", "VBZ")]]))
    b'Ann\tNNP\nnaps\tVBZ\n\n'
    """
    lines = ("".join(f"{word}\t{tag}\n" for word, tag in sentence) + "\n" for sentence in sentences)
    return "".join(lines).encode()
