"""A directory of the Penn Treebank's Wall Street Journal in, tagged sentences of some sections out.

Read are the trees (wsj_0001.mrg) or, where there are none, the tagged files (wsj_0001.pos). Traces are left out.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from sapo.corpus import Sentence
from sapo.errors import SapoError

SECTIONS = {"train": range(19), "dev": range(19, 22), "test": range(22, 25)}
NAME = re.compile(r"wsj_(\d\d)\d\d\.(mrg|pos)", re.IGNORECASE)
TRACE = "-NONE-"
Tagged = list[tuple[str, str]]


def read_sections(directory: Path, part: str) -> list[Sentence]:
    """The sentences of `part` (train, dev or test), in the order of the files."""
    files = _files(directory)
    sections = SECTIONS[part]
    chosen = [path for section, path in files if section in sections]
    sentences = [
        Sentence({"word": tuple(word for word, _ in tagged)}, tuple(tag for _, tag in tagged))
        for path in chosen
        for tagged in _read(path)
    ]
    if not sentences:
        have = ", ".join(f"{section:02d}" for section in sorted({section for section, _ in files}))
        raise SapoError(
            f"{directory}: no sentences of the {part} sections {sections[0]:02d} to {sections[-1]:02d}; "
            f"it has the sections {have}"
        )
    return sentences


def tree_sentences(text: str, name: str = "text") -> Iterator[Tagged]:
    """The words and tags of each tree.

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
            raise SapoError(f"{name}:{line}: '{token}' stands outside of all brackets; this is no tree")
        after_bracket = False
    if depth:
        raise SapoError(f"{name}: ends inside a tree ({depth} brackets are open)")


def slash_sentences(text: str, name: str = "text") -> Iterator[Tagged]:
    r"""The words and tags of each sentence of a tagged file; empty lines and lines of = stand between sentences.

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


def _files(directory: Path) -> list[tuple[int, Path]]:
    if not directory.is_dir():
        raise SapoError(f"{directory}: no such directory; --treebank needs that of the Wall Street Journal's sections")
    found: dict[str, dict[str, tuple[int, Path]]] = {"mrg": {}, "pos": {}}
    for path in sorted(directory.rglob("*")):
        match = NAME.fullmatch(path.name)
        if match:
            found[match.group(2).lower()].setdefault(path.stem.lower(), (int(match.group(1)), path))
    files = found["mrg"] or found["pos"]
    if not files:
        raise SapoError(f"{directory}: has no files such as wsj_0001.mrg or wsj_0001.pos, here or below")
    return [files[name] for name in sorted(files)]


def _read(path: Path) -> Iterator[Tagged]:
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise SapoError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise SapoError(f"{path}: not UTF-8; is this a file of the treebank?") from None
    sentences = tree_sentences if path.suffix.lower() == ".mrg" else slash_sentences
    return sentences(text, str(path))
