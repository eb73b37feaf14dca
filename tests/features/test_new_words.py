"""A session that lives on while its encoder grows."""

from typing import Any

import numpy as np

from sapo.corpus.blocks import Sentence
from sapo.features.template import parse_templates

TEMPLATES = parse_templates(
    "word\nsuffix(word, 2)\nprefix(word[-1], 1)\nsuffix(word, 1) & shape(word)\nclasses(word)", ("word", "pos")
)
TEXTS = ["a walk", "the talks", "Talks stalk", "7 walks , Talks", "the walk ?", "stalk 8"]


def test_a_session_of_a_growing_encoder_encodes_as_a_fresh_one_does(as_block: Any, build: Any) -> None:
    blocks = [as_block([Sentence({"word": (words := tuple(text.split())), "pos": words})]) for text in TEXTS]
    encoder = build(blocks[:1], TEMPLATES)[0].growing()
    session = encoder.session()
    known = []
    for grown in blocks:
        for block in blocks:
            ours, fresh = session.encode(block), encoder.session().encode(block)
            np.testing.assert_array_equal(ours.rows, fresh.rows)
            np.testing.assert_array_equal(ours.row_offsets, fresh.row_offsets)
        known.append(sum(len(session.encode(block).rows) for block in blocks))
        encoder.grow(grown, np.zeros(int(grown.offsets[-1]), np.int32))
    assert known == sorted(known)
    assert known[-1] > known[0]  # words that were new have become known
