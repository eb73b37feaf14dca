"""Make word clusters from unlabeled text for a training run, and keep them for the next run with the same text."""

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from sapo.corpus.blocks import Sentence, block_from_sentences
from sapo.corpus.files import read_chunks, write_file
from sapo.corpus.plain_text import files_below, read_text
from sapo.errors import SapoError
from sapo.features import clustering
from sapo.features.clustering import cluster_words
from sapo.features.clusters import Clusters

CLUSTERED = 500_000  # tokens of sentences in Python
FEWEST_WORDS = 100  # of them with clusters: fewer are no help
UNUSED = 30 * 86400  # seconds after which kept clusters are removed
NAME = "clusters-{}.txt.gz"


def clusters_of(
    texts: Sequence[str | Path],
    say: Callable[[str], None],
    hint: Callable[[str], None],
    encoding: str | None = None,
) -> Clusters:
    """Return the clusters of the words of some texts: files, or directories of text files.

    They are kept in the cache directory of the user, by the content of the texts. `say` is called with what was made,
    `hint` with how far the work is. `encoding` is that of files that are not UTF-8.
    """
    hint("reading unlabeled text")
    names = ", ".join(map(str, texts))
    files = [path for text in texts for path in (files_below(text) if Path(text).is_dir() else [text])]
    kept = _kept_at(files, encoding)
    if kept is not None and kept.is_file():
        with suppress(SapoError, OSError):  # a damaged file is made again
            found = Clusters.read(kept)
            os.utime(kept)
            say(f"word clusters of {names}: {len(found):,} words, made in an earlier run")
            return found
    words = cluster_words((block for path in files for block in read_text(path, encoding=encoding)[1]), watch=hint)
    found = Clusters({one.word: one.bits for one in words})
    say(f"word clusters of {names}: {len(found):,} words in {len({one.bits for one in words}):,} clusters")
    if kept is not None:
        with suppress(SapoError, OSError):
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with write_file(kept) as stream:
                stream.writelines(one.line() for one in words)
            _remove_unused(kept.parent)
    return found


def _kept_at(files: Sequence[str | Path], encoding: str | None) -> Path | None:
    """Return where the clusters of these files are kept, or None if one of them is standard input."""
    if "-" in map(str, files):
        return None
    digest = hashlib.sha256(Path(clustering.__file__).read_bytes())
    digest.update((encoding or "").encode())
    for path in files:
        digest.update(f"\n{Path(path).suffix}\n".encode())
        for chunk in read_chunks(path):
            digest.update(chunk)
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    with suppress(RuntimeError):  # there is no home directory
        return Path(base).expanduser() / "sapo" / NAME.format(digest.hexdigest()[:32])
    return None


def _remove_unused(directory: Path) -> None:
    for path in directory.glob(NAME.format("*")):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > UNUSED:
                path.unlink()


def word_clusters(sentences: Iterable[Sequence[str]]) -> dict[str, str] | None:
    """Return clusters of the words of sentences in Python; None if there are too few words.

    Only the first sentences of many are used: 500,000 tokens take a second or two.
    """
    chosen, tokens = [], 0
    for words in sentences:
        if words:
            chosen.append(Sentence({"word": tuple(words)}))
            tokens += len(words)
        if tokens > CLUSTERED:
            break
    try:
        found = cluster_words([block_from_sentences(chosen)]) if chosen else []
    except SapoError:  # too few words
        return None
    return {one.word: one.bits for one in found} if len(found) >= FEWEST_WORDS else None
