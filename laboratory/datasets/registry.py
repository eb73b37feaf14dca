"""The public corpora: their files, sources, checksums and licences. Data only."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from laboratory.datasets import sources
from sapo.errors import SapoError, did_you_mean


@dataclass(frozen=True, slots=True)
class Source:
    """Where a file can be downloaded, and how the download becomes the text that is kept."""

    url: str
    convert: Callable[[bytes], bytes] = sources.as_it_is


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
    terms: str  # the licence in a word or two
    licence: str
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

GENIA_LICENCE = CorpusFile(
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
                    Source(f"{NLTK}/conll2000.zip", partial(sources.zip_member, name="conll2000/train.txt")),
                    Source(f"{TEROPA}/train.txt"),
                ),
            ),
            CorpusFile(
                "test.txt.gz",
                "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628",
                (
                    Source(f"{NLTK}/conll2000.zip", partial(sources.zip_member, name="conll2000/test.txt")),
                    Source(f"{TEROPA}/test.txt"),
                ),
            ),
        ),
        columns=("word", "pos", "chunk"),
        terms="none stated",
        licence="none stated; the text is Wall Street Journal from the Penn Treebank",
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
                (Source(f"{EWT}/en_ewt-ud-train.conllu", sources.bare_conllu),),
            ),
            CorpusFile(
                "dev.conllu.gz",
                "91d6f393c2c06f7e3f840d2175203d4930907375cd9b904e12472da38bef3c7e",
                (Source(f"{EWT}/en_ewt-ud-dev.conllu", sources.bare_conllu),),
            ),
            CorpusFile(
                "test.conllu.gz",
                "98e393fa5566c689f886f7b13a8ed00b25baec9461d2dda7ec07104aaa70a885",
                (Source(f"{EWT}/en_ewt-ud-test.conllu", sources.bare_conllu),),
            ),
        ),
        columns=("CoNLL-U",),
        terms="CC BY-SA 4.0",
        licence="annotations CC BY-SA 4.0; texts of LDC2012T13, (c) Google, Yahoo!, Univ. of Pennsylvania, authors",
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
                (Source(f"{NLTK}/treebank.zip", partial(sources.treebank_sample, first=1, last=159)),),
            ),
            CorpusFile(
                "test.txt.gz",
                "3c92bcaca4aac1adc0fc3ce6fd65efff28398731861bdc7d374714d3f92970f3",
                (Source(f"{NLTK}/treebank.zip", partial(sources.treebank_sample, first=160, last=199)),),
            ),
        ),
        columns=("word", "pos"),
        terms="non-commercial",
        licence="a fragment of the Penn Treebank, (c) LDC 1995, as NLTK gives it: fair use, non-commercial only",
        citation="Marcus, Santorini and Marcinkiewicz (1993), Building a Large Annotated Corpus of English",
    ),
    Corpus(
        name="jnlpba",
        task="bio-entities",
        tokens=593_590,
        files=(
            CorpusFile(
                "train.txt.gz", None, (Source(f"{NACTEM}/Train/Genia4ERtraining.tar.gz", sources.bionlp_train),)
            ),
            CorpusFile(
                "test.txt.gz",
                "1a3c38bb9593e1c4d2a7d256587ec3d9579ca4b3e58ae3778833e14d29bcb207",
                (Source(f"{JNLPBA}/test/Genia4EReval1.iob2", sources.without_abstract_lines),),
            ),
        ),
        extra=(GENIA_LICENCE,),
        columns=("word", "entity"),
        terms="CC BY 3.0",
        licence="GENIA Project License: annotations CC BY 3.0, (c) GENIA Project; abstracts under the terms of PubMed",
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
        extra=(GENIA_LICENCE,),
        columns=("word", "pos"),
        terms="CC BY 3.0 and 4.0",
        licence="annotations CC BY 3.0, (c) GENIA Project; this form of them CC BY 4.0 (Crichton et al.)",
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
        licence="Penn Treebank 3, to be bought from the LDC (LDC99T42)",
        citation="Marcus, Santorini and Marcinkiewicz (1993), Building a Large Annotated Corpus of English",
        by_hand="buy it at https://catalog.ldc.upenn.edu/LDC99T42, then: python -m laboratory data get wsj --from DIRECTORY",
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
