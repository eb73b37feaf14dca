"""The name of a corpus in, the directory where it lies on this machine out."""

import os
from collections.abc import Mapping
from pathlib import Path

from sapo.datasets.registry import CORPORA, Corpus, known_corpus
from sapo.errors import SapoError


def cache_directory() -> Path:
    """Where fetched corpora are kept: `sapo/corpora` in $XDG_CACHE_HOME, or else in ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(base).expanduser() / "sapo" / "corpora"
    except RuntimeError as error:
        raise SapoError(f"{base}: cannot be found ({error}); set XDG_CACHE_HOME") from None


def users_directory() -> Path | None:
    """What SAPO_DATA names: the user's own corpora, which are read and never written."""
    given = os.environ.get("SAPO_DATA")
    if not given:
        return None
    directory = Path(given).expanduser()
    if not directory.is_dir():
        raise SapoError(f"SAPO_DATA={given}: no such directory; correct or unset it")
    return directory


def find_file(directory: Path, name: str) -> Path | None:
    """A file, zipped or not: `train.txt.gz` is found as train.txt, too, and the other way round."""
    plain = name.removesuffix(".gz")
    return next((path for path in (directory / f"{plain}.gz", directory / plain) if path.is_file()), None)


def locate(corpus: Corpus, cache: Path | None = None) -> tuple[str, Path] | None:
    """'SAPO_DATA' or 'cache', and the directory there that has all files of the corpus. SAPO_DATA comes first."""
    for place, base in (("SAPO_DATA", users_directory()), ("cache", cache or cache_directory())):
        if base is not None and all(find_file(base / corpus.name, file.name) for file in corpus.files):
            return place, base / corpus.name
    return None


def find_corpus(name: str, *, cache: Path | None = None, corpora: Mapping[str, Corpus] = CORPORA) -> Path | None:
    """The directory of a corpus, under SAPO_DATA or in the cache; None where it is not on this machine."""
    found = locate(known_corpus(name, corpora), cache)
    return found[1] if found else None
