"""Read the Penn Treebank: the words and tags of its sentences, without traces.

We read the trees (wsj_0001.mrg) or, if there are none, the tagged files (wsj_0001.pos).
"""

import re
from collections.abc import Iterator
from pathlib import Path

from sapo.corpus.blocks import Sentence
from sapo.errors import SapoError

# sections of the Wall Street Journal, as Collins (2002) and many after him split them
SECTIONS = {"train": range(19), "dev": range(19, 22), "test": range(22, 25)}
NAME = re.compile(r"wsj_(\d\d)\d\d\.(mrg|pos)", re.IGNORECASE)
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


def columns_of(sentences: Iterator[Tagged]) -> bytes:
    r"""Return sentences with one word and tag a line, and an empty line after each sentence.

    >>> columns_of(iter([[("Ann", "NNP"), ("naps", "VBZ")]]))
    b'Ann\tNNP\nnaps\tVBZ\n\n'
    """
    lines = ("".join(f"{word}\t{tag}\n" for word, tag in sentence) + "\n" for sentence in sentences)
    return "".join(lines).encode()


def read_sections(directory: Path, part: str) -> list[Sentence]:
    """Return the sentences of `part` (train, dev or test), in the order of the files."""
    files = treebank_files(directory)
    sections = SECTIONS[part]
    sentences = [
        Sentence({"word": tuple(word for word, _ in tagged)}, tuple(tag for _, tag in tagged))
        for section, path in files
        if section in sections
        for tagged in read_tagged(path)
    ]
    if not sentences:
        have = ", ".join(f"{section:02d}" for section in sorted({section for section, _ in files}))
        raise SapoError(
            f"{directory}: no sentences of the {part} sections {sections[0]:02d} to {sections[-1]:02d}; "
            f"it has the sections {have}"
        )
    return sentences


def treebank_files(directory: Path) -> list[tuple[int, Path]]:
    """Return each file with its section, in order; raise SapoError if a name is there twice, or none is there."""
    if not directory.is_dir():
        raise SapoError(f"{directory}: no such directory; give the directory parsed/mrg/wsj of LDC99T42")
    found: dict[str, dict[str, tuple[int, Path]]] = {"mrg": {}, "pos": {}}
    for path in sorted(directory.rglob("*")):
        match = NAME.fullmatch(path.name)
        if match:
            kind = found[match.group(2).lower()]
            if path.stem.lower() in kind:
                raise SapoError(f"{directory}: {path.name} is there twice; give the directory that has the files once")
            kind[path.stem.lower()] = (int(match.group(1)), path)
    files = found["mrg"] or found["pos"]
    if not files:
        raise SapoError(f"{directory}: has no files such as wsj_0001.mrg or wsj_0001.pos, here or below")
    return [files[name] for name in sorted(files)]


def read_tagged(path: Path) -> Iterator[Tagged]:
    """Yield the words and tags of each sentence of a file."""
    try:
        text = path.read_text("latin-1")  # the treebank is older than UTF-8
    except OSError as error:
        raise SapoError(f"{path}: cannot be read ({error.strerror})") from None
    sentences = tree_sentences if path.suffix.lower() == ".mrg" else slash_sentences
    return sentences(text, str(path))
