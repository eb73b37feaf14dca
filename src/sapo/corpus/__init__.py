"""Corpora: files in, sentences or blocks of bytes out, and back."""

from sapo.corpus.blocks import LABEL, Block, Sentence, block_from_sentences, block_sentences
from sapo.corpus.fetching import fetch
from sapo.corpus.formats import FORMATS, first_and_all, format_of, read, read_blocks
from sapo.corpus.places import find_corpus

__all__ = [
    "FORMATS",
    "LABEL",
    "Block",
    "Sentence",
    "block_from_sentences",
    "block_sentences",
    "fetch",
    "find_corpus",
    "first_and_all",
    "format_of",
    "read",
    "read_blocks",
]
