"""A directory with the Penn Treebank in, its sentences or the files of the corpus `wsj` out.

We read the trees (wsj_0001.mrg) or, if there are none, the tagged files (wsj_0001.pos).
"""

import re
from collections.abc import Iterator
from pathlib import Path

from laboratory.datasets.fetching import prepare, store
from laboratory.datasets.locations import cache_directory
from laboratory.datasets.trees import Tagged, columns_of, slash_sentences, tree_sentences
from sapo.corpus.blocks import Sentence
from sapo.errors import SapoError

# sections of the Wall Street Journal, as Collins (2002) and many after him split them
SECTIONS = {"train": range(19), "dev": range(19, 22), "test": range(22, 25)}
NAME = re.compile(r"wsj_(\d\d)\d\d\.(mrg|pos)", re.IGNORECASE)


def bring_treebank(directory: str | Path, *, cache: Path | None = None) -> tuple[Path, dict[str, int]]:
    """Convert LDC99T42 (its directory parsed/mrg/wsj) into the cache.

    Return the new directory, and the number of sentences of each part. Raise SapoError if a section is missing.
    """
    files = treebank_files(Path(directory))
    have = {section for section, _ in files}
    lacking = [f"{section:02d}" for section in range(25) if section not in have]
    if lacking:
        raise SapoError(
            f"{directory}: no wsj_XXXX.mrg of the sections {', '.join(lacking)}; "
            "give the directory parsed/mrg/wsj of LDC99T42"
        )
    target = (cache or cache_directory()) / "wsj"
    counts = {}
    for part, sections in SECTIONS.items():
        text = b"".join(columns_of(_read(path)) for section, path in files if section in sections)
        store(prepare(target / f"{part}.txt.gz"), text, record=True)
        counts[part] = text.count(b"\n\n")
    return target, counts


def read_sections(directory: Path, part: str) -> list[Sentence]:
    """Return the sentences of `part` (train, dev or test), in the order of the files."""
    files = treebank_files(directory)
    sections = SECTIONS[part]
    sentences = [
        Sentence({"word": tuple(word for word, _ in tagged)}, tuple(tag for _, tag in tagged))
        for section, path in files
        if section in sections
        for tagged in _read(path)
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


def _read(path: Path) -> Iterator[Tagged]:
    try:
        text = path.read_text("latin-1")  # the treebank is older than UTF-8
    except OSError as error:
        raise SapoError(f"{path}: cannot be read ({error.strerror})") from None
    sentences = tree_sentences if path.suffix.lower() == ".mrg" else slash_sentences
    return sentences(text, str(path))
