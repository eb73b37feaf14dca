"""Read and write corpora: files in, sentences or blocks of bytes out, and back."""

from sapo.corpus.blocks import LABEL, Block, Sentence, block_from_sentences, block_sentences
from sapo.corpus.formats import FORMATS, format_of, read, read_blocks

__all__ = [
    "FORMATS",
    "LABEL",
    "Block",
    "Sentence",
    "block_from_sentences",
    "block_sentences",
    "format_of",
    "read",
    "read_blocks",
]
