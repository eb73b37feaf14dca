"""Read and write corpora as sentences or as blocks of bytes."""

from typing import TYPE_CHECKING, Any

from sapo.corpus.blocks import LABEL, Block, Sentence, block_from_sentences, block_sentences

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    """Load the formats when they are first used: tagging sentences from Python reads no file."""
    if name not in ("FORMATS", "format_of", "read", "read_blocks"):
        raise AttributeError(f"module 'sapo.corpus' has no attribute {name!r}")
    from sapo.corpus import formats

    return getattr(formats, name)
