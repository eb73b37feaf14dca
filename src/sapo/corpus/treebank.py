"""A directory with the Penn Treebank in, the files of the corpus `wsj` out."""

import re
from pathlib import Path

from sapo.corpus.fetching import prepare, store
from sapo.corpus.places import cache_directory
from sapo.corpus.sources import tagged_columns
from sapo.errors import SapoError

# sections of the Wall Street Journal, as Collins (2002) and many after him split them
SECTIONS = {"train": range(19), "dev": range(19, 22), "test": range(22, 25)}
NAME = re.compile(r"wsj_(\d\d)\d\d\.mrg", re.IGNORECASE)


def bring_treebank(directory: str | Path, *, cache: Path | None = None) -> tuple[Path, dict[str, int]]:
    """Convert the trees of LDC99T42 (parsed/mrg/wsj) into the cache; its directory, and the sentences of each part.

    All 25 sections must be there. Traces are left out, so that words and parts of speech remain.
    """
    if not Path(directory).is_dir():
        raise SapoError(f"{directory}: no such directory; give the directory parsed/mrg/wsj of LDC99T42")
    trees = sorted(path for path in Path(directory).rglob("*") if NAME.fullmatch(path.name))
    sections = {section: [tree for tree in trees if _section(tree) == section] for section in range(25)}
    lacking = [f"{section:02d}" for section, found in sections.items() if not found]
    if lacking:
        raise SapoError(
            f"{directory}: no wsj_XXXX.mrg of the sections {', '.join(lacking)}; "
            "give the directory parsed/mrg/wsj of LDC99T42"
        )
    names = [tree.name.lower() for tree in trees]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SapoError(f"{directory}: {twice} is there twice; give the directory that has the trees once")
    target = (cache or cache_directory()) / "wsj"
    counts = {}
    for part, numbers in SECTIONS.items():
        text = b"".join(_text(tree) for number in numbers for tree in sections[number])
        store(prepare(target / f"{part}.txt.gz"), text, record=True)
        counts[part] = text.count(b"\n\n")
    return target, counts


def _section(tree: Path) -> int:
    found = NAME.fullmatch(tree.name)
    assert found is not None  # it was picked by that name
    return int(found[1])


def _text(tree: Path) -> bytes:
    try:
        return tagged_columns(tree.read_text("latin-1"))
    except OSError as error:
        raise SapoError(f"{tree}: cannot be read ({error.strerror})") from None
    except SapoError as error:
        raise SapoError(f"{tree}: {error}") from None
