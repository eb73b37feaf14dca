"""Fetch a corpus if it is not on this machine yet, and check its files; or convert one that a user has bought."""

import hashlib
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from laboratory.datasets.registry import (
    CORPORA,
    LIMIT,
    Corpus,
    CorpusFile,
    cache_directory,
    find_file,
    known_corpus,
    locate,
)
from laboratory.datasets.treebank import SECTIONS, columns_of, read_tagged, treebank_files
from sapo.corpus.files import check_writable, read_chunks, write_file
from sapo.errors import SapoError

Progress = Callable[[str, int, int], None]  # address, bytes so far, bytes in all (0: not known)
Tell = Callable[[int, int], None]  # the same without the address
SECONDS = 30  # of silence before we give up


def fetch(
    name: str,
    *,
    cache: Path | None = None,
    corpora: Mapping[str, Corpus] = CORPORA,
    accept: Collection[str] = (),
    trust: bool = False,
    progress: Progress | None = None,
    limit: int = LIMIT,
) -> Path:
    """Return the directory of a corpus; fetch what the cache lacks, and check it.

    Under SAPO_DATA a corpus is used as it is. A file without a known checksum is fetched only if its sha256 (of the
    uncompressed text) is in `accept`, or with `trust`: then its checksum is kept beside it and holds from then on.
    `progress` is called with each address, the bytes so far and the bytes in all; more than `limit` bytes are refused.

    >>> fetch("conll2000") / "train.txt.gz"  # doctest: +SKIP
    PosixPath('/home/ann/.cache/sapo/corpora/conll2000/train.txt.gz')
    """
    corpus = known_corpus(name, corpora)
    found = locate(corpus, cache)
    if found and found[0] == "SAPO_DATA":
        return found[1]
    directory = (cache or cache_directory()) / corpus.name
    missing = [file for file in (*corpus.files, *corpus.extra) if not _is_intact(directory, file)]
    for file in missing:
        _refuse_what_cannot_be_had(corpus, file, directory, known=bool(accept) or trust)
    bodies: dict[str, bytes] = {}  # several files may come from one archive

    def get(url: str) -> bytes:
        if url not in bodies:
            bodies[url] = download(url, limit=limit, tell=partial(progress or _silent, url))
        return bodies[url]

    for file in missing:
        target = prepare(directory / file.name)
        try:
            text = _checked_text(corpus, file, get, partial(_check, target, file, accept, trust))
            store(target, text, record=file.sha256 is None)
        except BaseException:
            with suppress(OSError):  # nothing is left of a corpus that could not be had
                directory.rmdir()
            raise
    return directory


def prepare(target: Path) -> Path:
    """Make the directory of a file, and check before the work that the file can be written."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SapoError(f"{target.parent}: cannot be made ({error.strerror}); set XDG_CACHE_HOME elsewhere") from None
    check_writable(target)
    return target


def store(target: Path, text: bytes, *, record: bool) -> None:
    """Write a file whole or not at all; with `record`, keep its checksum beside it."""
    with write_file(target) as stream:
        stream.write(text)
    if record:
        with write_file(_record(target)) as stream:
            stream.write(f"{hashlib.sha256(text).hexdigest()}  {target.name.removesuffix('.gz')}\n".encode())


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
        text = b"".join(columns_of(read_tagged(path)) for section, path in files if section in sections)
        store(prepare(target / f"{part}.txt.gz"), text, record=True)
        counts[part] = text.count(b"\n\n")
    return target, counts


def _silent(url: str, done: int, of: int) -> None:
    pass


def _record(target: Path) -> Path:
    return target.with_name(f"{target.name}.sha256")


def _expected(target: Path, file: CorpusFile) -> str | None:
    """Return the checksum that a file must have: the known one, or that of the first download."""
    if file.sha256 is not None:
        return file.sha256
    with suppress(OSError, UnicodeDecodeError, IndexError):
        return _record(target).read_text("ascii").split()[0]
    return None


def _is_intact(directory: Path, file: CorpusFile) -> bool:
    path = find_file(directory, file.name)
    if path is None:
        return False
    expected = _expected(directory / file.name, file)
    digest = hashlib.sha256()
    try:
        for chunk in read_chunks(path):
            digest.update(chunk)
    except SapoError:
        return False
    return expected in (None, digest.hexdigest())


def _refuse_what_cannot_be_had(corpus: Corpus, file: CorpusFile, directory: Path, *, known: bool) -> None:
    if not file.sources:
        raise SapoError(f"{corpus.name}: cannot be downloaded ({corpus.license}); {corpus.by_hand}")
    if not known and _expected(directory / file.name, file) is None:
        raise SapoError(
            f"{corpus.name}/{file.name}: its checksum is not known here; give its --sha256, or --trust to take what "
            f"comes and keep its checksum; by hand: {corpus.by_hand or file.sources[0].url}"
        )


def _checked_text(
    corpus: Corpus, file: CorpusFile, get: Callable[[str], bytes], check: Callable[[bytes], None]
) -> bytes:
    """Return the text of a file from the first source that has the right one."""
    reasons = []
    for source in file.sources:
        try:
            text = source.convert(get(source.url))
            check(text)
            return text
        except SapoError as error:
            reasons.append(f"{source.url}: {error}")
    raise SapoError(f"{corpus.name}/{file.name}: not fetched; {'; '.join(reasons)}")


def _check(target: Path, file: CorpusFile, accept: Collection[str], trust: bool, text: bytes) -> None:
    digest, expected = hashlib.sha256(text).hexdigest(), _expected(target, file)
    if file.sha256 is None and accept:
        if digest not in {given.lower() for given in accept}:
            raise SapoError(f"wrong checksum, its sha256 is {digest}, which is not what you gave")
    elif expected is None:
        assert trust  # or we would not be here
    elif digest != expected:
        again = "" if file.sha256 else f"; remove {_record(target)} if the new one is right"
        raise SapoError(f"wrong checksum, its sha256 is {digest} and should be {expected}{again}")


class Body:
    """The bytes that arrive, up to a limit. For pooch it is the output file and the progress bar in one."""

    def __init__(self, limit: int, tell: Tell) -> None:
        self.data = bytearray()
        self.total = 0  # set by pooch
        self.limit, self.tell = limit, tell

    def write(self, chunk: bytes) -> None:
        if max(self.total, len(self.data) + len(chunk)) > self.limit:
            raise SapoError(f"more than {self.limit:,} bytes; refused")
        self.data += chunk
        self.tell(len(self.data), self.total)

    def flush(self) -> None: ...

    def update(self, size: int) -> None: ...

    def reset(self) -> None: ...

    def close(self) -> None: ...


def download(url: str, *, limit: int, tell: Tell) -> bytes:
    """Return the whole body of a web address; raise SapoError if it is cut off or larger than `limit` bytes."""
    import pooch
    from requests import exceptions as problems

    body = Body(limit, tell)
    tell(0, 0)  # before the first wait
    # without compression on the way, the announced length is the real one
    get = pooch.HTTPDownloader(
        progressbar=body, chunk_size=1 << 16, timeout=SECONDS, headers={"Accept-Encoding": "identity"}
    )
    try:
        get(url, body, None)
    except problems.HTTPError as error:
        raise SapoError(f"HTTP {error.response.status_code} {error.response.reason}") from None
    except problems.ChunkedEncodingError:
        raise SapoError(f"the connection was cut after {len(body.data):,} bytes") from None
    except problems.Timeout:
        raise SapoError(f"no answer for {SECONDS} seconds") from None
    except problems.ConnectionError as error:
        raise SapoError(f"no connection ({_cause(error)})") from None
    except problems.RequestException as error:
        raise SapoError(f"cannot be asked for ({_cause(error)})") from None
    return bytes(body.data)


def _cause(error: BaseException) -> str:
    """Return in one line the first cause of an error that was wrapped several times."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return " ".join(text.split())[:120] or type(error).__name__
