"""Downloaded bytes in, the text that is kept out: one token a line, an empty line after each sentence."""

import gzip
import io
import zlib

from laboratory.datasets.trees import tagged_columns
from sapo.corpus.unpacking import check_zip_method
from sapo.errors import SapoError

LIMIT = 64 << 20  # bytes; no corpus we know is half as large, so more is a mistake or an attack


def as_it_is(data: bytes) -> bytes:
    """Return the data unchanged."""
    return data


def zip_member(data: bytes, *, name: str) -> bytes:
    """Return one file of a zip archive."""
    import zipfile  # needed only to fetch a corpus

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            info = archive.getinfo(name)
            check_zip_method(info.compress_type, name)
            with archive.open(info) as member:
                text = member.read(LIMIT + 1)  # the size that the archive gives may be wrong
            if len(text) > LIMIT:
                raise SapoError(f"{name} is larger than {LIMIT >> 20} MB")
            return text
    except (zipfile.BadZipFile, KeyError, zlib.error, EOFError, NotImplementedError) as error:
        raise SapoError(f"not a zip archive with {name} in it ({error})") from None


def tar_member(data: bytes, *, name: str) -> bytes:
    """Return one file of a tar.gz archive, from any folder in it. Nothing is unpacked to disk."""
    import tarfile

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            plain = stream.read(LIMIT + 1)
        if len(plain) > LIMIT:
            raise SapoError(f"the archive is larger than {LIMIT >> 20} MB")
        with tarfile.open(fileobj=io.BytesIO(plain), mode="r:") as archive:
            for member in archive:
                if member.isfile() and member.name.split("/")[-1] == name:
                    found = archive.extractfile(member)
                    assert found is not None  # it is a file
                    return found.read()
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise SapoError(f"not a tar.gz archive ({error})") from None
    raise SapoError(f"no {name} in the archive")


def without_abstract_lines(data: bytes) -> bytes:
    r"""Return JNLPBA without the lines that name an abstract, and without the empty lines that follow them.

    >>> without_abstract_lines(b"###MEDLINE:9\n\nIL-2\tB-DNA\n\n###MEDLINE:10\n\nT\tO\n\n")
    b'IL-2\tB-DNA\n\nT\tO\n\n'
    """
    kept: list[bytes] = []
    for line in data.splitlines():
        if line.strip():
            if not line.startswith(b"###MEDLINE"):
                kept.append(line)
        elif kept and kept[-1]:
            kept.append(b"")
    if kept and kept[-1]:
        kept.append(b"")
    return b"".join(line + b"\n" for line in kept)


def bionlp_train(data: bytes) -> bytes:
    """Return the training file of JNLPBA from the archive of its makers."""
    return without_abstract_lines(tar_member(data, name="Genia4ERtask1.iob2"))


def bare_conllu(data: bytes) -> bytes:
    r"""Return CoNLL-U without MISC, and with only the comments that name the sentence and give its text.

    >>> bare_conllu(b"# newdoc\n# sent_id = 1\n# text = a\n1\ta\ta\tX\tX\t_\t0\troot\t0:root\tSpaceAfter=No\n\n")
    b'# sent_id = 1\n# text = a\n1\ta\ta\tX\tX\t_\t0\troot\t0:root\t_\n\n'
    """
    kept: list[bytes] = []
    for line in data.split(b"\n"):
        if line.startswith(b"#"):
            if line.startswith((b"# sent_id =", b"# text =")):
                kept.append(line)
        elif line:
            kept.append(line.rpartition(b"\t")[0] + b"\t_")
        else:
            kept.append(line)
    return b"\n".join(kept)


def treebank_sample(data: bytes, *, first: int, last: int) -> bytes:
    """Return the files wsj_<first> to wsj_<last> of NLTK's treebank.zip as lines of word and part of speech."""
    names = [f"treebank/combined/wsj_{number:04d}.mrg" for number in range(first, last + 1)]
    return b"".join(tagged_columns(zip_member(data, name=name).decode("latin-1")) for name in names)
