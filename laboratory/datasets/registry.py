"""The public corpora: their files, checksums and licenses, how a download becomes their text, and where they are.

The text has one token a line and an empty line after each sentence.
"""

import gzip
import io
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from laboratory.datasets.treebank import columns_of, tree_sentences
from sapo.corpus.files import check_zip_method
from sapo.errors import SapoError, did_you_mean

LIMIT = 64 << 20  # bytes; no corpus we know is half as large, so more is a mistake or an attack


def as_it_is(data: bytes) -> bytes:
    """Return the data unchanged."""
    return data


def zip_member(data: bytes, *, name: str) -> bytes:
    """Return one file of a zip archive."""
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
    return b"".join(columns_of(tree_sentences(zip_member(data, name=name).decode("latin-1"))) for name in names)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a file can be downloaded, and how the download becomes the text that is kept."""

    url: str
    convert: Callable[[bytes], bytes] = as_it_is


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """One file of a corpus, as it is kept on disk."""

    name: str
    sha256: str | None  # of the uncompressed text; None if we do not know it
    sources: tuple[Source, ...] = ()  # tried in this order; none if it cannot be downloaded


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus: a directory of files, and what a user must know about it."""

    name: str
    task: str
    tokens: int
    files: tuple[CorpusFile, ...]
    columns: tuple[str, ...]
    terms: str  # the license in a word or two
    license: str
    citation: str
    extra: tuple[CorpusFile, ...] = ()  # files that come with it, but that it is complete without
    by_hand: str = ""  # how to get what cannot be downloaded, or not without a checksum


def _known(*corpora: Corpus) -> dict[str, Corpus]:
    return {corpus.name: corpus for corpus in corpora}


# Where only twelve digits of a commit are known, twelve stand here: the checksum decides, not the address.
NLTK = "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora"
TEROPA = "https://raw.githubusercontent.com/teropa/nlp/f89bc5a15b51/resources/corpora/conll2000"
EWT = "https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/15d613d8447b"
MTL = "https://raw.githubusercontent.com/cambridgeltl/MTL-Bioinformatics-2016"
GENIA_POS = f"{MTL}/954a98f80c443ea96cc4af742eb0f6a7c89c40a2/data/GENIA-pos"
JNLPBA = f"{MTL}/b74e2ad0a36442b48d78297a7b7ac6604462f028/data/JNLPBA/original-data"
NACTEM = "http://www.nactem.ac.uk/GENIA/current/Shared-tasks/JNLPBA"

GENIA_LICENSE = CorpusFile(
    "LICENSE.txt",
    "ec7ff63a1f9a81e2ee19d543098f99b0251ac0afbd4d54f8d6b04dcb5e84e902",
    (Source(f"{JNLPBA}/train/LICENSE"),),
)

CORPORA: Mapping[str, Corpus] = _known(
    Corpus(
        name="conll2000",
        task="chunking",
        tokens=259_104,
        files=(
            CorpusFile(
                "train.txt.gz",
                "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea",
                (
                    Source(f"{NLTK}/conll2000.zip", partial(zip_member, name="conll2000/train.txt")),
                    Source(f"{TEROPA}/train.txt"),
                ),
            ),
            CorpusFile(
                "test.txt.gz",
                "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628",
                (
                    Source(f"{NLTK}/conll2000.zip", partial(zip_member, name="conll2000/test.txt")),
                    Source(f"{TEROPA}/test.txt"),
                ),
            ),
        ),
        columns=("word", "pos", "chunk"),
        terms="none stated",
        license="none stated; the text is Wall Street Journal from the Penn Treebank",
        citation="Tjong Kim Sang and Buchholz (2000), Introduction to the CoNLL-2000 Shared Task: Chunking",
    ),
    Corpus(
        name="ud-ewt",
        task="part of speech",
        tokens=254_818,
        files=(
            CorpusFile(
                "train.conllu.gz",
                "ac1eb1fea1c32e50e63141888b7df4b1c3be5c8f425f8df21c3c1b477848fbd5",
                (Source(f"{EWT}/en_ewt-ud-train.conllu", bare_conllu),),
            ),
            CorpusFile(
                "dev.conllu.gz",
                "91d6f393c2c06f7e3f840d2175203d4930907375cd9b904e12472da38bef3c7e",
                (Source(f"{EWT}/en_ewt-ud-dev.conllu", bare_conllu),),
            ),
            CorpusFile(
                "test.conllu.gz",
                "98e393fa5566c689f886f7b13a8ed00b25baec9461d2dda7ec07104aaa70a885",
                (Source(f"{EWT}/en_ewt-ud-test.conllu", bare_conllu),),
            ),
        ),
        columns=("CoNLL-U",),
        terms="CC BY-SA 4.0",
        license="annotations CC BY-SA 4.0; texts of LDC2012T13, (c) Google, Yahoo!, Univ. of Pennsylvania, authors",
        citation="Silveira et al. (2014), A Gold Standard Dependency Corpus for English",
    ),
    Corpus(
        name="wsj-sample",
        task="part of speech",
        tokens=94_084,
        files=(
            CorpusFile(
                "train.txt.gz",
                "007028103d65e45a9078098d4f8d5c15feb5c10466a4b1bdf8ed9f21e99984db",
                (Source(f"{NLTK}/treebank.zip", partial(treebank_sample, first=1, last=159)),),
            ),
            CorpusFile(
                "test.txt.gz",
                "3c92bcaca4aac1adc0fc3ce6fd65efff28398731861bdc7d374714d3f92970f3",
                (Source(f"{NLTK}/treebank.zip", partial(treebank_sample, first=160, last=199)),),
            ),
        ),
        columns=("word", "pos"),
        terms="non-commercial",
        license="a fragment of the Penn Treebank, (c) LDC 1995, as NLTK gives it: fair use, non-commercial only",
        citation="Marcus, Santorini and Marcinkiewicz (1993), Building a Large Annotated Corpus of English",
    ),
    Corpus(
        name="jnlpba",
        task="bio-entities",
        tokens=593_590,
        files=(
            CorpusFile("train.txt.gz", None, (Source(f"{NACTEM}/Train/Genia4ERtraining.tar.gz", bionlp_train),)),
            CorpusFile(
                "test.txt.gz",
                "1a3c38bb9593e1c4d2a7d256587ec3d9579ca4b3e58ae3778833e14d29bcb207",
                (Source(f"{JNLPBA}/test/Genia4EReval1.iob2", without_abstract_lines),),
            ),
        ),
        extra=(GENIA_LICENSE,),
        columns=("word", "entity"),
        terms="CC BY 3.0",
        license="GENIA Project License: annotations CC BY 3.0, (c) GENIA Project; abstracts under the terms of PubMed",
        citation="Kim et al. (2004), Introduction to the Bio-Entity Recognition Task at JNLPBA",
        by_hand=f"Genia4ERtask1.iob2 of {NACTEM}/Train/Genia4ERtraining.tar.gz, its lines ###MEDLINE taken out",
    ),
    Corpus(
        name="genia-pos",
        task="part of speech",
        tokens=500_943,
        files=(
            CorpusFile(
                "train.txt.gz",
                "be40f9d38c603c19ab180b62f3bf5a197684aa57978f4e6d364c9d7bd0433544",
                (Source(f"{GENIA_POS}/train.tsv"),),
            ),
            CorpusFile(
                "dev.txt.gz",
                "fa04121e00b45cfe0f2e2e339d7ed58a798af310da831ce2651a4f92c1fca2e4",
                (Source(f"{GENIA_POS}/devel.tsv"),),
            ),
            CorpusFile(
                "test.txt.gz",
                "21d31fb3fdd96ae700cd28e2a33e7289e70160f45e5b91d99af7fc0b3b9b4a71",
                (Source(f"{GENIA_POS}/test.tsv"),),
            ),
        ),
        extra=(GENIA_LICENSE,),
        columns=("word", "pos"),
        terms="CC BY 3.0 and 4.0",
        license="annotations CC BY 3.0, (c) GENIA Project; this form of them CC BY 4.0 (Crichton et al.)",
        citation="Tateisi and Tsujii (2004), Part-of-Speech Annotation of Biology Research Abstracts",
    ),
    Corpus(
        name="wsj",
        task="part of speech",
        tokens=1_173_766,
        files=(
            CorpusFile("train.txt.gz", None),
            CorpusFile("dev.txt.gz", None),
            CorpusFile("test.txt.gz", None),
        ),
        columns=("word", "pos"),
        terms="to be bought",
        license="Penn Treebank 3, to be bought from the LDC (LDC99T42)",
        citation="Marcus, Santorini and Marcinkiewicz (1993), Building a Large Annotated Corpus of English",
        by_hand="buy it at https://catalog.ldc.upenn.edu/LDC99T42, then: "
        "python -m laboratory data get wsj --from DIRECTORY",
    ),
)


def known_corpus(name: str, corpora: Mapping[str, Corpus] = CORPORA) -> Corpus:
    """Return the corpus of this name; raise SapoError if there is none.

    >>> known_corpus("conll2000").columns
    ('word', 'pos', 'chunk')
    >>> known_corpus("conll200")
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: unknown corpus 'conll200'; did you mean 'conll2000'?
    """
    if name in corpora:
        return corpora[name]
    raise SapoError(f"unknown corpus '{name}'{did_you_mean(name, corpora)}")


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
