"""Find corpora on this machine: under SAPO_DATA, or in the cache."""

import os
from collections.abc import Mapping
from pathlib import Path

from laboratory.datasets.registry import CORPORA, Corpus, known_corpus
from sapo.errors import SapoError


def cache_directory() -> Path:
    """Return where fetched corpora are kept: `sapo/corpora` in $XDG_CACHE_HOME, or else in ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(base).expanduser() / "sapo" / "corpora"
    except RuntimeError as error:
        raise SapoError(f"{base}: cannot be found ({error}); set XDG_CACHE_HOME") from None


def users_directory() -> Path | None:
    """Return the directory of SAPO_DATA: the user's own corpora, which are read and never written."""
    given = os.environ.get("SAPO_DATA")
    if not given:
        return None
    directory = Path(given).expanduser()
    if not directory.is_dir():
        raise SapoError(f"SAPO_DATA={given}: no such directory; correct or unset it")
    return directory


def find_file(directory: Path, name: str) -> Path | None:
    """Return the path of a file, plain or gzip-compressed: `train.txt` for `train.txt.gz`, or the other way round."""
    plain = name.removesuffix(".gz")
    return next((path for path in (directory / f"{plain}.gz", directory / plain) if path.is_file()), None)


def locate(corpus: Corpus, cache: Path | None = None) -> tuple[str, Path] | None:
    """Return 'SAPO_DATA' or 'cache', whichever has all files of the corpus first, and the corpus's directory there."""
    for place, base in (("SAPO_DATA", users_directory()), ("cache", cache or cache_directory())):
        if base is not None and all(find_file(base / corpus.name, file.name) for file in corpus.files):
            return place, base / corpus.name
    return None


def find_corpus(name: str, *, cache: Path | None = None, corpora: Mapping[str, Corpus] = CORPORA) -> Path | None:
    """Return the directory of a corpus, under SAPO_DATA or in the cache, or None if it is not on this machine.

    >>> find_corpus("conll200")
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: unknown corpus 'conll200'; did you mean 'conll2000'?
    """
    found = locate(known_corpus(name, corpora), cache)
    return found[1] if found else None
