"""A block and its sentences with other tags in, the bytes of the block with these tags out; nothing else changes."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sapo.corpus import conllu
from sapo.corpus.blocks import LABEL, Block, Sentence
from sapo.corpus.fields import check_labels
from sapo.corpus.jsonl import json_line, write_sentence
from sapo.corpus.scanner import Scanned
from sapo.corpus.tagged_lines import splice_tags


def retagged(block: Block, sentences: Sequence[Sentence], *, into: str, label: str, text: bool) -> bytes:
    """`into` is where the tag goes in CoNLL-U, `label` the key of the tags in JSONL, which may be wanted as `text`."""
    scanned: Scanned | None = block.extra.get("scanned")
    if scanned is None:
        return _records(block, sentences, label, text)
    labels: dict[str, int] = {}
    tags = [labels.setdefault(tag, len(labels)) for one in sentences for tag in one.tags or ()]
    if not tags:  # without labels, or without sentences
        return scanned.data.tobytes()
    if scanned.layout.conllu:
        place = conllu.COLUMNS.index(into.lower()) if into.lower() in conllu.COLUMNS else into
        block = replace(block, extra={**block.extra, "label": place})
        check_labels(block, list(labels))
        return conllu.tagged(block, np.array(tags, np.int32), list(labels))
    at = block.columns.index(LABEL)
    return splice_tags(scanned.data, scanned.starts[:, at], scanned.ends[:, at], list(labels), np.array(tags, np.int32))


def _records(block: Block, sentences: Sequence[Sentence], label: str, text: bool) -> bytes:
    """Records with all their keys; those of text get their tokens too, without which tags have no meaning."""
    lines = []
    for (record, _), sentence in zip(block.extra["records"], sentences, strict=True):
        new = dict(record)
        tags = {} if sentence.tags is None else {"tags" if sentence.offsets else label: list(sentence.tags)}
        if text and sentence.offsets is None:
            for key in ("tokens", *tags):
                new.pop(key, None)
            new |= json.loads(write_sentence(sentence, text=True))
        elif not text:
            new |= {"tokens": list(sentence.words), **tags}
        lines.append(json_line(new))
    return "".join(lines).encode()
