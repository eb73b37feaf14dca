"""Tag a file, and return the bytes of the tagged file block by block."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sapo.corpus import FORMATS, Block, format_of
from sapo.errors import SapoError
from sapo.tagger.tagger import Tagger


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What to write for each sentence: its tags, its n best taggings, or tags with probabilities of tags or spans."""

    nbest: int = 0
    marginals: bool = False
    spans: bool = False
    search: str | None = None
    width: int = 50
    threads: int = 1
    forced: str | None = None  # a column of known tags
    exact: bool = False  # look at all labels of every token


def tagged_file(
    tagger: Tagger,
    path: str | Path,
    output: Output,
    *,
    format: str | None = None,
    label: str | None = None,
    encoding: str | None = None,
) -> Iterator[tuple[int, bytes]]:
    """Tag a file; yield the number of tokens of each block, and the bytes to write.

    Raises SapoError if the tags cannot be written into such a file.
    """
    if output.exact:
        tagger = tagger.exact()
    chosen = format_of(path, format)
    if chosen == "conllu" and label is None and tagger.model.reader.get("format") != "conllu":
        raise SapoError(
            "this model was not trained on CoNLL-U: tell with --label where its tags go (upos, xpos, Chunk)"
        )
    blocks = _checked(tagger.read_blocks(path, format=chosen, label=label, encoding=encoding), tagger.labels)
    found, write = _decoded(tagger, blocks, output, FORMATS[chosen])
    for block, result in found:
        yield int(block.offsets[-1]), write(block, result)


def _decoded(
    tagger: Tagger, blocks: Iterator[Block], output: Output, writer: Any
) -> tuple[Iterator[tuple[Block, Any]], Callable[[Block, Any], bytes]]:
    """Return the blocks with their results, and a function that writes a block with its result."""
    how: dict[str, Any] = {"threads": output.threads, "forced": output.forced}
    labels = tagger.labels
    if output.nbest:
        ranked = tagger.nbest_blocks(blocks, output.nbest, search=output.search or "topn", width=output.width, **how)
        return ranked, lambda block, result: writer.nbest(block, result, labels)
    if output.marginals:
        return tagger.marginal_blocks(blocks, **how), lambda block, both: writer.with_marginals(block, *both, labels)
    if output.spans:
        return tagger.span_blocks(blocks, **how), lambda block, both: writer.with_spans(block, *both, labels)
    tagged = tagger.tag_blocks(blocks, search=output.search, width=output.width, **how)
    return tagged, lambda block, tags: writer.tagged(block, tags, labels)


def _checked(blocks: Iterator[Block], labels: Sequence[str]) -> Iterator[Block]:
    """Yield the blocks. Raise SapoError before the first one if a label cannot be written into such a file."""
    for number, block in enumerate(blocks):
        if number == 0:
            block.check_labels(labels)
        yield block
